"""Edits of somebody's configuration: what is put in can be taken out, and nothing else moves."""

from __future__ import annotations

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento.agents.splice import Unreadable, load, put, put_table, take, take_table

GROUP = {"hooks": [{"type": "command", "command": "memento hook codex Stop", "timeout": 5}]}
NAMES = st.sampled_from(["hooks", "Stop", "Start", "mcp", "memento", "a b", 'q"', "ü", "//", "x"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.sampled_from(["// no", "/*"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
GAPS = st.sampled_from(
    ["", " ", "\n", "\n  ", "\r\n\t", " // note, }\n", "/* ] */", "\n\n  // x\n  "]
)


def is_ours(value):
    """Tell our group of hooks from others'."""
    return value == GROUP


@st.composite
def documents(draw, value=None):
    """Draw an object as a person may write it: comments, spaces and trailing commas anywhere."""
    value = draw(st.dictionaries(NAMES, VALUES, max_size=4)) if value is None else value

    def spell(one):
        if isinstance(one, dict):
            parts = [
                f"{draw(GAPS)}{json.dumps(k)}{draw(GAPS)}:{draw(GAPS)}{spell(v)}{draw(GAPS)}"
                for k, v in one.items()
            ]
        elif isinstance(one, list):
            parts = [f"{draw(GAPS)}{spell(v)}{draw(GAPS)}" for v in one]
        else:
            return json.dumps(one, ensure_ascii=draw(st.booleans()))
        trailing = f",{draw(GAPS)}" if parts and draw(st.booleans()) else ""
        body = ",".join(parts) + trailing if parts else draw(GAPS)
        return f"{{{body}}}" if isinstance(one, dict) else f"[{body}]"

    return f"{draw(GAPS)}{spell(value)}{draw(GAPS)}"


def put_or_none(text, path, value, **how):
    """Put a value in; None if the document has no place for it."""
    try:
        return put(text, path, value, **how)
    except Unreadable:
        return None


def plainly_put(value, path, new, *, each):
    """Do to a parsed document what ``put`` does to its text."""
    for name in path[:-1]:
        value = value.setdefault(name, {})
    if each:
        value.setdefault(path[-1], []).append(new)
    else:
        value[path[-1]] = new


@given(documents(), st.lists(NAMES, min_size=1, max_size=3), st.booleans())
def test_what_is_put_in_is_there_and_can_be_taken_out(text, path, each):
    """The document says what a plain edit would make it say; taking out gives the bytes back."""
    before = load(text).value
    made = put_or_none(text, path, GROUP, each=each)
    if made is None:
        return
    wanted = json.loads(json.dumps(before))
    plainly_put(wanted, path, GROUP, each=each)
    assert load(made).value == wanted
    back, place = take(made, path, is_ours if each else None), list(path)
    while place and back != text:  # containers that were made for it
        back = take(back, place)
        place.pop()
    assert back == text


@given(documents(), st.data())
def test_several_are_taken_out_in_any_order(text, data):
    """Whatever order entries are put in and taken out, the bytes come back."""
    places = data.draw(st.permutations([("hooks", "Stop"), ("hooks", "Start"), ("mcp", "memento")]))
    known, made = load(text).value, text
    done = []
    for path in places:
        each = path[0] == "hooks"
        if (new := put_or_none(made, path, GROUP, each=each)) is not None:
            made = new
            done.append(path)
    for path in data.draw(st.permutations(done)):
        made = take(made, path, is_ours if path[0] == "hooks" else None)
    for path in sorted({p[:n] for p in done for n in (1, 2)}, key=len, reverse=True):
        inner = known
        for name in path:
            inner = inner.get(name) if isinstance(inner, dict) else None
        if inner is None:
            made = take(made, path)
    assert made == text


@given(documents(), NAMES, SCALARS)
def test_what_others_add_beside_it_stays(text, name, value):
    """An entry added behind ours is still there when ours is gone, and so are all the others."""
    made = put_or_none(text, ["hooks", "Stop"], GROUP, each=True)
    if made is None or name in load(text).value or name == "hooks":
        return
    made = put(put(made, [name], value), ["hooks", "Stop"], value, each=True)
    left = load(take(made, ["hooks", "Stop"], is_ours)).value
    wanted = load(text).value
    plainly_put(wanted, ["hooks", "Stop"], value, each=True)
    assert left == wanted | {name: value}


@pytest.mark.parametrize(
    "text",
    ['{"a": }', '{"a" 1}', "{a: 1}", '{"a": 1} {}', '{"a": 1', "[1 2]", "[" * 5000, '{"a": é}'],
)
def test_what_is_no_json_is_refused(text):
    """The refusal is typed, and a line is named."""
    with pytest.raises(Unreadable):
        put(text, ["hooks"], 1)


def test_a_control_a_rewritten_file_loses_its_comments():
    """What this module is for: writing the value anew keeps no byte of a comment."""
    text = '{\n  // mine\n  "a": 1,\n}\n'
    anew = json.dumps({**load(text).value, "hooks": {}}, indent=2)
    assert "// mine" in put(text, ["hooks"], {})
    assert "// mine" not in anew


TABLE = {"command": "/usr/bin/memento", "args": ["mcp"]}
PATH = ("mcp_servers", "memento")
TOMLS = st.lists(
    st.sampled_from([
        'model = "o1"\n', "# a note\n", "\n", "[mcp_servers.other]\ncommand = 'x' # why\n",
        "[projects.'/x']\ntrust = true\n", "[[list]]\na = 1\n", "[tui]\r\n",
        '[s]\nt = """\n[x]\n"""\n',
    ]),
    unique=True,
    max_size=6,
).map("".join)  # fmt: skip


@given(TOMLS, st.sampled_from(["", "x = 1", "\n\n", "# end"]))
def test_a_table_is_put_in_and_taken_out(text, end):
    """A table of TOML stands at the end; taking it out gives the bytes back."""
    text += end
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    made = put_table(text, PATH, TABLE)
    before.setdefault("mcp_servers", {})["memento"] = TABLE
    assert tomllib.loads(made) == before
    assert take_table(made, PATH) == text


@given(TOMLS, st.sampled_from(["[other]\na = 1\n", "\n# next\n[other]\n", "\n"]))
def test_what_follows_a_table_stays(text, more):
    """Tables that the agent writes behind ours, and their comments, stay to the byte."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    inside = "[mcp_servers.memento.tools.recall]\napproval_mode = 'approve'\n"
    left = take_table(put_table(text, PATH, TABLE) + inside + more, PATH)
    assert left.startswith(text)
    assert left.endswith(more)
    assert "memento" not in left


def test_what_is_no_table_on_the_way_is_left_alone():
    """No table of ours can be in it, and none can be put there."""
    text = 'mcp_servers = "x"\n'
    assert take_table(text, PATH) == text
    with pytest.raises(Unreadable, match="mcp_servers is not a table"):
        put_table(text, PATH, TABLE)


def test_a_table_within_a_string_is_no_table():
    """What looks like our table in a text of several lines is left, and so is the file."""
    text = 'a = """\n[mcp_servers.memento]\n"""\n'
    assert take_table(text, PATH) == text
    with pytest.raises(Unreadable):
        take_table(text + "mcp_servers = {memento = {command = 'x'}}\n", PATH)
