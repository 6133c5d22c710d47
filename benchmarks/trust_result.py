"""The contract of a trust harness and its result; `trust.py` runs them all.

A harness is a function in a module ``tests/trust/harness_*.py``, listed in that module's
``HARNESSES``::

    def kill_while_reindexing(folder: Path, *, full: bool, seed: int) -> TrustResult: ...

    HARNESSES = (kill_while_reindexing,)

- It tests one promise through the public interface, in an empty ``folder`` it may fill.
- ``full`` chooses between the published form (minutes) and the quick one (at most about five
  seconds: all quick forms together are part of every CI run).
- Equal seeds do equal things, as far as processes and kills allow.
- It runs the same checks on a null control too: a store, a setting or a writer that cannot keep
  the promise. A harness whose control passes proves nothing; `TrustResult.verdict` says so.
- It runs in a process of its own: it may be killed, hang or crash, and the others still run.
- A module whose harness measures time also lists it in ``TIMED``: it then runs beside no other.
- It reports parts that it cannot run here (no compiler, not root) in `TrustResult.skipped`.

``tests/trust/test_*.py`` call it with ``full=False``, or its parts in smaller pieces.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustResult:
    """The findings of a harness.

    Attributes:
        name: The fault, in a few words.
        promise: What a user can rely on, as a sentence.
        cases: Times the promise was put to the test; rounds, states, examples.
        failures: Times it was broken, of whatever kind; ``details`` tells which.
        control: What the null control is, in a few words; empty if there is none.
        control_failed: Whether the control broke the promise, as it must; None if none was run.
        seed: What the random choices were made from; None if there are none.
        seconds: Wall time; the runner fills it in.
        figures: Other counts and measures, name to value, in the order to be shown.
        details: The first failures, one line each.
        skipped: Why it, or a part of it, could not be run here; empty if all was.
    """

    name: str
    promise: str
    cases: int
    failures: int
    control: str = ""
    control_failed: bool | None = None
    seed: int | None = None
    seconds: float = 0.0
    figures: dict[str, str | int | float] = field(default_factory=dict)
    details: tuple[str, ...] = ()
    skipped: str = ""

    @property
    def verdict(self) -> str:
        """``held``, ``skipped``, or in capitals what went wrong."""
        if self.failures:
            return "BROKEN"
        if self.control_failed is False:
            return "CONTROL DID NOT FAIL"
        if not self.cases:
            return "skipped" if self.skipped else "NOTHING TESTED"
        return "held"


class Harness(Protocol):
    """A function that tests one promise."""

    __name__: str

    def __call__(self, folder: Path, *, full: bool, seed: int) -> TrustResult:
        """Test it in an empty folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A result with how it came about.

    Attributes:
        harness: Module and function.
        form: ``full`` or ``quick``.
        command: What repeats it.
        when: When it ended, UTC.
        machine: Versions and system, by name.
        result: What was found.
    """

    harness: str
    form: str
    command: str
    when: str
    machine: dict[str, str]
    result: TrustResult

    @classmethod
    def parse(cls, data: dict[str, Any]) -> Record:
        """Read one back from JSON."""
        result = data["result"]
        found = TrustResult(**{**result, "details": tuple(result["details"])})
        return cls(**{**data, "result": found})

    @property
    def control_said(self) -> str:
        """The result of the null control."""
        said = {None: "none", True: "failed, as it must", False: "DID NOT FAIL"}
        return said[self.result.control_failed]
