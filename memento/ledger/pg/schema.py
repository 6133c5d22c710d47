"""The tables of `memento.ledger.schema` on PostgreSQL, and the SQLite functions that it lacks.

The shared modules use one SQL. Where PostgreSQL lacks a function that they call, the schema of the
store defines it, so that no statement is rewritten. The value of a row of ``meta`` is a number, a
text or bytes: here a type of its own, with the casts and operators that the statements need.
"""

from __future__ import annotations

import re

from memento.ledger import schema

_TYPES = (
    ("INTEGER", "bigint"),
    ("REAL", "double precision"),
    ("BLOB", "bytea"),
    ("TEXT", 'text COLLATE "C"'),
)
"""Column types of the shared SQL, and the types that hold the same values here."""
_NUMBERED = {"namespaces": "ns", "events": "event", "embedders": "model"}
"""Tables whose rows are numbered by a trigger, and the column of the number. A sequence would leave
gaps, and a reader that follows by number would miss rows that are committed late."""


def _tables(version: int) -> list[str]:
    statements = (one for _, step in schema.missing(version) for one in step)
    return [_translated(one) for one in statements if "memories_fts" not in one]


def _translated(statement: str) -> str:
    statement = re.sub(r"\)\s+WITHOUT ROWID", ")", statement)
    statement = statement.replace("PRIMARY KEY, value)", "PRIMARY KEY, value memento_value)")
    for name, here in _TYPES:
        statement = re.sub(rf"\b{name}\b", here, statement)
    # An expression in an index needs brackets of its own.
    return re.sub(r"\((\w+ >> \d+), ", r"((\1), ", statement)


def _value_type() -> list[str]:
    made = [
        'CREATE TYPE memento_value AS (n bigint, t text COLLATE "C", b bytea)',
    ]
    for column, kind in (("n", "bigint"), ("n", "integer"), ("t", "text"), ("b", "bytea")):
        at = {"n": "$1, NULL, NULL", "t": "NULL, $1, NULL", "b": "NULL, NULL, $1"}[column]
        made += [
            (
                f"CREATE FUNCTION as_value({kind}) RETURNS memento_value IMMUTABLE LANGUAGE sql"
                f" AS 'SELECT CASE WHEN $1 IS NOT NULL THEN ROW({at})::memento_value END'"
            ),
            f"CREATE CAST ({kind} AS memento_value) WITH FUNCTION as_value({kind}) AS ASSIGNMENT",
        ]
    made += [
        (
            "CREATE FUNCTION plus(memento_value, integer) RETURNS memento_value IMMUTABLE"
            " LANGUAGE sql AS 'SELECT ROW(($1).n + $2, NULL, NULL)::memento_value'"
        ),
        "CREATE OPERATOR + (LEFTARG = memento_value, RIGHTARG = integer, FUNCTION = plus)",
    ]
    names = {"=": "eq", "<>": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
    for column, kind in (("n", "bigint"), ("t", "text")):
        for sign, name in names.items():
            made += [
                (
                    f"CREATE FUNCTION value_{name}(memento_value, {kind}) RETURNS boolean IMMUTABLE"
                    f" LANGUAGE sql AS 'SELECT ($1).{column} {sign} $2'"
                ),
                (
                    f"CREATE OPERATOR {sign} (LEFTARG = memento_value, RIGHTARG = {kind},"
                    f" FUNCTION = value_{name})"
                ),
            ]
    return made


_JSON_COLUMNS = "key text, value text, type text, atom text"
_JSON_TYPE = (
    "CASE jsonb_typeof(v) WHEN 'string' THEN 'text' WHEN 'boolean' THEN v::text"
    " WHEN 'number' THEN CASE WHEN v::text ~ '^-?[0-9]+$' THEN 'integer' ELSE 'real' END"
    " ELSE jsonb_typeof(v) END"
)
_JSON_ROW = (
    f"k::text, CASE WHEN jsonb_typeof(v) = 'null' THEN NULL ELSE v #>> '{{}}' END, {_JSON_TYPE},"
    " CASE WHEN jsonb_typeof(v) IN ('object', 'array', 'null') THEN NULL ELSE v #>> '{}' END"
)
_FUNCTIONS = (
    f"""CREATE FUNCTION json_each(text) RETURNS TABLE ({_JSON_COLUMNS}) IMMUTABLE LANGUAGE plpgsql
    ROWS 20 AS $$
    BEGIN
        IF jsonb_typeof($1::jsonb) = 'object' THEN
            RETURN QUERY SELECT {_JSON_ROW} FROM jsonb_each($1::jsonb) AS o (k, v);
        ELSIF jsonb_typeof($1::jsonb) = 'array' THEN
            RETURN QUERY SELECT {_JSON_ROW}
                FROM jsonb_array_elements($1::jsonb)
                WITH ORDINALITY AS a (v, place), LATERAL (SELECT place - 1 AS k) AS b;
        END IF;
    END $$""",
    """CREATE FUNCTION json_valid(text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$
    BEGIN PERFORM $1::jsonb; RETURN true; EXCEPTION WHEN others THEN RETURN false; END $$""",
    """CREATE FUNCTION json_extract(text, text) RETURNS text IMMUTABLE LANGUAGE sql
    AS $$ SELECT $1::jsonb ->> substr($2, 3) $$""",
    """CREATE FUNCTION instr(text, text) RETURNS integer IMMUTABLE LANGUAGE sql
    AS $$ SELECT strpos($1, $2) $$""",
    """CREATE FUNCTION typeof(bigint) RETURNS text IMMUTABLE LANGUAGE sql
    AS $$ SELECT CASE WHEN $1 IS NULL THEN 'null' ELSE 'integer' END $$""",
    """CREATE FUNCTION composed(text) RETURNS bytea IMMUTABLE LANGUAGE sql
    AS $$ SELECT convert_to(normalize($1), 'UTF8') $$""",
    """CREATE FUNCTION listed_numbers(bigint[]) RETURNS text IMMUTABLE LANGUAGE sql
    AS $$ SELECT array_to_string($1, ',') $$""",
)
_GROUPED = (
    "CREATE AGGREGATE group_concat(bigint) (SFUNC = array_append, STYPE = bigint[],"
    " FINALFUNC = listed_numbers)"
)


_NEXT = """CREATE FUNCTION next_{column}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.{column} IS NULL THEN
            PERFORM pg_advisory_xact_lock(hashtext(TG_TABLE_SCHEMA), hashtext(TG_TABLE_NAME));
            SELECT coalesce(max({column}), 0) + 1 INTO NEW.{column} FROM {table};
        END IF;
        RETURN NEW;
    END $$"""


def _numbering(tables: list[str]) -> list[str]:
    """Return the statements that number the rows of the tables made by some statements."""
    made = []
    for table, column in _NUMBERED.items():
        if not any(one.startswith(f"CREATE TABLE {table} (") for one in tables):
            continue
        made += [
            _NEXT.format(table=table, column=column),
            (
                f"CREATE TRIGGER numbered BEFORE INSERT ON {table}"
                f" FOR EACH ROW EXECUTE FUNCTION next_{column}()"
            ),
        ]
    return made


WORDS = (
    """CREATE TABLE postings (ns bigint NOT NULL, term text COLLATE "C" NOT NULL,
    block bigint NOT NULL, n integer NOT NULL, body bytea NOT NULL,
    PRIMARY KEY (ns, term, block))""",
    """CREATE TABLE indexed (docid bigint PRIMARY KEY, title text COLLATE "C" NOT NULL,
    head text COLLATE "C" NOT NULL, rest text COLLATE "C" NOT NULL)""",
)
"""The full text, see ``pg.words``: for each term and each block of 4,096 rows, the rows that hold
it; and the indexed text of each row, by which it is removed again."""
_OWN = (
    "CREATE TABLE written (slot integer PRIMARY KEY, n bigint NOT NULL) WITH (fillfactor = 50)",
    "INSERT INTO written SELECT slot, 0 FROM generate_series(0, 63) AS slot",
    "CREATE UNLOGGED TABLE work (name text PRIMARY KEY, holder text, until timestamptz NOT NULL)",
    "ALTER TABLE work ENABLE ROW LEVEL SECURITY",  # a reader of one namespace sees no row
)
"""``written`` counts commits, ``work`` holds the claims of ``PgLedger.claimed``."""


IS_FREE = """SELECT rolsuper OR rolbypassrls OR EXISTS (SELECT 1 FROM pg_class
    WHERE relnamespace = quote_ident(current_schema())::regnamespace
    AND pg_has_role(role.oid, relowner, 'USAGE')), pg_has_role(role.oid, 'MEMBER')
    FROM pg_roles AS role WHERE rolname = $1"""
"""Query that says whether a role is free of row security, and whether the user may take it; no row
if there is no such role."""
OWNERS = """SELECT relname, (SELECT attname FROM pg_attribute WHERE attrelid = tab.oid
        AND attname IN ('ns', 'docid', 'src', 'older')
        ORDER BY (attname = 'ns') = (relname = 'memories'), attnum LIMIT 1),
    EXISTS (SELECT 1 FROM pg_policy WHERE polrelid = tab.oid AND polname = $1)
    FROM pg_class AS tab WHERE relnamespace = quote_ident(current_schema())::regnamespace
    AND relkind = 'r'
    AND relname NOT IN ('meta', 'embedders', 'written', 'work')"""
"""Query of each table with memories, the column that says whose a row is, and whether a role sees
only one namespace of it."""
SEES = "set_config('memento.ns', '{}', true)"
"""Expression that lets a role see one namespace until the end of the transaction."""
_SEEN = "nullif(current_setting('memento.ns', true), '')::bigint"
_SHARES = f"{_SEEN} IN (ns, other)"
_SHOWN = f"ns = {_SEEN} OR EXISTS (SELECT 1 FROM shares WHERE namespaces.ns IN (shares.ns, other))"
"""The labels of those with whom a namespace shares are its to see."""


def fence(schema_name: str, named: str, owners: list[tuple[str, str, bool]]) -> list[str]:
    """Return the statements by which a role can read, and of each table one namespace at a time.

    Args:
        schema_name: The schema of the store.
        named: The role, as an identifier in quotes.
        owners: The answer to ``OWNERS``.
    """
    both = f'"{schema_name}", "{schema_name}_present"'
    made = [
        f"GRANT USAGE ON SCHEMA {both} TO {named}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {both} TO {named}",
        f'ALTER VIEW "{schema_name}_present".memories SET (security_invoker = true)',
    ]
    for table, column, is_fenced in owners:
        if column == "ns":
            test = {"shares": _SHARES, "namespaces": _SHOWN}.get(table, f"ns = {_SEEN}")
        else:  # by either index: of row ids, or of the namespace and a stamp
            span = (
                f"{_SEEN} << {schema.SEQ_BITS} AND {_SEEN} << {schema.SEQ_BITS} | {schema.SEQ_MASK}"
            )
            test = f"{column} >> {schema.SEQ_BITS} = {_SEEN} AND {column} BETWEEN {span}"
        if not is_fenced:
            made += [
                f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
                f"CREATE POLICY {named} ON {table} FOR SELECT TO {named} USING ({test})",
            ]
    return made


def statements(version: int) -> list[str]:
    """Return the statements that bring a store of a version, 0 for an empty one, up to date."""
    tables = _tables(version)
    tables += _numbering(tables)
    if version:
        noted = f"UPDATE meta SET value = {schema.SCHEMA_VERSION} WHERE name = 'schema'"
        return [*tables, noted]
    return [
        *_value_type(),
        *_FUNCTIONS,
        _GROUPED,
        *tables,
        *WORDS,
        *_OWN,
        "ALTER TABLE embeddings ALTER COLUMN vector SET STORAGE EXTERNAL",
        f"INSERT INTO meta VALUES ('schema', {schema.SCHEMA_VERSION})",
    ]
