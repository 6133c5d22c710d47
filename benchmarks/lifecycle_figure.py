"""Draw what LifeBench printed: the lifecycle beside the five other orders, as SVG.

python benchmarks/lifecycle.py --worlds 2 > life.txt
python benchmarks/lifecycle_figure.py life.txt docs/explanation/lifecycle.svg
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from charts import chart
from life_orders import BASELINES
from life_world import PRODUCT

from memento.cli.plots import Panel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SHOWN = {
    ("need", "hit1"): "what was needed often: right one first, %",
    ("null", "hit1"): "nothing to learn (control): right one first, %",
    ("wrong", "round10"): "wrong statements, after verdicts: right one first, %",
    ("noise", "easy1"): "confirmed facts in noise: the fact first, %",
    ("drift", "changed1"): "things that changed: present value first, %",
    ("loop", "first"): "a better memory comes late: it is first, %",
}
"""Scenario and measure of each panel to its title."""
WAYS = {PRODUCT: "memento"} | {
    way: "the same, switched off" if at == 0 else way for at, way in enumerate(BASELINES)
}
"""Each way to order to its name in the figure."""

Tables = dict[str, dict[str, dict[str, float]]]
"""Name of a scenario to each way to order, to each measure."""


def read(printed: str) -> Tables:
    """Read the tables that LifeBench printed."""
    found: Tables = {}
    for block in printed.split("\n\n"):
        lines = block.strip().splitlines()
        if len(lines) > 2 and set(lines[2]) <= {"-", " "}:
            heads = lines[1].split()
            if rows := dict(_row(line, heads) for line in lines[3:] if _is_row(line)):
                found[lines[0]] = rows  # the table of the floors has none
    return found


def _is_row(line: str) -> bool:
    return re.split(r"\s{2,}", line)[0] in {*WAYS, "oracle"}


def _row(line: str, heads: Sequence[str]) -> tuple[str, dict[str, float]]:
    way, *values = re.split(r"\s{2,}", line.strip())
    return way, dict(zip(heads, map(float, values), strict=True))


def panels(found: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[Panel]:
    """Make a panel of each measure that was printed; the first bar is ours."""
    return [
        Panel(
            heading,
            [
                (title, found[name][way][measure], f"{found[name][way][measure]:.0f}")
                for way, title in WAYS.items()
            ],
        )
        for (name, measure), heading in SHOWN.items()
        if name in found
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Read a file, write the other one."""
    parser = argparse.ArgumentParser(description="LifeBench as a figure")
    parser.add_argument("printed", type=Path, help="what lifecycle.py printed")
    parser.add_argument("svg", type=Path, help="the file to write")
    options = parser.parse_args(arguments)
    found = read(options.printed.read_text(encoding="utf-8"))
    options.svg.write_text(
        chart(panels(found), "memento beside other orders", ours="memento"), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
