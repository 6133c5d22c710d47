"""Imports point one way: a room knows the rooms below it and none above."""

import ast
from pathlib import Path

import pytest

import memento

ROOMS = [
    {"errors", "stem"},
    {"types", "scopes", "text", "protocols"},
    {"tiers.config", "retrieve.config"},  # plain settings, without the code they tune
    {"ledger"},
    {"embed"},
    {"embedding"},
    {"tiers"},
    {"observe", "transcripts"},
    {"filters", "config", "testing", "quarantine"},
    {"retrieve"},
    {"backup", "correct", "doctor", "erase", "lineage", "prompt", "salvage", "transfer"},
    {"engine"},
    {"manager"},
    {"aio"},
    {""},  # memento itself: the public names
    {"show"},
    {"demo"},
    {"cli"},
    {"__main__"},
]
"""Rooms from the ground up. Those of one floor do not know each other."""

FLOOR = {room: floor for floor, rooms in enumerate(ROOMS) for room in rooms}


def module_name(path, package):
    """Name a file inside its package, without the package: ``tiers.short``, "" for the root."""
    parts = list(path.relative_to(package).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module):
    """Name the room of a module; a settings module is a room of its own."""
    return module if module in FLOOR else module.split(".")[0]


def imports(path, package):
    """List the modules of the package that a file imports anywhere, type-only ones included."""
    modules = {module_name(file, package) for file in package.rglob("*.py")}
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; say from where"
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    ours = {package.name, *(f"{package.name}.{name}" for name in modules if name)}
    named = {name.removeprefix(package.name).lstrip(".") for name in found & ours}
    return named if _takes_public_name(path, package, modules) else named - {""}


def _takes_public_name(path, package, modules):
    """Whether a file imports something from the package itself that is no module of it."""
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == package.name
        and any(
            alias.name not in modules and not _is_room(alias.name, modules) for alias in node.names
        )
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    )


def _is_room(name, modules):
    return any(module.split(".")[0] == name for module in modules)


def wrong_arrows(package):
    """List every import that goes up, or to a room on the same floor."""
    wrong = []
    for path in sorted(package.rglob("*.py")):
        here = room_of(module_name(path, package))
        for there in sorted({room_of(module) for module in imports(path, package)}):
            homeless = {here, there} - FLOOR.keys()
            wrong += [f"{room}: a room without a floor; give it one in ROOMS" for room in homeless]
            if here in FLOOR and there in FLOOR and here != there and FLOOR[there] >= FLOOR[here]:
                wrong.append(f"{here or 'memento'} -> {there or 'memento'}")
    return wrong


def test_no_arrow_of_memento_turns_round():
    """Every import in memento goes down."""
    assert wrong_arrows(Path(memento.__file__).parent) == []


def test_every_room_exists():
    """The list of rooms names nothing that is gone."""
    package = Path(memento.__file__).parent
    modules = {module_name(path, package) for path in package.rglob("*.py")}
    rooms = {room_of(module) for module in modules}
    assert FLOOR.keys() - rooms == set()


@pytest.mark.parametrize(
    ("module", "line", "wrong"),
    [
        ("ledger/rows.py", "from memento.types import Tier", []),
        ("ledger/rows.py", "from memento.manager import MemoryManager", ["ledger -> manager"]),
        ("ledger/rows.py", "from memento import MemoryManager", ["ledger -> memento"]),
        ("ledger/rows.py", "from memento import manager", ["ledger -> manager"]),
        ("ledger/rows.py", "import memento.manager", ["ledger -> manager"]),
        ("ledger/rows.py", "def late():\n    import memento.aio", ["ledger -> aio"]),
        ("tiers/config.py", "from memento.tiers import short", ["tiers.config -> tiers"]),
        ("tiers/short.py", "from memento.tiers.config import C", []),
        ("correct.py", "from memento.doctor import examine", ["correct -> doctor"]),
        (
            "attic.py",
            "import memento.types",
            ["attic: a room without a floor; give it one in ROOMS"],
        ),
        ("aio.py", "from memento import MemoryManager", ["aio -> memento"]),
        ("cli.py", "from memento import MemoryManager", []),
    ],
)
def test_an_arrow_that_turns_round_is_seen(tmp_path, module, line, wrong):
    """On a made-up tree, exactly the imports that go up are reported."""
    package = tmp_path / "memento"
    for name in ("types", "manager", "aio", "doctor", "tiers/short", "tiers/__init__", "__init__"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).with_suffix(".py").touch()
    (package / module).parent.mkdir(parents=True, exist_ok=True)
    (package / module).write_text(line)
    assert wrong_arrows(package) == wrong
