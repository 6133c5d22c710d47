"""The words of the documents are the words of the code: glossary, store format and module maps."""

import ast
import re
import sqlite3
from itertools import pairwise
from pathlib import Path

import pytest

import memento
from memento.types import Kind, Status, Tier, Trust

ROOT = Path(__file__).parent.parent.parent
GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
STORE_FORMAT = ROOT / "docs" / "reference" / "store-format.md"
PACKAGES = [ROOT / "memento", *sorted((ROOT / "integrations").glob("memento_*"))]

EVENT, REASON = "kind", "reason"
WRITERS = {
    "record": {EVENT: 3},
    "revise": {REASON: 3},
    "keep_version": {REASON: 2},
    "hide": {EVENT: 2, REASON: 2},
    "log_event": {EVENT: 2},
}
"""Functions that write an event or end a state, and where the word is among their arguments."""
FROM_A_FILE = {"put_event"}
"""Functions that write the words of an export as they stand there."""


def sections(page):
    """Split a page at its headings of the second level: heading to text."""
    parts = re.split(r"^## (.+)$", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows(text):
    """Return the cells of each row of the first table of a text, without its head."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip(" `*") for cell in line.strip("|").split("|")] for line in lines[2:]]


def constants(tree):
    """Return the strings that a module binds to names: ``A, B = "x", "y"`` included."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                values = node.value.elts if isinstance(target, ast.Tuple) else [node.value]
                for name, value in zip(names, values, strict=False):
                    if isinstance(value, ast.Constant) and isinstance(value.value, str):
                        found[name.id] = value.value
    return found


def words_of(value, function, named):
    """Return the words that an expression can be, or None for what nobody can read off.

    A parameter of a writer has none of its own: the calls of that writer have them.
    """
    if isinstance(value, ast.Constant):
        return {value.value}
    if isinstance(value, ast.IfExp):
        both = [words_of(one, function, named) for one in (value.body, value.orelse)]
        return None if None in both else both[0] | both[1]
    if isinstance(value, ast.Name):
        if value.id in named:
            return {named[value.id]}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id == value.id for target in node.targets
            ):
                return words_of(node.value, function, named)
        parameters = {one.arg for one in (*function.args.args, *function.args.kwonlyargs)}
        if value.id in parameters and function.name in {*WRITERS, *FROM_A_FILE}:
            return set()
    return None


def written(source):
    """Return the words that a module writes, by ``EVENT`` and ``REASON``; "?" for an unread one."""
    tree = ast.parse(source)
    named = constants(tree)
    found = {EVENT: set(), REASON: set()}
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for call in ast.walk(function):
            if not isinstance(call, ast.Call):
                continue
            name = getattr(call.func, "attr", getattr(call.func, "id", ""))
            for what, position in WRITERS.get(name, {}).items():
                value = next((k.value for k in call.keywords if k.arg == what), None)
                value = call.args[position] if value is None else value
                words = words_of(value, function, named)
                found[what] |= {f"? line {call.lineno}"} if words is None else words
    return found


def all_written(what):
    """Return every event kind or every version reason that the code can write."""
    found = set()
    for path in sorted((ROOT / "memento").rglob("*.py")):
        found |= written(path.read_text(encoding="utf-8"))[what]
    return found


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


def test_glossary_lists_the_events_that_are_recorded():
    """The glossary explains every event the code records, and no other."""
    assert told(1) == all_written(EVENT)


def test_glossary_lists_the_reasons_that_are_written():
    """The glossary explains every reason of a version, the present one included, and no other."""
    assert told(2) == all_written(REASON) | {"present"}


def test_glossary_has_each_word_once_in_order():
    """No table of the glossary has a word twice, and the words are in alphabetical order."""
    pages = sections(GLOSSARY.read_text(encoding="utf-8"))
    words = [row[0] for row in rows(pages["Words"])]
    assert len(words) > 50
    assert all(one.casefold() < other.casefold() for one, other in pairwise(words))
    for text in pages.values():
        first = [row[0] for row in rows(text)]
        assert len(first) == len(set(first))


def test_glossary_calls_nothing_unbuilt_that_a_verb_does():
    """A word the glossary calls not built yet is no method of the manager and no room."""
    words = rows(sections(GLOSSARY.read_text(encoding="utf-8"))["Words"])
    unbuilt = {row[0] for row in words if "not built yet" in row[1]}
    assert unbuilt
    assert not unbuilt & (set(dir(memento.MemoryManager)) | rooms(ROOT / "memento"))


@pytest.mark.parametrize(
    ("source", "events", "reasons"),
    [
        ("def f(): record(c, ns, now, 'seen', d)", {"seen"}, set()),
        ("def f(): m.hide(work, row, 'gone')", {"gone"}, {"gone"}),
        ("A, B = 'a', 'b'\ndef f():\n w = A if x else B\n revise(c, r, {}, w)", set(), {"a", "b"}),
        ("def f(): m.record(c, ns, now, kind='seen', docid=d)", {"seen"}, set()),
        ("def hide(c, row, now, reason): revise(c, row, {}, reason)", set(), set()),
        ("def f(why): keep_version(c, row, why, 1)", set(), {"? line 1"}),
    ],
)
def test_the_reader_of_written_words_sees_them(source, events, reasons):
    """Words in calls are read as constants, names and choices; others are reported as unread."""
    assert written(source) == {EVENT: events, REASON: reasons}


def test_the_reader_finds_every_writer():
    """Each function that writes events or reasons still has its name and takes the word there."""
    defined = {}
    for path in (ROOT / "memento").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name in WRITERS:
                defined[node.name] = [argument.arg for argument in node.args.args]
    for name, places in WRITERS.items():
        for position in places.values():
            assert defined[name][position] in {EVENT, REASON}


def test_store_format_lists_every_table(open_memory, tmp_path):
    """The page of the store format has a row for each table that a new ledger contains."""
    open_memory(tmp_path / "store").add("Nadia sails on Sundays")
    with sqlite3.connect(tmp_path / "store" / "ledger.db") as connection:
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    parts_of_fts = re.compile(r"memories_fts_\w+")
    tables = {name for (name,) in found if not parts_of_fts.fullmatch(name)}
    listed = rows(sections(STORE_FORMAT.read_text(encoding="utf-8"))["ledger.db"])
    assert {name.strip(" `") for row in listed for name in row[0].split(",")} == tables


def test_store_format_lists_every_event_and_reason():
    """The page of the store format names each event, and the events that are no reason."""
    text = " ".join(sections(STORE_FORMAT.read_text(encoding="utf-8"))["ledger.db"].split())
    events = re.search(r"Events are (.*?)\.", text).group(1)
    assert set(re.findall(r"`(\w+)`", events)) == all_written(EVENT)
    others = re.search(r"same words without (.*?)\.", text).group(1)
    assert set(re.findall(r"`(\w+)`", others)) == all_written(EVENT) - all_written(REASON)


def rooms(package):
    """Return the names of the modules and packages in a folder."""
    files = {path.stem for path in package.glob("*.py")} - {"__init__", "__main__"}
    return files | {path.parent.name for path in package.glob("*/__init__.py")}


def mapped(docstring):
    """Return the names that the map in a docstring has: at the start of a line, then spaces."""
    lines = re.findall(r"^([a-z_]+(?:, [a-z_]+)*) {2,}\S", docstring, re.MULTILINE)
    return [name for names in lines for name in names.split(", ")]


def maps():
    """Return every package whose docstring has a map of its modules, and the map."""
    found = []
    for path in sorted(file for package in PACKAGES for file in package.rglob("__init__.py")):
        names = mapped(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")
        if names and rooms(path.parent).intersection(names):
            found.append((path.parent, names))
    return found


@pytest.mark.parametrize(
    ("package", "names"), [pytest.param(*one, id=one[0].name) for one in maps()]
)
def test_a_map_of_modules_lists_them_all(package, names):
    """The map in a package's docstring has each of its modules once, and no other."""
    assert sorted(names) == sorted(rooms(package))


def test_memento_has_a_map():
    """The package itself shows a reader where everything is."""
    assert ROOT / "memento" in [package for package, _ in maps()]


def test_the_map_is_in_the_order_of_the_arrows():
    """Rooms of the map stand as the test of arrows has their floors, from the ground up."""
    from tests.test_arrows import FLOOR  # noqa: PLC0415 - only this test needs it

    floors = [FLOOR[name] for name in mapped(memento.__doc__)]
    assert floors == sorted(floors)
