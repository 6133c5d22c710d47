"""The house stays easy to read: short functions, no circles, no unexplained except."""

import ast
import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from test_arrows import import_lines, module_name

import memento

MEMENTO = Path(memento.__file__).parent
INTEGRATIONS = Path(__file__).parents[1] / "integrations"
PACKAGES = [MEMENTO, *sorted(path.parent for path in INTEGRATIONS.glob("*/__init__.py"))]

BROAD = re.compile(r"\s*except(\s+(Base)?Exception\b.*)?:")
MOST_LINES_IN_95_OF_100 = 22
"""Lines of a function with its arguments, without its docstring."""
MOST_LINES = 60
"""Lines of the body of any function; a long list of arguments is not a long function."""


def functions(source):
    """Yield (name, lines with the arguments, lines of the body) of each function of a module.

    The docstring is in neither.
    """
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            told = first.end_lineno - first.lineno + 1 if ast.get_docstring(node) else 0
            body = node.end_lineno - first.lineno + 1 - told
            yield node.name, node.end_lineno - node.lineno + 1 - told, body


def dotted(path, package):
    """Name a file as it is imported: ``memento.tiers.ring``, ``memento`` for its root."""
    return f"{package.name}.{module_name(path, package)}".rstrip(".")


def needs(path, modules):
    """List those of the modules that a file takes names from, anywhere in it."""
    found = set()
    for node in import_lines(path):
        if isinstance(node, ast.ImportFrom):
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inner if inner <= modules else {node.module, *inner}
        else:
            found |= {alias.name for alias in node.names}
    return found & modules


def circles(package):
    """List the modules of a package that need themselves by way of others."""
    files = {dotted(path, package): path for path in package.rglob("*.py")}
    below = {name: needs(path, files.keys()) for name, path in files.items()}
    found = []
    for start in sorted(below):
        seen, ahead = set(), list(below[start])
        while ahead:
            if (one := ahead.pop()) not in seen:
                seen.add(one)
                ahead += below[one]
        found += [start] * (start in seen)
    return found


parsed = cache(ast.parse)
"""Read the syntax of a module, once however many ask."""


@cache
def sources():
    """List (path, source) of all modules that are shipped."""
    paths = [path for package in PACKAGES for path in sorted(package.rglob("*.py"))]
    return [(path, path.read_text(encoding="utf-8")) for path in paths]


@cache
def shipped():
    """List (file, function, lines with the arguments, lines of the body) of all that is shipped."""
    return [(path.name, *one) for path, source in sources() for one in functions(source)]


def test_almost_all_functions_are_short():
    """95 of 100 functions have no more than 22 lines."""
    lengths = sorted(length for _, _, length, _ in shipped())
    assert len(lengths) > 1_000
    assert lengths[int(len(lengths) * 0.95)] <= MOST_LINES_IN_95_OF_100


def test_no_function_is_long():
    """No function has a body of more than 60 lines."""
    long = [f"{file}: {name}" for file, name, _, body in shipped() if body > MOST_LINES]
    assert long == []


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_no_imports_run_in_a_circle(package):
    """No module needs itself by way of others, imports inside of functions included."""
    assert circles(package) == []


def unexplained(source):
    """List the lines that catch every exception without a comment there or on the next line."""
    lines = [*source.splitlines(), ""]
    return [
        number
        for number, (line, after) in enumerate(pairwise(lines), start=1)
        if BROAD.match(line) and "#" not in line + after
    ]


def test_every_broad_except_says_why():
    """Each except of all exceptions has a comment why no narrower list will do."""
    found = [f"{path.name}:{line}" for path, source in sources() for line in unexplained(source)]
    assert found == []


def test_a_broad_except_without_a_reason_is_seen():
    """All ways to catch everything are found, and a comment beside or below is enough."""
    ways = ("except:", "except Exception:", "except BaseException as error:")
    assert [unexplained(f"try: pass\n{way}\n    pass") for way in ways] == [[2]] * len(ways)
    assert unexplained("try: pass\nexcept Exception:  # foreign code\n    pass") == []
    assert unexplained("try: pass\nexcept Exception:\n    # foreign code\n    pass") == []
    assert unexplained("try: pass\nexcept ValueError:\n    pass") == []


def test_lines_are_counted_without_docstrings():
    """The arguments count once, the docstring never, a nested function on its own as well."""
    source = (
        'def f(\n    a,\n):\n    """One.\n\n    Two.\n    """\n    def g(): pass\n    return g\n'
    )
    assert list(functions(source)) == [("f", 5, 2), ("g", 1, 1)]


def test_a_circle_is_seen(tmp_path):
    """A circle is reported with all who are in it; a package that lists its modules is not one."""
    package = tmp_path / "house"
    package.mkdir()
    for name, text in {
        "__init__": "from house import a, d",
        "a": "def late():\n    from house.b import name",
        "b": "import house.c",
        "c": "from house import a",
        "d": "from house import a",
    }.items():
        (package / f"{name}.py").write_text(text)
    assert circles(package) == ["house.a", "house.b", "house.c"]


STATEMENT = re.compile(r"\b(SELECT|INSERT( OR \w+)? INTO|DELETE FROM|UPDATE \w+ SET|CREATE \w+) \S")
OF_ANOTHER_PROGRAM = {"ingest/readers/agents.py"}
"""Modules that read a database that is not memento's."""


def has_sql(source):
    """Whether a module holds an SQL statement outside of its docstrings."""
    nodes = list(ast.walk(parsed(source)))
    told = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return any(
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in told
        and STATEMENT.search(node.value)
        for node in nodes
    )


def test_all_sql_is_in_the_ledger():
    """A change of a table need not be looked for elsewhere."""
    found = {
        path.relative_to(MEMENTO).as_posix()
        for path, source in sources()
        if path.is_relative_to(MEMENTO) and has_sql(source)
    }
    assert len(found) > 20
    assert {path for path in found if not path.startswith("ledger/")} == OF_ANOTHER_PROGRAM


def test_sql_is_seen():
    """In plain texts and in those with values; not in what only speaks of it."""
    assert has_sql('query = f"SELECT docid FROM {table}"')
    assert not has_sql('"""Like SELECT docid FROM memories."""')
