"""Do the promises hold? Runs every trust harness and its null control, and writes TRUST.md.

    python benchmarks/trust.py [--only WORD ...] [--seed 1] [--jobs N] [--json OUT] [--keep]
    python benchmarks/trust.py --full [--only WORD ...]
    python benchmarks/trust.py --list | --report

The quick form (a few minutes) prints a table and is part of every CI run. The full form also
notes what it found in ``benchmarks/trust.json`` and writes ``TRUST.md`` from it; with ``--only`` it
replaces those results and keeps the others. With ``--keep`` the quick form does so too, where there
is no result of a full one. ``--report`` writes the page again, running nothing.

A harness is a function of a module ``tests/trust/harness_*.py``; `trust_result` says what it has
to be like. Each runs in a process of its own, so a crash or a hang is a result as well. ``--jobs``
run at a time, by default one per core, those that took longest last time first; those that measure
time run alone afterwards. The results do not depend on it. The exit status is 0 if every promise
held and every control failed as it must.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import math
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from common import ROOT, child_environment, table, write_json
from trust_report import machine, page
from trust_result import Record, TrustResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from trust_result import Harness

HARNESSES = ROOT / "tests" / "trust"
NOTED = ROOT / "benchmarks" / "trust.json"
PAGE = ROOT / "TRUST.md"
DEADLINES = {"quick": 600.0, "full": 3 * 3600.0}
"""Seconds after which a harness counts as hung: many times what one takes on a busy machine."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a harness is: its module and its function."""

    module: str
    function: str

    def __str__(self) -> str:
        return f"{self.module.removeprefix('harness_')}.{self.function}"

    def load(self) -> Harness:
        """Import it."""
        harness: Harness = getattr(importlib.import_module(self.module), self.function)
        return harness

    @property
    def alone(self) -> bool:
        """Whether it measures time, so that nothing else may run beside it."""
        return self.load() in getattr(importlib.import_module(self.module), "TIMED", ())


def found() -> list[Place]:
    """List every harness there is, in the order of modules and of their HARNESSES."""
    sys.path.insert(0, str(HARNESSES))
    modules = [importlib.import_module(p.stem) for p in sorted(HARNESSES.glob("harness_*.py"))]
    return [Place(m.__name__, harness.__name__) for m in modules for harness in m.HARNESSES]


def run(place: Place, options: argparse.Namespace) -> Record:
    """Run a harness in a process group of its own and note what it found."""
    form = "full" if options.full else "quick"
    started = time.monotonic()
    with TemporaryDirectory(prefix="memento-trust-") as folder:
        command = ["--one", place.module, place.function, folder, "--seed", str(options.seed)]
        result = _in_child([*command, *(["--full"] * options.full)], place, DEADLINES[form])
    seconds = round(time.monotonic() - started, 1)
    asked = " --full" if options.full else ""
    return Record(
        harness=str(place),
        form=form,
        command=f"python benchmarks/trust.py{asked} --only {place} --seed {options.seed}",
        when=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        machine=machine(),
        result=replace(result, seconds=seconds),
    )


def _in_child(command: Sequence[str], place: Place, deadline: float) -> TrustResult:
    child = subprocess.Popen(
        [sys.executable, __file__, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=child_environment(),
        start_new_session=True,
    )
    try:
        out, err = child.communicate(timeout=deadline)
    except subprocess.TimeoutExpired:
        out, err = b"", f"not done after {deadline:g} s".encode()
    finally:
        _end_group(child)
    if child.returncode == 0 and out:
        data = json.loads(out.splitlines()[-1])
        return TrustResult(**{**data, "details": tuple(data["details"])})
    said = (err.decode("utf-8", "replace").strip().splitlines() or ["nothing said"])[-1]
    return TrustResult(
        name=str(place),
        promise="the harness comes to an end",
        cases=1,
        failures=1,
        details=(f"exit status {child.returncode}: {said}",),
    )


def _end_group(child: subprocess.Popen[bytes]) -> None:
    """End what the harness left running, and it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.communicate()


def one(module: str, function: str, folder: str, options: argparse.Namespace) -> None:
    """Be the child: run one harness and print what it found."""
    sys.path.insert(0, str(HARNESSES))
    result = Place(module, function).load()(Path(folder), full=options.full, seed=options.seed)
    print(f"\n{json.dumps(asdict(result))}")


def run_all(places: Sequence[Place], options: argparse.Namespace) -> Iterator[Record]:
    """Run harnesses, some at a time and then those that have to be alone; yields each when done."""
    alone = [place for place in places if place.alone]
    beside = longest_first([place for place in places if place not in alone])
    for group, jobs in ((beside, options.jobs), (alone, 1)):
        with ThreadPoolExecutor(jobs) as pool:
            for done in as_completed([pool.submit(run, place, options) for place in group]):
                record = done.result()
                said = f"{record.result.verdict}: {record.harness} ({record.result.seconds:g} s)"
                print(said, file=sys.stderr, flush=True)
                yield record


def longest_first(places: Sequence[Place]) -> list[Place]:
    """Order harnesses by the seconds they took last time, so that no long one is left for the end.

    One that was never run comes first: nobody knows how long it takes.
    """
    took = {record.harness: record.result.seconds for record in noted()}
    return sorted(places, key=lambda place: -took.get(str(place), math.inf))


def noted() -> list[Record]:
    """Read what earlier full runs found."""
    if not NOTED.exists():
        return []
    return [Record.parse(data) for data in json.loads(NOTED.read_text("utf-8"))["records"]]


def note(new: Record, places: Sequence[Place]) -> None:
    """Replace an earlier result by a new one; drops those of harnesses that are gone.

    A quick result takes the place of no full one.
    """
    known = {record.harness: record for record in noted()}
    if new.form == "full" or new.harness not in known or known[new.harness].form != "full":
        known[new.harness] = new
    kept = [asdict(known[str(place)]) for place in places if str(place) in known]
    NOTED.write_text(json.dumps({"records": kept}, indent=1) + "\n", encoding="utf-8")


def write_page(places: Sequence[Place]) -> None:
    """Write TRUST.md from what is noted."""
    PAGE.write_text(page(noted(), [str(place) for place in places]), encoding="utf-8")


def show(records: Sequence[Record]) -> None:
    """Print the results."""
    rows = [
        [r.result.name, str(r.result.cases), str(r.result.failures), r.control_said,
         f"{r.result.seconds:g}", r.result.verdict]
        for r in records
    ]  # fmt: skip
    print(table(["what", "cases", "failures", "control", "seconds", "verdict"], rows))
    for record in records:
        for detail in record.result.details[:5] if record.result.verdict.isupper() else ():
            print(f"{record.harness}: {detail}")
        if record.result.skipped:
            print(f"{record.harness}: {record.result.skipped}")


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="run the trust harnesses and their controls")
    parser.add_argument("--full", action="store_true", help="the published form; writes TRUST.md")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="harnesses whose name holds one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1,
        help="harnesses at a time, >= 1; one per core by default",
    )  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the results there too")
    parser.add_argument("--keep", action="store_true", help="also note a quick run")
    parser.add_argument("--list", action="store_true", help="name the harnesses and end")
    parser.add_argument("--report", action="store_true", help="only write TRUST.md again")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run them, or be the process of one."""
    options = parsed(arguments)
    if options.one:
        module, function, folder = options.one
        one(module, function, folder, options)
        return 0
    places = found()
    wanted = [p for p in places if not options.only or any(w in str(p) for w in options.only)]
    if options.list:
        print("\n".join(map(str, wanted)))
        return 0
    if options.report:
        write_page(places)
        return 0
    if not wanted:
        print("no harness of that name; --list names them", file=sys.stderr)
        return 2
    records = []
    for record in run_all(wanted, options):
        records.append(record)
        if options.full or options.keep:
            note(record, places)
            write_page(places)
    order = {str(place): at for at, place in enumerate(places)}
    records.sort(key=lambda record: order[record.harness])
    show(records)
    said: dict[str, Any] = {"records": [asdict(record) for record in records]}
    write_json(options.json, said)
    return 0 if all(record.result.verdict in {"held", "skipped"} for record in records) else 1


if __name__ == "__main__":
    sys.exit(main())
