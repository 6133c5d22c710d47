"""The benchmark of natural changes reads labels, and counts what a reader can see."""

import json

import changes


def write(path, *lines):
    """Write one JSON object a line."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def test_a_change_names_the_statement_nearest_in_meaning(tmp_path):
    """Of an earlier message with two statements; what nothing changes is asked for as well."""
    turns = [{"chat": 1, "turn": n, "date": f"2026-0{n}-01", "text": "..."} for n in (1, 2)]
    write(tmp_path / "v01.jsonl", {"voice": "v01"}, *turns)
    spans = [["Ada plays the violin at school", "The boiler is broken"], ["Ada quit the violin"]]
    labels = [
        {"chat": 1, "turn": n, "spans": [{"text": one} for one in said], "changes": []}
        for n, said in enumerate(spans, start=1)
    ]
    labels[1]["changes"] = [{"span": 0, "what": "ends", "of": "1.1"}]
    write(tmp_path / "labels" / "v01.jsonl", *labels)
    voice = changes.read(tmp_path / "v01.jsonl")
    cases = changes.ask(voice)
    assert [(case["older"], case["newer"]) for case in cases] == [
        (spans[0][0], spans[1][0]), (spans[0][1], None), (spans[1][0], None),
    ]  # fmt: skip
    found = changes.report(cases)
    assert found["ends"]["seen"] == [1, 1]
    assert found["replaces"]["seen"] == [0, 0]
    assert found["stays"]["marked"] == [0, 2]
