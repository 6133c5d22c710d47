"""Read files of slots: what users say about things that change.

A file is a JSON object, the name of each thing to its slot; or a Python file whose names in capital
letters are such mappings, which is run to read it. ``dev`` names the set of this project.

A slot has ``values``; ``say``, statements of a value ``{v}``; ``change``, statements that name
the earlier value ``{o}`` as well; ``past``, true of ``{o}``, and no word about now; ``other``, the
value of somebody else; ``maybe``, no statement. `lifecycle.py` needs ``q``, questions about the
present; with ``echo`` the assistant repeats a value in these words.
"""

from __future__ import annotations

import json
import runpy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

Slot: TypeAlias = Mapping[str, Sequence[str]]
SETS = Path(__file__).with_name("sets")
NEEDED = frozenset({"values", "say", "change", "past", "other", "maybe"})
OPTIONAL = frozenset({"q", "echo"})


def read_slots(path: Path, own: Path, *, asked: bool = False) -> dict[str, Slot]:
    """Read the slots of a file.

    Args:
        path: A file, or ``dev``.
        own: The file that ``dev`` names.
        asked: Whether each slot needs questions.

    Raises:
        ValueError: If the file holds no slots, or a slot lacks a field or has an unknown one.
    """
    file = own if str(path) == "dev" else path
    slots = _of_python(file) if file.suffix == ".py" else json.loads(file.read_text("utf-8"))
    needed = NEEDED | {"q"} if asked else NEEDED
    for name, slot in slots.items():
        if not needed <= set(slot) <= NEEDED | OPTIONAL:
            raise ValueError(f"{file}: {name}: needs exactly {', '.join(sorted(needed))}")
        if empty := [field for field in slot if not slot[field]]:
            raise ValueError(f"{file}: {name}: is empty: {', '.join(sorted(empty))}")
    return dict(slots)


def _of_python(file: Path) -> dict[str, Any]:
    """Run a Python file and return its slots; of several sets, each name begins with its set."""
    found = {
        name: value
        for name, value in runpy.run_path(str(file)).items()
        if name.isupper() and isinstance(value, Mapping)
    }
    if not found:
        raise ValueError(f"{file}: needs a name in capital letters that is a mapping of slots")
    if len(found) == 1:
        return dict(*found.values())
    return {f"{group}/{name}": slot for group in found for name, slot in found[group].items()}
