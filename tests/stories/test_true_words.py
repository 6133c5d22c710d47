"""The words of the documents are the words of the code: glossary, store format and module maps."""

import ast
import inspect
import re
import sqlite3
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest

import memento
from memento.ledger.schema import SCHEMA, SCHEMA_VERSION
from memento.remote import routes
from memento.types import Event, Kind, Reason, Status, Tier, Trust

ROOT = Path(__file__).parent.parent.parent
GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
STORE_FORMAT = ROOT / "docs" / "reference" / "store-format.md"
PACKAGES = [ROOT / "memento", *sorted((ROOT / "integrations").glob("memento_*"))]


def sections(page):
    """Split a page at its headings of the second level: heading to text."""
    parts = re.split(r"^## (.+)$", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows(text):
    """Return the cells of each row of the first table of a text, without its head."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip(" `*") for cell in line.strip("|").split("|")] for line in lines[2:]]


@cache
def attributes():
    """Return (owner, name) of every attribute that a module of memento names."""
    return {
        (ast.unparse(node.value), node.attr)
        for path in (ROOT / "memento").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }


def used(enum):
    """Return the names of the members of an enum that a module of memento uses."""
    return {name for owner, name in attributes() if owner == enum}


def told(column):
    """Return the words that the glossary marks as events (1) or version reasons (2)."""
    table = rows(sections(GLOSSARY.read_text(encoding="utf-8"))["Events and version reasons"])
    return {row[0] for row in table if row[column] == "yes"}


@pytest.mark.parametrize(
    ("heading", "enum"),
    [("Statuses", Status), ("Tiers", Tier), ("Kinds", Kind), ("Trust", Trust)],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_glossary_lists_the_values_of_each_enum(heading, enum):
    """The glossary explains every status, tier, kind and class of trust, and no other."""
    table = rows(sections(GLOSSARY.read_text(encoding="utf-8"))[heading])
    assert [row[0] for row in table] == [one.value for one in enum]


def test_glossary_lists_the_events_and_the_reasons():
    """The glossary explains every event and every reason of a version, and no other."""
    assert told(1) == set(Event)
    assert told(2) == set(Reason)


def test_every_event_and_every_reason_is_written():
    """None is left over: each is used somewhere. An event may be made of the reason of its name."""
    assert {one.name for one in Reason} == used("Reason")
    assert {one.name for one in Event} == used("Event") | used("Reason") - {"PRESENT"}


def test_glossary_has_each_word_once_in_order():
    """No table of the glossary has a word twice, and the words are in alphabetical order."""
    pages = sections(GLOSSARY.read_text(encoding="utf-8"))
    words = [row[0] for row in rows(pages["Words"])]
    assert len(words) > 50
    assert all(one.casefold() < other.casefold() for one, other in pairwise(words))
    for text in pages.values():
        first = [row[0] for row in rows(text)]
        assert len(first) == len(set(first))


def test_glossary_explains_only_what_is_built():
    """No word of the glossary stands for a plan."""
    words = rows(sections(GLOSSARY.read_text(encoding="utf-8"))["Words"])
    assert words
    assert [row[0] for row in words if "not built" in row[1]] == []


def test_store_format_lists_every_table(open_memory, tmp_path):
    """The page of the store format has a row for each table that a new ledger contains."""
    open_memory(tmp_path / "store").add("Nadia sails on Sundays")
    with sqlite3.connect(tmp_path / "store" / "ledger.db") as connection:
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    parts_of_fts = re.compile(r"memories_fts_\w+")
    tables = {name for (name,) in found if not parts_of_fts.fullmatch(name)}
    listed = rows(sections(STORE_FORMAT.read_text(encoding="utf-8"))["ledger.db"])
    assert {name.strip(" `") for row in listed for name in row[0].split(",")} == tables


def test_store_format_names_the_version_that_is_written():
    """A reader of the page and of a file's ``user_version`` finds the same number."""
    text = " ".join(STORE_FORMAT.read_text(encoding="utf-8").split())
    named = re.search(r"`user_version` is the schema version, (\d+) at present", text)
    assert int(named.group(1)) == SCHEMA_VERSION


def test_store_format_lists_every_event_and_reason():
    """The page of the store format names each event, and the events that are no reason."""
    text = " ".join(sections(STORE_FORMAT.read_text(encoding="utf-8"))["ledger.db"].split())
    events = re.search(r"Events are (.*?)\.", text).group(1)
    assert set(re.findall(r"`(\w+)`", events)) == set(Event)
    others = re.search(r"same words without (.*?)\.", text).group(1)
    assert set(re.findall(r"`(\w+)`", others)) == {*Event} - {*Reason}


def rooms(package):
    """Return the names of the modules and packages in a folder."""
    files = {path.stem for path in package.glob("*.py")} - {"__init__", "__main__"}
    return files | {path.parent.name for path in package.glob("*/__init__.py")}


def mapped(docstring):
    """Return the names that the map in a docstring has: at the start of a line, then spaces."""
    lines = re.findall(
        r"^([a-z_][a-z_0-9]*(?:, [a-z_][a-z_0-9]*)*) {2,}\S", docstring, re.MULTILINE
    )
    return [name for names in lines for name in names.split(", ")]


def docstring(package):
    """Return the docstring of a package, given by its folder."""
    return ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""


PLACES = [path.parent for path in sorted((ROOT / "memento").rglob("__init__.py"))]
PLACES += [one for one in PACKAGES[1:] if rooms(one).intersection(mapped(docstring(one)))]
"""Every room of memento, itself first, and the adapters that have a map."""


@pytest.mark.parametrize("package", PLACES, ids=lambda path: path.name)
def test_a_room_names_all_its_modules(package):
    """The map in a package's docstring has each of its modules once, and no other."""
    assert sorted(mapped(docstring(package))) == sorted(rooms(package))


NUMBER = re.compile(r"``([A-Z][A-Z_0-9]*)``")
"""The name of a constant in a docstring."""


def numbers(package):
    """Yield (modules, constant) for each number or table that the map of a package names."""
    for entry in re.split(r"\n(?=\S|\n)", docstring(package)):
        for name in NUMBER.findall(entry) if mapped(entry) else ():
            yield mapped(entry), name


def holds(package, module, name):
    """Whether a module of a package gives a value to a name."""
    source = (package / f"{module}.py").read_text(encoding="utf-8")
    return re.search(rf"^(\w+, )*{name}(, \w+)*(: [^=]+)? =", source, re.MULTILINE)


@pytest.mark.parametrize("package", PLACES, ids=lambda path: path.name)
def test_the_numbers_of_a_room_are_where_it_says(package):
    """Each constant beside a module in the map of a room is one of that module's."""
    wrong = [
        f"{name} of {', '.join(modules)}"
        for modules, name in numbers(package)
        if not any(holds(package, module, name) for module in modules)
    ]
    assert wrong == []


def test_a_number_that_moved_is_seen():
    """The test above looks for many, and fails for one that is elsewhere."""
    assert sum(len([*numbers(package)]) for package in PLACES) > 100
    room = ROOT / "memento" / "retrieve"
    assert holds(room, "evidence", "TURNS")
    assert holds(room, "by_words", "NEAR")
    assert holds(room, "by_words", "FAR")
    assert not holds(room, "judging", "TURNS")


def test_the_map_is_in_the_order_of_the_arrows():
    """Rooms of the map stand as the test of arrows has their floors, from the ground up."""
    from tests.test_arrows import FLOOR  # noqa: PLC0415 - only this test needs it

    floors = [FLOOR[name] for name in mapped(memento.__doc__)]
    assert floors == sorted(floors)


def test_the_map_says_where_a_call_goes():
    """An ``add`` and a ``retrieve`` pass what it lists, in that order."""
    from scripts.size import traced  # noqa: PLC0415 - only this test needs it

    told = re.findall(r"^An? ``(\w+)`` passes (.*?)\n\n", memento.__doc__, re.MULTILINE | re.DOTALL)
    calls = traced()
    assert [verb for verb, _ in told] == [*calls]
    for verb, text in told:
        passed = [{module, f"{module}.{function}"} for module, function in calls[verb]]
        after = -1
        for name in re.findall(r"``([\w.]+)``", text):
            after = next((n for n, one in enumerate(passed) if n > after and name in one), None)
            assert after is not None, f"{verb} does not pass {name} there"


REFERENCE = re.compile(r"`([a-z_]\w*(?:\.[A-Za-z_]\w*)+)(?:\(\))?`")
"""A dotted name in a docstring."""
FILES = (".db", ".lock", ".toml")
"""Endings of files."""
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "memento").rglob("*.py")
}


def references(module):
    """Return the dotted names in the docstrings of a module that begin with another module."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    told = [node.value.value for node in ast.walk(tree) if is_docstring(node)]
    found = {name for text in told for name in REFERENCE.findall(text)}
    return {name for name in found if not name.endswith(FILES)}


def is_docstring(node):
    """Whether a node is a text that nobody uses."""
    text = node.value if isinstance(node, ast.Expr) else None
    return isinstance(text, ast.Constant) and isinstance(text.value, str)


def leads(name, module):
    """Whether a dotted name that stands in a module leads to something, if it names a module."""
    is_folder = MODULES[module].name == "__init__.py"
    rooms = ["memento", module if is_folder else module.rpartition(".")[0]]
    full = [f"{room}.{name}" for room in rooms if f"{room}.{name.split('.')[0]}" in MODULES]
    known = map(is_there, full)
    return not full or any(known) or is_part(name) or is_setting(name) or is_column(name)


def is_there(name):
    """Whether a full name is that of a module, or of something in one."""
    parts = name.split(".")
    at = next(n for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in MODULES)
    found = import_module(".".join(parts[:at]))
    for part in parts[at:]:
        if not hasattr(found, part):
            source = inspect.getsource(found) if isinstance(found, type) else ""
            return re.search(rf"^    (    self\.)?{part}\b.*[:=]", source, re.MULTILINE)
        found = getattr(found, part)
    return True


def is_part(name):
    """Whether it is a method of a part of the manager, such as ``sleep.archive``."""
    part, _, verb = name.partition(".")
    return hasattr(routes.parts().get(part), verb)


def is_setting(name):
    """Whether it is the name of a setting, such as ``dynamics.half_life``."""
    found = memento.Config()
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is not None


def is_column(name):
    """Whether it is a column of a table, such as ``memories.given``."""
    table, _, column = name.partition(".")
    return re.search(rf"CREATE TABLE {table} [^;]*?\b{column} [A-Z]", SCHEMA) is not None


def test_names_in_docstrings_lead_somewhere():
    """Whoever looks for a function or a module that is named finds it."""
    told = [(module, name) for module in sorted(MODULES) for name in sorted(references(module))]
    assert len(told) > 100
    assert [f"{name} in {module}" for module, name in told if not leads(name, module)] == []


@pytest.mark.parametrize("name", ["ledger.dynamics", "dynamics.use.telling", "sleep.nothing"])
def test_a_name_that_leads_nowhere_is_seen(name):
    """The test above fails for it."""
    assert not leads(name, "memento.background")
