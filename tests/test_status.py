"""Every part of memento asks the table of statuses, and a new status is one row in it."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import memento
from memento import status as table
from memento.errors import StoreUnusable
from memento.types import Status

HOST = Path(__file__).with_name("status_host.py")
ORDINARY = [status.value for status in Status]

ROW = """
        Status.DISPUTED: Traits(
            **{flag: flag in os.environ["DISPUTED"].split() for flag in FLAGS},
        ),
    }
)
"""


def edit(path, *changes):
    """Replace texts that are there exactly once."""
    text = path.read_text()
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text)


def copy_of(folder):
    """Copy the package without its model, which is linked."""
    source, target = Path(memento.__file__).parent, folder / "memento"
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("minilm", "__pycache__"))
    (target / "embed" / "minilm").symlink_to(source / "embed" / "minilm")
    return target


@pytest.fixture(scope="module")
def disputed(tmp_path_factory):
    """A copy of memento that has one status more; its traits come from the environment."""
    package = copy_of(tmp_path_factory.mktemp("disputed"))
    edit(
        package / "types.py",
        ('    ACTIVE = "active"', '    DISPUTED = "disputed"\n    ACTIVE = "active"'),
    )
    flags = "FLAGS = frozenset(field.name for field in fields(Traits))\n"
    edit(
        package / "status.py",
        (
            "from collections.abc import Mapping\n",
            "import os\nfrom collections.abc import Mapping\n",
        ),
        (flags, ""),
        ("TABLE: Mapping[", f"{flags}\nTABLE: Mapping["),
        ("    }\n)\n", ROW),
    )
    return package


def run(package, root, *statuses, traits=""):
    """Run the host on a copy of memento."""
    environment = os.environ | {"PYTHONPATH": str(package.parent), "DISPUTED": traits}
    command = [sys.executable, str(HOST), str(root), *statuses]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def seen(package, root, *statuses, traits=""):
    """Return what the host saw of some statuses."""
    done = run(package, root, *statuses, traits=traits)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def expected(flags, *, waits=False):
    """Return what the host must see of a status with exactly these flags.

    A repeat folds into what is on its own side, accepted or not. An id is given up by a memory
    that does not keep it and is quarantined, or is hidden and of an untrusted source.
    """
    flags = set(flags)
    folds, accepted = "folds_repeats" in flags, "accepted" in flags
    plain = table.FLAGS - {"folds_repeats", "keeps_id"}
    return {flag: flag in flags for flag in plain} | {
        "folds_trusted": folds and accepted,
        "folds_untrusted": folds and not accepted,
        "ended": bool(flags & {"ended", "found"}),
        "keeps_id": "keeps_id" in flags or not (waits or "found" not in flags),
    }


def flags_of(status):
    """Name the traits that a status has."""
    return {flag for flag in table.FLAGS if status in table.having(flag)}


def test_the_statuses_are_what_the_table_says(tmp_path):
    """Each trait of each status is seen in what a store does, and seen missing where it lacks."""
    package = Path(memento.__file__).parent
    assert seen(package, tmp_path, *ORDINARY) == {
        status: expected(flags_of(status), waits=status == "quarantined") for status in ORDINARY
    }


@pytest.mark.parametrize(
    "traits",
    [
        "",
        "found current keeps_id",
        "found keeps_id",
        "embedded",
        "embedded owed_vector keeps_id",
        "in_index in_statistics",
        "folds_repeats",
        "folds_repeats accepted",
        "ended keeps_id accepted",
        (
            "found embedded owed_vector in_index in_statistics folds_repeats current"
            " accepted keeps_id"
        ),
        "feels",
    ],
)
def test_one_status_more_is_one_row_of_the_table(disputed, tmp_path, traits):
    """A store treats memories of a status nobody wrote code for as its row says."""
    assert seen(disputed, tmp_path, "disputed", traits=traits) == {
        "disputed": expected(traits.split())
    }


@pytest.mark.parametrize(
    ("traits", "why"),
    [
        ("holds_slot", "the index memories_holding_slot holds ('active',)"),
        ("in_ring", "the index memories_in_ring holds ('active',)"),
        (
            "owed_vector",
            "owed_vector, but not embedded: ['disputed']",
        ),
    ],
)
def test_a_row_that_does_not_fit_is_refused_at_import(disputed, tmp_path, traits, why):
    """Traits that the schema or the other traits do not allow stop memento with the reason."""
    done = run(disputed, tmp_path, "disputed", traits=traits)
    assert done.returncode != 0
    assert why in done.stderr


def test_the_order_of_the_statuses_means_nothing(tmp_path):
    """With the members of the enumeration and the rows of the table reversed, all is the same."""
    package = copy_of(tmp_path)
    types, rows = package / "types.py", package / "status.py"
    whole = re.compile(r"^class Status\(.*?(?=^\S)", re.MULTILINE | re.DOTALL)
    member = re.compile(r'^    [A-Z]+ = ".*"$', re.MULTILINE)
    (enumeration,) = whole.findall(types.read_text())
    members = member.findall(enumeration)
    turned = iter(members[::-1])
    edit(types, (enumeration, member.sub(lambda _: next(turned), enumeration)))
    row = r"^        Status\.[A-Z]+: Traits\(\n(?:            .*\n)+        \),\n"
    entry = re.findall(row, rows.read_text(), re.MULTILINE)
    edit(rows, ("".join(entry), "".join(entry[::-1])))
    assert len(members) == len(entry) == len(ORDINARY)
    ours = seen(Path(memento.__file__).parent, tmp_path / "ours", *ORDINARY)
    assert seen(package, tmp_path / "theirs", *ORDINARY) == ours


def test_a_change_from_or_to_what_is_no_status_is_refused():
    """A status leads to itself and to every other one."""
    table.check_transition("m", "active", "superseded")
    table.check_transition("m", "active", "active")
    for before, after in (("active", "erased"), ("garbled", "active")):
        with pytest.raises(StoreUnusable, match=f"'m' is {before}; it cannot be {after}"):
            table.check_transition("m", before, after)


def test_a_trait_that_is_not_there_is_refused():
    """A misspelt trait raises, and selects nothing by accident."""
    with pytest.raises(KeyError, match="fond"):
        table.having("fond")
