"""`memento stats --plot`: bars for a terminal."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memento.cli import main, plots


def test_growth_is_the_sum_of_what_came():
    """A bar for each day on which something came; for each month in a long life."""
    start = datetime(2026, 1, 5, tzinfo=UTC)
    days = [start + timedelta(days=n // 2) for n in range(6)]
    assert [bar[:2] for bar in plots._growth(days)] == [
        ("2026-01-05", 2), ("2026-01-06", 4), ("2026-01-07", 6),
    ]  # fmt: skip
    months = [start + timedelta(days=40 * n) for n in range(30)]
    bars = list(plots._growth(months))
    assert len(bars) == plots.BARS
    assert bars[-1][1] == 30
    assert list(plots._growth([])) == []


def test_a_plot_fits_a_terminal(tmp_path, capsys):
    """Each panel has its numbers; an empty store has empty bars."""
    root = tmp_path / "store"
    for text in ("Rami eats no nuts", "The hotel is the Miramar"):
        assert main(["add", text, "--tier", "long", "--root", str(root), "--embedder", "none"]) == 0
    for namespace, count in (("default", "2"), ("other", "0")):
        capsys.readouterr()
        where = ["--root", str(root), "--namespace", namespace, "--embedder", "none"]
        assert main(["stats", "--plot", *where]) == 0
        said = capsys.readouterr().out
        assert max(map(len, said.splitlines())) < 80
        (line,) = [line for line in said.splitlines() if line.strip().startswith("long")]
        assert line.endswith(f" {count}")
