"""Secrets are removed before storage: by format, on every way in, and nothing else changes."""

from __future__ import annotations

import io
import itertools
import json
import os
import random
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from secret_prose import HELD, HOLD_NONE
from secret_samples import MAKERS, keys, leaks, sentences

from memento import Config, Draft, MemoryManager, Source
from memento.admit.redact import _secrets_in, redact, redact_value
from memento.admit.secret_validators import crc_base62
from memento.admit.secrets import FORMATS, KINDS
from memento.base.display import data
from memento.cli import main
from memento.errors import InvalidInput, SecretFound

TOKEN = "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"  # noqa: S105 - an example in GitHub's own documentation
GONE = "[redacted:github-token]"


def test_every_kind_has_samples():
    """Each kind that a marker can name is measured; there are at least 40."""
    assert set(MAKERS) == set(KINDS)
    assert len(KINDS) >= 40


def test_each_kind_is_caught_under_its_own_name():
    """Of every kind most keys are caught, and the marker says what stood there."""
    named = Counter()
    for kind, _, text in keys(random.Random(5), 20):
        found: Counter[str] = Counter()
        redact(text, found)
        named[kind] += kind in found
    assert {kind: n for kind, n in named.items() if n < 18} == {}


def test_a_wrong_checksum_is_no_excuse():
    """A token with one character mistyped gives away the rest; what stands for one stays."""
    assert crc_base62(TOKEN[4:34]) == TOKEN[34:]
    assert redact(TOKEN[:-1] + "8", Counter()) == GONE
    assert redact(f"npm_{TOKEN[4:-1]}8", Counter()) == "[redacted:npm-token]"
    shown = f"ghp_{'x' * 36} key{TOKEN[:-1]}8"
    assert redact(shown, Counter()) == shown


@settings(max_examples=150, deadline=None)
@given(st.text())
def test_any_text_is_taken(text):
    """No characters raise an exception, and a second time changes nothing."""
    once = redact(text, Counter())
    assert redact(once, Counter()) == once


def test_what_was_redacted_stays_as_it_is():
    """Markers are not taken for secrets, whatever stands around them."""
    for _, _, text in keys(random.Random(3), 10):
        once = redact(text, Counter())
        again: Counter[str] = Counter()
        assert (redact(once, again), again) == (once, Counter())


def test_ordinary_sentences_keep_their_identity():
    """A text without a secret is handed back itself, not a copy."""
    text = sentences(random.Random(1), 10)[0]
    assert redact(text, Counter()) is text


def test_only_the_secret_goes():
    """The text around a secret stays, and each secret is counted."""
    found: Counter[str] = Counter()
    text = f"use {TOKEN}, not {TOKEN}; db is postgres://ada:Xy12zz9@h/db"
    assert redact(text, found) == (
        f"use {GONE}, not {GONE}; db is postgres://ada:[redacted:url-password]@h/db"
    )
    assert found == {"github-token": 2, "url-password": 1}


ESCAPED = (
    "\\n",
    "\\t",
    "\\x1b[0m",
    "\\u0022",
    "%3D",
    "%0a",
    "\x1b[32m",
    "\x1b[m\x1b[K",
    "_",
    "GITHUB_",
    "[1;31m",
)
SAMPLES = {
    "aws": "AKIAQYLPMN5HHHFPZAM2",
    "github": TOKEN,
    "anthropic": f"sk-ant-api03-{'aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF' * 2}",
    "slack": "xoxb-123456789012-123456789012-AbCdEfGhIjKlMnOpQrStUvWx",
    "stripe": "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_X",
    "url": "postgres://ada:Xy12zz9@db.example.com/shop",
    "set": "password=tr0ub4dor-3",
    "said": "password is tr0ub4dor-3",
}


@pytest.mark.parametrize("before", ESCAPED)
@pytest.mark.parametrize("name", SAMPLES)
def test_what_stands_before_a_key_does_not_hide_it(name, before):
    """Escapes of JSON, Python, addresses and terminals end in letters, yet part it from words."""
    found: Counter[str] = Counter()
    kept = redact(f"see x{before}{SAMPLES[name]} there", found)
    assert found.total() == 1, kept
    assert kept.startswith(f"see x{before}")
    secret = {"url": "Xy12zz9", "set": "tr0ub4dor-3", "said": "tr0ub4dor-3"}.get(
        name, SAMPLES[name]
    )
    assert secret not in kept
    assert not leaks(secret, kept)


def test_a_checksum_is_proof_enough():
    """A token with one needs nothing before it; what only has a prefix is part of a word then."""
    assert redact(f"key{TOKEN}", Counter()) == f"key{GONE}"
    word = f"taskAKIA{'QYLPMN5H' * 2}"
    assert redact(word, Counter()) == word


def test_metadata_is_looked_through():
    """Strings at any depth, and those whose name says what they are; other values stay."""
    found: Counter[str] = Counter()
    given_ = {"a": [{"b": TOKEN}], "password": "tr0ub4dor&3", "n": 5, "t": None, "token": "abc"}
    assert redact_value(given_, found) == {
        "a": [{"b": GONE}], "password": "[redacted:password]", "n": 5, "t": None, "token": "abc",
    }  # fmt: skip
    assert found == {"github-token": 1, "password": 1}


FIELDS = {
    "text": f"it is {TOKEN}",
    "aliases": [TOKEN],
    "tags": ["ops", TOKEN],
    "metadata": {"deep": {"er": [TOKEN]}},
    "source": Source(uri=f"https://x:{TOKEN}@example.com"),
    "source.model": Source("agent", model=f"gpt {TOKEN}"),
    "actor": TOKEN,
    "role": f"bot {TOKEN}",
}


def with_secret(field, text):
    """Make a draft that holds a secret in one field."""
    return {"text": text, field.partition(".")[0]: FIELDS[field]}


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_is_redacted(memory, field):
    """Text, names, metadata, who spoke, and address and model of the source lose their secrets."""
    draft = with_secret(field, f"a note on {field}")
    for kept in (memory.add(**draft), *memory.add_many([draft | {"session": "s"}])):
        assert TOKEN not in repr(memory.get(kept.id).to_dict())
        assert "[redacted:" in repr(memory.get(kept.id).to_dict())
    assert TOKEN not in memory.prompt("a note")
    assert sum(memory.store.stats().redacted.values()) == 2


@pytest.mark.parametrize("policy", ["redact", "reject"])
def test_a_slot_with_a_secret_in_its_name_is_refused(tmp_path, policy):
    """Redacted, two of them were one, and the second memory superseded the first."""
    with MemoryManager(tmp_path, embedder=None, config=Config(secrets=policy)) as memory:
        for last in "23":
            with pytest.raises(SecretFound, match=r"key: .*choose a key") as refused:
                memory.add("an owner", key=f"aws/AKIAQYLPMN5HHHFPZAM{last}")
            assert refused.value.kinds == {"aws-access-key-id": 1}
            assert "PZAM" not in str(refused.value)
        with pytest.raises(SecretFound, match=r"items\[1\]\.key"):
            memory.add_many(["fine", {"text": "an owner", "key": TOKEN}])
        assert memory.list() == []


def test_an_import_goes_through_the_same_door(tmp_path, memory):
    """The actor is also redacted; a memory whose key holds a secret is stored without a key."""
    config = Config(secrets="allow")
    with MemoryManager(tmp_path / "theirs", embedder=None, config=config) as theirs:
        theirs.add("a", actor=TOKEN, role=TOKEN, source=Source("agent", model=TOKEN))
        for last in "23":
            theirs.add(f"owner {last}", key=f"aws/AKIAQYLPMN5HHHFPZAM{last}")
        theirs.store.export(stream := io.StringIO())
    memory.store.import_from(io.StringIO(stream.getvalue()), trust="agent")
    kept = memory.list()
    assert [one.text for one in kept] == ["a", "owner 2", "owner 3"]
    assert "PZAM" not in repr(data(kept))
    assert TOKEN not in repr(data(kept))
    assert [one.key for one in kept] == [None] * 3


@pytest.mark.parametrize(
    "change",
    [
        {"text": TOKEN},
        {"tags": [TOKEN]},
        {"metadata": {"x": TOKEN}},
        {"add_aliases": [TOKEN]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_an_update_is_redacted(memory, change):
    """A secret does not get in by an update of a clean memory."""
    kept = memory.update(memory.add("a note").id, **change)
    assert TOKEN not in repr(data(kept))
    assert GONE in repr(data(kept))
    assert memory.store.stats().redacted == {"github-token": 1}


def test_a_replacement_is_redacted(memory):
    """Replacing a memory is redacted and counted like an addition."""
    memory.add("a note", id="n1")
    (kept,) = memory.add_many([{"text": TOKEN, "id": "n1"}], replace=True)
    assert (kept.text, memory.store.stats().redacted) == (GONE, {"github-token": 1})


def test_the_marker_is_found_by_what_it_says(memory):
    """The text stays findable: that there was a token, not which."""
    memory.add(f"our deploy uses {TOKEN}", "long")
    assert memory.retrieve("github token deploy")[0].text == f"our deploy uses {GONE}"


def test_what_was_taken_out_is_counted_once(memory):
    """A retry with the same id writes nothing, and counts nothing."""
    for _ in range(3):
        memory.add(TOKEN, id="mine")
    assert memory.store.stats().redacted == {"github-token": 1}
    assert memory.of("other").store.stats().redacted == {}


@pytest.mark.parametrize("field", FIELDS)
def test_secrets_can_be_refused(tmp_path, field):
    """With ``reject`` the error names field and kind, never the secret, and nothing is written."""
    with MemoryManager(tmp_path, embedder=None, config=Config(secrets="reject")) as memory:
        draft = with_secret(field, "a note")
        with pytest.raises(SecretFound) as refused:
            memory.add(**draft)
        assert refused.value.field.startswith(field)
        assert set(refused.value.kinds) <= {"github-token", "url-password"}
        assert TOKEN not in str(refused.value)
        with pytest.raises(InvalidInput, match=r"items\[1\]") as nested:
            memory.add_many(["fine", draft])
        assert nested.value.kinds == refused.value.kinds
        assert memory.list() == []


def test_secrets_can_be_allowed(tmp_path):
    """With ``allow`` every byte stays: the choice of a user who has a vault."""
    with MemoryManager(tmp_path, embedder=None, config=Config(secrets="allow")) as memory:
        kept = memory.add(f"it is {TOKEN}", metadata={"k": TOKEN}, tags=[TOKEN])
        assert (kept.text, kept.metadata, kept.tags) == (f"it is {TOKEN}", {"k": TOKEN}, (TOKEN,))
        assert memory.store.stats().redacted == {}


def test_the_command_line_redacts(tmp_path, capsys):
    """``memento add`` and ``memento ingest`` are redacted in the same way."""
    root = tmp_path / "store"
    notes = tmp_path / "notes.md"
    notes.write_text(f"# Deploy\n\nThe token is {TOKEN}.\n")
    where = ["--root", str(root), "--embedder", "none"]
    assert main(["add", f"keep {TOKEN}", *where]) == 0
    assert main(["ingest", str(notes), *where]) == 0
    assert main(["list", "--json", *where]) == 0
    assert TOKEN not in capsys.readouterr().out
    assert not any(TOKEN.encode() in path.read_bytes() for path in root.rglob("*.db*"))


def test_no_draft_of_an_adapter_goes_round_the_door(memory):
    """A ``Draft`` made by hand is no way round, either."""
    (kept,) = memory.add_many([Draft(text=TOKEN, tags=(TOKEN,))])
    assert (kept.text, kept.tags) == (GONE, (GONE,))


def test_leaks_sees_a_part():
    """The measure itself: a third of a secret counts as given away, a marker does not."""
    assert leaks("0123456789abcdefghijklmnop", "… 456789abcdef …")
    assert not leaks("0123456789abcdefghijklmnop", "[redacted:x] 01234")


def _steps(text):
    """Count the instructions of Python that redacting a text takes."""
    steps, before = 0, sys.gettrace()  # what measures the coverage of the tests goes on after it
    redact(text, Counter())  # compiles the patterns, which is not counted

    def trace(frame, event, _argument):
        nonlocal steps
        if event == "call":
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        steps += event == "opcode"
        return trace

    sys.settrace(trace)
    try:
        redact(text, Counter())
    finally:
        sys.settrace(before)
    return steps


def test_many_secrets_cost_no_more_each_than_few():
    """Four times as many keys of two formats take four times the steps, not sixteen times."""

    def crowded(count):
        keys_ = "".join(f"AKIA{'QYLPMN5HHHFPZAM2'} " for _ in range(count))
        return keys_ + "".join(f"PWD=tr0ub4dor-{at:06} " for at in range(count))

    few, many = _steps(crowded(200)), _steps(crowded(800))
    assert few > 200
    assert many < 4.5 * few


def test_line_ends_cost_nothing_where_no_key_begins():
    """However many formats are suspected, a line takes no more steps than a word."""
    anchors = " ".join(f"{anchor}{'x' * 16}" for one in FORMATS for anchor in one.anchors)
    lines, words = (_steps(anchors + f"{gap}aB3d" * 2_000) for gap in "\n ")
    assert lines < 2 * words
    assert words > 1_000


def test_anchors_at_the_end_of_lines_cost_what_they_are_many():
    """Four times the lines take four times the steps, a few for each line and format."""
    few, many = _steps("ghp_aB3dE6gH9jK2\n" * 200), _steps("ghp_aB3dE6gH9jK2\n" * 800)
    assert many < 4.5 * few
    assert many < 800 * 300


@pytest.mark.parametrize("verb", ["add", "update", "replace", "import"])
def test_secrets_are_looked_for_before_the_writer_is_taken(memory, tmp_path, monkeypatch, verb):
    """However much there is to look through, nobody else's write waits for it."""
    memory.add("a note", id="n")
    with MemoryManager(tmp_path / "theirs", embedder=None) as theirs:
        theirs.add("theirs")
        theirs.store.export(stream := io.StringIO())
    looked, writing = [], memory._engine.ledger._writer()._connection

    def look(text):
        looked.append(writing.in_transaction)
        return _secrets_in(text)

    monkeypatch.setattr("memento.admit.redact._secrets_in", look)
    verbs = {
        "add": lambda: memory.add("another", metadata={"said": TOKEN}),
        "update": lambda: memory.update("n", text=TOKEN, metadata={"a": TOKEN}, add_aliases=["b"]),
        "replace": lambda: memory.add(TOKEN, id="n", replace=True),
        "import": lambda: memory.store.import_from(io.StringIO(stream.getvalue())),
    }
    verbs[verb]()
    assert looked
    assert not any(looked)


@pytest.mark.parametrize("name", ["aws", "github", "anthropic", "slack", "stripe", "jwt"])
@pytest.mark.parametrize("hidden", ["\u200b", "\u00ad", "\ufeff"])
def test_a_character_nobody_sees_does_not_hide_a_key(name, hidden):
    """Copied from a web page, a key may have one inside, or beside it; all of it goes."""
    key = SAMPLES[name]
    for text in (f"{key[:9]}{hidden}{key[9:]}", f"{hidden.join(key)}", f"key{hidden}{key}{hidden}"):
        kept = redact(f"use {text} für alles", Counter())
        assert key.replace(hidden, "")[9:] not in kept.replace(hidden, "")
        assert "[redacted:" in kept
        assert kept.startswith("use ")
        assert kept.endswith(" für alles")


@pytest.mark.parametrize("broken", ["\n", "\r\n", "\\\n", "\n> ", "\n    "])
def test_a_line_break_does_not_hide_a_key_of_fixed_length(broken):
    """Where a key ends is known by its length, so what stands on the next line stays."""
    for at in (20, 30, 39):
        text = f"see {TOKEN[:at]}{broken}{TOKEN[at:]} and the rest\nof the mail"
        assert redact(text, Counter()) == f"see {GONE} and the rest\nof the mail"
        text = f"see {TOKEN[:at]}{broken}{TOKEN[at:]}\nnext line"
        assert redact(text, Counter()) == f"see {GONE}\nnext line"
    whole = f"{TOKEN}\nnext0line1of2the3mail"
    assert redact(whole, Counter()) == f"{GONE}\nnext0line1of2the3mail"


ORDINARY = (
    "Basic configuration of the server; HTTP Basic authentication uses user:password.",
    "Authorization: Basic dXNlcjpwYXNzd29yZA==",
    "run it with --password PASSWORD or --password-file FILE, --passphrase $PASS",
    "docker run -u 1000:1000 image; curl -u user:password https://x; curl -u $USER:$PASS x",
    "the api key is required, the access token is documented in configuration_reference_v2",
    "EAAA stands for nothing; sb_secret_ is a prefix, glc_ too, xoxd- and xoxc- as well",
    "see ghr_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "Persisch \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 und \U0001f468\u200d\U0001f469",
)


@pytest.mark.parametrize("text", ORDINARY)
def test_what_only_talks_of_keys_stays(text):
    """Manuals, placeholders, variables, and joiners that belong to a script."""
    assert redact(text, Counter()) is text


def test_names_of_metadata_fields_are_redacted(memory):
    """No secret is kept as the name of a field; two that become equal are both kept."""
    other = f"{TOKEN[:-1]}8"
    kept = memory.add("a note", metadata={"env": {f"A_{TOKEN}": 1, f"A_{other}": 2, "plain": 3}})
    assert kept.metadata == {"env": {f"A_{GONE}": 1, f"A_{GONE} 2": 2, "plain": 3}}
    assert memory.store.stats().redacted == {"github-token": 2}


def test_sentences_about_passwords_and_keys_stay():
    """Of 100 sentences, lines of code and logs that speak of secrets, at most one is changed."""
    assert len(HOLD_NONE) >= 100
    changed = [text for text in HOLD_NONE if redact(text, Counter()) != text]
    assert changed[1:] == []


def test_secrets_in_sentences_are_caught():
    """Of 60 sentences that hold one, as people write them, nine of ten lose it."""
    assert len(HELD) >= 60
    stayed = [text for text, secret in HELD if secret in redact(text, Counter())]
    assert len(stayed) <= 5, stayed


@pytest.mark.parametrize("token", ["abcDEFghiJKLmnoPQRstuVWXyz", "kqzvbnwxjrtplmhgfdsc2"])
def test_a_bearer_token_needs_no_digits(token):
    """The word after ``Authorization: Bearer`` is a token, unless it is a placeholder."""
    for name in ("Authorization", '"authorization"', "AUTHORIZATION"):
        text = f"{name}: Bearer {token}"
        assert redact(text, Counter()) == f"{name}: Bearer [redacted:authorization-header]"
    for shown in (
        "your-access-token-goes-here",
        "YOUR_ACCESS_TOKEN_HERE",
        "$ACCESS_TOKEN_OF_THE_APP",
    ):
        text = f"Authorization: Bearer {shown}"
        assert redact(text, Counter()) is text


def test_a_supabase_key_needs_no_digits():
    """Its last mark is in a fixed place, so that names of code are not taken for one."""
    key = "sb_secret_NqUNDhUgjKTVKaUodkmzHg_xSvEMPvz"
    assert redact(f"use {key}", Counter()) == "use [redacted:supabase-key]"
    name = "sb_secret_key_of_the_staging_environment"
    assert redact(name, Counter()) is name


def test_a_square_key_may_be_broken_over_lines():
    """All of them are equally long, as those of the sandbox are."""
    key = f"EAAA{'lm3Kq9ZrT5' * 6}"
    assert redact(f"x {key[:30]}\n{key[30:]} y", Counter()) == "x [redacted:square-token] y"
    short = "sandbox-sq0atb-KVmmWPaCesnJkFsvje76sQ"
    assert redact(short, Counter()) == "sandbox-[redacted:square-token]"


LETTERS_ALONE = (
    "fPhofSYrsiQcntKVUBmIQzTCf",
    "t7ReEvEuAlvZOnEPjmWD-UNkbv4JynfA-4",
    "muAXnVarLfZuAcmuJGEzt3lTkd",
)
NAMES_OF_CODE = (
    "private_key = Ed25519PrivateKey.from_private_bytes(data)",
    "access_token = currentRequestContextAccessToken",
    "api_key=SettingsOfTheTeam.DefaultApiKeyProvider",
    "client_secret: KubernetesSecretReference-OfStaging",
    "auth_token = parseXMLHTTPRequestHeader",
    'username, password = base64_decoded.split(":", 1)',
    "url = db_url.render_as_string(hide_password=False)}",
    "new URL('https://abc:xyz@example.com') and new URL('https://abc:123@example.com/')",
)


@pytest.mark.parametrize("key", LETTERS_ALONE)
@pytest.mark.parametrize("lead", ["api_key = ", 'client_secret: "', "the api key is ", "Bearer "])
def test_a_key_is_told_from_a_name_by_its_letters(key, lead):
    """Of keys drawn at random, one in fifty has hardly a digit: the pairs of its letters tell."""
    assert key not in redact(f"{lead}{key}", Counter())


@pytest.mark.parametrize("text", NAMES_OF_CODE)
def test_names_of_code_are_not_keys(text):
    """Names of any case, calls, arguments and the three letters of a manual stay."""
    assert redact(text, Counter()) is text


@pytest.mark.parametrize(
    "key",
    [f"sb_secret_{'q7Zk' * 5}Lm_x8Kd2PqT", f"EAAA{'lm3Kq9ZrT5' * 6}"],
    ids=lambda key: key[:4],
)
def test_a_mark_of_emphasis_hides_no_key(key):
    """Between underscores, as Markdown has it; a longer name is not taken for a key."""
    assert key not in redact(f"use _{key}_, please", Counter())
    assert redact(f"{key}_and_more", Counter()) == f"{key}_and_more"


LOOK = """
import json, sys
from collections import Counter
from memento.admit.redact import redact
for value in json.load(sys.stdin):
    redact(f"api_key={value} Bearer {value} password={value} the api key is {value}", Counter())
"""


def test_many_words_in_a_value_are_looked_at_once():
    """No value takes a time that doubles with each of its words; here are up to 170 of them."""
    words, marks = (
        ("abcdefghijklmnopqrstuvwxyz", "a1b", "12", "Ab", "aB3dE6"),
        ("_", "-", ".", "/", ""),
    )
    ends = ("1_2x_9=", "~", ".12+")
    values = [
        (word + mark) * (500 // len(word + mark)) + end
        for word, mark, end in itertools.product(words, marks, ends)
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", LOOK]
    subprocess.run(  # a child: an expression that goes astray cannot be interrupted
        command, input=json.dumps(values), text=True, env=environment, timeout=60, check=True
    )
