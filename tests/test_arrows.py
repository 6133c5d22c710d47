"""Imports point one way: a room knows the rooms below it and none above."""

import ast
from functools import cache
from pathlib import Path

import pytest

import memento

ROOMS = [
    {"errors"},
    {"base"},
    {"text"},
    {"types", "protocols"},
    {"status", "check"},
    {"dynamics"},
    {"claims", "messages"},
    {"ledger.match"},  # what is looked up, and what every engine owes: no engine in sight
    {"ledger.contract"},
    {"ledger"},
    {"embed"},
    {"admit", "ingest"},
    {"config", "testing"},
    {"settings"},
    {"observe", "llm"},
    {"tiers"},
    {"retrieve"},
    {"prompt"},
    {"write"},
    {"sleep"},
    {"upkeep"},
    {"insight"},
    {"background"},
    {"engine"},
    {"holding"},
    {"views"},
    {"conversation"},
    {"learning"},
    {"verbs"},
    {"manager"},
    {"aio"},
    {"remote"},
    {"frameworks"},
    {""},  # memento itself: the public names
    {"resident"},
    {"serve"},
    {"agents"},
    {"cli"},
    {"__main__"},
]
"""Rooms from the ground up. Those of one floor do not know each other."""

ENGINES = ["lite", "pg"]
"""Folders of ``ledger``, each an engine that keeps the rows."""

SHARED = {("pg", f"ledger.lite.{module}") for module in ("fulltext", "library")}
"""What the engine on a server takes of SQLite: the tokenizer, so that both cut a text alike, and
the index of waiting rows."""

FLOOR = {room: floor for floor, rooms in enumerate(ROOMS) for room in rooms}


def module_name(path, package):
    """Name a file inside its package, without the package: ``tiers.short``, "" for the root."""
    parts = list(path.relative_to(package).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module):
    """Name the room of a module: its folder, or itself if it has a floor of its own."""
    return module if module in FLOOR else module.split(".")[0]


@cache
def modules_of(package):
    """Name every module of a package."""
    return {module_name(file, package) for file in package.rglob("*.py")}


@cache
def import_lines(path):
    """List the import statements anywhere in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]


def imports(path, package):
    """List the modules of the package that a file imports anywhere, type-only ones included."""
    modules = modules_of(package)
    found = set()
    for node in import_lines(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
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
        for node in import_lines(path)
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


def wrong_engines(package):
    """List every import of an engine of the ledger by anything but its opening and itself."""
    wrong = []
    for path in sorted(package.rglob("*.py")):
        here = module_name(path, package)
        if here == "ledger.opening":
            continue
        wrong += [
            f"{here} -> {there}"
            for there in sorted(imports(path, package))
            if (engine := _engine_of(there)) is not None
            and engine != _engine_of(here)
            and (_engine_of(here), there) not in SHARED
        ]
    return wrong


def adapters_known(package):
    """List every import of an adapter that is not its public door, or not by the command line."""
    known = []
    for path in sorted(package.rglob("*.py")):
        here = module_name(path, package)
        for node in import_lines(path):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module]
            known += [
                f"{here} -> {name}"
                for name in names
                if name.startswith(f"{package.name}_") and ("." in name or room_of(here) != "cli")
            ]
    return known


def _engine_of(module):
    """Name the engine of the ledger that a module belongs to; None for any other."""
    parts = module.split(".")
    return parts[1] if parts[0] == "ledger" and len(parts) > 1 and parts[1] in ENGINES else None


def test_nobody_but_its_opening_knows_an_engine():
    """Code outside an engine's own folder uses the contract, the ledger included."""
    assert wrong_engines(Path(memento.__file__).parent) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_has_its_folder(engine):
    """The list of engines names nothing that is gone."""
    assert (Path(memento.__file__).parent / "ledger" / engine / "__init__.py").is_file()


@pytest.mark.parametrize(
    ("module", "line", "wrong"),
    [
        ("engine.py", "from memento.ledger.contract import Session", []),
        ("engine.py", "from memento.ledger.opening import open_ledger", []),
        ("ledger/opening.py", "def late():\n    from memento.ledger.lite import store", []),
        ("ledger/lite/writer.py", "from memento.ledger.lite.store import LiteLedger", []),
        (
            "engine.py",
            "from memento.ledger.lite.store import LiteLedger",
            ["engine -> ledger.lite.store"],
        ),
        ("engine.py", "import memento.ledger.lite.store", ["engine -> ledger.lite.store"]),
        (
            "tiers/ring.py",
            "def late():\n    from memento.ledger.lite import store",
            ["tiers.ring -> ledger.lite", "tiers.ring -> ledger.lite.store"],
        ),
        (
            "ledger/memories.py",
            "from memento.ledger.lite.store import LiteLedger",
            ["ledger.memories -> ledger.lite.store"],
        ),
    ],
)
def test_an_engine_known_elsewhere_is_seen(tmp_path, module, line, wrong):
    """On a made-up tree, exactly the imports of an engine from outside are reported."""
    package = tmp_path / "memento"
    for name in (
        "__init__",
        "ledger/contract",
        "ledger/opening",
        "ledger/lite/__init__",
        "ledger/lite/store",
    ):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).with_suffix(".py").touch()
    (package / module).parent.mkdir(parents=True, exist_ok=True)
    (package / module).write_text(line)
    assert wrong_engines(package) == wrong


def test_no_arrow_of_memento_turns_round():
    """Every import in memento goes down."""
    assert wrong_arrows(Path(memento.__file__).parent) == []


def test_only_the_command_line_knows_adapters_and_by_their_doors():
    """An adapter may be left out of an installation, and may change what is its own."""
    assert adapters_known(Path(memento.__file__).parent) == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("cli/mcp.py", "from memento_mcp._wire import told"),
        ("agents/hook.py", "import memento_mcp"),
    ],
)
def test_an_adapter_known_elsewhere_is_seen(tmp_path, module, line):
    """Else the test before could not fail."""
    file = tmp_path / "memento" / module
    file.parent.mkdir(parents=True)
    file.write_text(line, encoding="utf-8")
    assert len(adapters_known(tmp_path / "memento")) == 1


def test_every_room_exists():
    """The list of rooms names nothing that is gone."""
    package = Path(memento.__file__).parent
    rooms = {room_of(module) for module in modules_of(package)}
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
        ("config.py", "from memento.tiers import ring", ["config -> tiers"]),
        ("admit/draft.py", "from memento.config import C", ["admit -> config"]),
        ("tiers/ring.py", "from memento.config import C", []),
        ("prompt/rendering.py", "from memento.upkeep.doctor import examine", ["prompt -> upkeep"]),
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
    for name in (
        "types",
        "manager",
        "aio",
        "upkeep/doctor",
        "config",
        "tiers/ring",
        "tiers/__init__",
        "__init__",
    ):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).with_suffix(".py").touch()
    (package / module).parent.mkdir(parents=True, exist_ok=True)
    (package / module).write_text(line)
    assert wrong_arrows(package) == wrong
