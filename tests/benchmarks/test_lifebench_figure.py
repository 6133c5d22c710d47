"""The figure of LifeBench shows what was printed."""

from xml.etree import ElementTree as ET

import lifecycle
import lifecycle_figure
from life_orders import BASELINES
from life_world import PRODUCT, Scores


def printed(value):
    """Lay out two scenarios as LifeBench prints them."""
    blocks = []
    for name, measure in (("need", "hit1"), ("drift", "changed1")):
        scores = Scores()
        for at, way in enumerate((PRODUCT, *BASELINES)):
            scores.note(way, **{measure: (value - 10 * at) / 100, "other": 0.5})
        blocks.append(f"\n{name}\n{lifecycle._laid_out(scores)}\n(3 s)\n")
    return "\n".join(blocks)


def test_each_printed_scenario_has_a_panel():
    """With a bar for memento, for memento switched off and for each other order."""
    need, drift = lifecycle_figure.panels(lifecycle_figure.read(printed(90)))
    assert [name for name, _, _ in need.bars][:3] == [
        "memento",
        "the same, switched off",
        "recency",
    ]
    assert [label for _, _, label in drift.bars] == ["90", "80", "70", "60", "50", "40"]


def test_the_figure_is_a_picture_with_the_numbers(tmp_path):
    """Well-formed, and each number is in it."""
    (tmp_path / "life.txt").write_text(printed(77), encoding="utf-8")
    lifecycle_figure.main([str(tmp_path / "life.txt"), str(tmp_path / "life.svg")])
    words = [one.text for one in ET.parse(tmp_path / "life.svg").iter()]  # noqa: S314 - ours
    assert words.count("77") == 2
