"""Settings from files and the environment: who wins, what is refused, and what a store may say."""

from __future__ import annotations

import json
import os
import tomllib
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento import Config, MemoryManager
from memento.cli import main
from memento.config import ShortConfig
from memento.errors import InvalidInput, InvalidSetting
from memento.settings import ELSEWHERE, OF_A_STORE, PRESET, known, load, user_file, variables


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An environment with a home folder of its own, in which the user's file is to be."""
    environ = {"HOME": str(tmp_path / "home")}
    monkeypatch.setenv("HOME", environ["HOME"])
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    user_file(environ).parent.mkdir(parents=True)
    return environ


def put(path: Path, text: str) -> Path:
    """Write a file and its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def source_of(found, name):
    """Tell where a setting comes from."""
    return next(one.source for one in found.each if one.name == name)


def test_there_are_few_settings():
    """What nobody has a reason to turn is a constant beside its code."""
    assert len(known()) <= 70


def test_without_files_the_defaults_hold(home):
    """And each says so."""
    found = load("nowhere", home)
    assert found.config == Config()
    assert {one.source for one in found.each} == {"default"}


def test_the_nearer_one_wins(home, tmp_path):
    """The environment over the store's file, that over the user's, that over the default."""
    users = put(user_file(home), "short.capacity = 10\nretrieve.few = 7\nretrieve.many = 8\n")
    stores = put(tmp_path / "store/memento.toml", "[short]\ncapacity = 20\n[retrieve]\nfew = 9\n")
    found = load(tmp_path / "store", home | {"MEMENTO_SHORT_CAPACITY": "30"})
    config = found.config
    assert (config.short.capacity, config.retrieve.few, config.retrieve.many) == (30, 9, 8)
    assert source_of(found, "short.capacity") == "environment (MEMENTO_SHORT_CAPACITY)"
    assert source_of(found, "retrieve.few") == str(stores)
    assert source_of(found, "retrieve.many") == str(users)
    assert source_of(found, "secrets") == "default"


def test_a_preset_is_the_base_of_the_rest_whoever_names_it(home, tmp_path):
    """A setting on its own counts more, also one that was read before."""
    put(user_file(home), "dynamics.half_life = 90\n")
    path = put(tmp_path / "store/memento.toml", 'preset = "task agent"\n')
    found = load(tmp_path / "store", home)
    preset = Config.task_agent()
    assert found.config == replace(preset, dynamics=replace(preset.dynamics, half_life=90))
    assert source_of(found, "dynamics.pace") == f"preset 'task agent', {path}"
    assert source_of(found, "dynamics.half_life") == str(user_file(home))


@pytest.mark.parametrize("door", ["python", "shell"])
def test_every_door_reads_them(home, tmp_path, monkeypatch, capsys, door):
    """A manager without settings of its own has those that ``memento config`` shows."""
    put(user_file(home), 'secrets = "reject"\n')
    put(tmp_path / "store/memento.toml", "short.capacity = 20\n")
    monkeypatch.setenv("MEMENTO_TIMEZONE", "Asia/Tokyo")
    if door == "python":
        with MemoryManager(tmp_path / "store", embedder=None) as memory:
            config = memory.store.config
            told = config.secrets, config.short.capacity, config.timezone
    else:
        assert main(["config", "--root", str(tmp_path / "store"), "--json"]) == 0
        found = {
            one["name"]: one["value"] for one in json.loads(capsys.readouterr().out)["settings"]
        }
        told = found["secrets"], found["short.capacity"], found["timezone"]
    assert told == ("reject", 20, "Asia/Tokyo")


@pytest.mark.usefixtures("home")
def test_a_store_with_its_file_is_a_store(tmp_path):
    """The file may be there before the store, and nothing takes it for another program's."""
    put(tmp_path / "store/memento.toml", "short.capacity = 20\n")
    with MemoryManager(tmp_path / "store", embedder=None) as memory:
        one = memory.add("Rami is allergic to nuts")
        assert memory.store.erase(one.id).untouched == ()


def test_what_is_given_in_python_is_all_that_holds(home, tmp_path):
    """No file changes a ``Config`` behind the caller's back."""
    put(user_file(home), 'secrets = "reject"\n')
    put(tmp_path / "store/memento.toml", "short.capacity = 20\n")
    own = Config(short=ShortConfig(capacity=5))
    with MemoryManager(tmp_path / "store", embedder=None, config=own) as memory:
        assert memory.store.config == own


# --- what a store's file may not say

DANGERS = {
    "untrusted": "[]", "secrets": '"allow"', "llm.model": '"openai:gpt-5-mini"',
    "observe.mode": '"full"', "observe.forget": '"ask"', "scopes.shared": "true",
    "scopes.write_at": "0.0", "allow_network": "true", "sleep.archive_share": "1.0",
    "sleep.most_active": "1", "sleep.auto": '"all"', "conflicts.pairs": "0",
    "dynamics.agent": "1.0", "retrieve.prompt_confidence": "0.0", "effect.bound": "10.0",
    "limits.text_chars": "1000000000", "retrieve.kept_mb": "1000000000", "timezone": '"UTC"',
    "sessions.checkpoints": "1", "articles.writer": '"extractive"',
}  # fmt: skip


@pytest.mark.parametrize("name", DANGERS)
def test_a_store_cannot_weaken_what_protects_its_user(home, tmp_path, name):
    """It may come from anybody; the error names the file, the setting, and where it belongs."""
    path = put(tmp_path / "store/memento.toml", f"{name} = {DANGERS[name]}\n")
    with pytest.raises(InvalidSetting, match="cannot be set in the file of a store") as refused:
        MemoryManager(tmp_path / "store", embedder=None)
    assert (refused.value.source, refused.value.field) == (str(path), name)
    assert str(user_file(home)) in str(refused.value)
    assert not (tmp_path / "store/ledger.db").exists()
    put(user_file(home), path.read_text())
    load(environ=home)  # the user may


@pytest.mark.parametrize("name", sorted(known()))
def test_a_setting_is_the_users_unless_it_is_listed(home, tmp_path, name):
    """A new setting is refused in a store's file until somebody decides otherwise."""
    path = put(tmp_path / "store/memento.toml", f"{name} = 1979-05-27\n")
    with pytest.raises(InvalidSetting) as refused:
        load(tmp_path / "store", home)
    assert refused.value.source == str(path)
    assert ("cannot be set" in str(refused.value)) == (name not in OF_A_STORE)


def test_the_list_names_settings_that_there_are():
    """None of them is misspelt, and all of them concern what processes of a store share."""
    assert known() > OF_A_STORE
    roots = {name.partition(".")[0] for name in OF_A_STORE}
    assert not roots & {"llm", "observe", "scopes", "untrusted", "secrets", "sleep", "limits"}


# --- errors


@pytest.mark.parametrize(
    ("text", "field", "problem"),
    [
        ("capacity = 3", "capacity", "did you mean"),
        ("[short]\ncapacty = 3", "short.capacty", "did you mean: short.capacity"),
        ("[shrt]\ncapacity = 3", "shrt.capacity", "did you mean: short.capacity"),
        ("short = 3", "short", "is not a memento setting"),
        ("zzz = 3", "zzz", "known settings: allow_network, "),
        (
            '"sh\\u001b[31m\\nort" = 3',
            "sh\N{REPLACEMENT CHARACTER}[31m ort",
            "is not a memento setting",
        ),
        ("a." * 2_000 + "a = 3", "", "is not TOML"),
        ("dynamics.stability." + "a." * 2_000 + "a = 3", "dynamics.stability", "'a' is not one"),
        ("long_index." + "a." * 2_000 + "a = 3", "long_index", "this dict is not one of"),
        ("short.capacity = 0", "short.capacity", "from 1"),
        ("short.capacity = 1.5", "short.capacity", "whole number"),
        ("short.capacity = true", "short.capacity", "whole number"),
        ("short.capacity = '7'", "short.capacity", "whole number"),
        ("retrieve.noise = nan", "retrieve.noise", "number"),
        ("untrusted = 'web'", "untrusted", "tuple"),
        ("untrusted = [['web']]", "untrusted", "not one of"),
        ("sleep.perishable = [{a = 1}]", "sleep.perishable", "not one of"),
        ("dynamics.stability = {fax = 3}", "dynamics.stability", "not one of"),
        ("preset = 'robot'", "preset", "not one of"),
        ("preset = 3", "preset", "not one of"),
        ("timezone = 'JST+9'", "timezone", ""),
        ("conflicts.judge = 'x'", "conflicts.judge", "is not a memento setting"),
        ("short.capacity = \n", "", "line 1"),
        ("a = 1\na = 2\n", "", "line 2"),
        ("# " + "x" * 70_000, "", "larger than"),
        ("a = " + "[" * 5_000, "", "TOML"),
    ],
)
def test_an_error_names_the_file_and_the_setting(home, text, field, problem):
    """And says which values there are, or which setting may have been meant."""
    path = put(user_file(home), text)
    with pytest.raises(InvalidSetting) as refused:
        load(environ=home)
    assert (refused.value.source, refused.value.field) == (str(path), field)
    assert str(refused.value).startswith(f"{path}: {field}")
    assert problem in str(refused.value)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a = '\xe9'", b"\0"])
def test_a_file_that_is_no_text_is_refused(home, data):
    """By its name."""
    path = user_file(home)
    path.write_bytes(data)
    with pytest.raises(InvalidSetting, match="is not TOML"):
        load(environ=home)


def test_a_file_that_cannot_be_read_is_not_passed_over(home, tmp_path):
    """It may say what protects its user; a pipe is not waited for."""
    os.mkfifo(tmp_path / "home/pipe")
    user_file(home).symlink_to(tmp_path / "home/pipe")
    with pytest.raises(InvalidSetting, match="cannot be read"):
        load(environ=home)


def test_a_mark_at_the_beginning_is_read_over(home):
    """Some editors write one."""
    user_file(home).write_bytes(b"\xef\xbb\xbfshort.capacity = 4\n")
    assert load(environ=home).config.short.capacity == 4


SCALARS = (
    st.booleans() | st.integers(-(10**25), 10**25) | st.floats() | st.text(max_size=5) | st.dates()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)


@given(st.sampled_from(sorted(known() - {PRESET})), VALUES)
def test_any_value_makes_settings_or_a_typed_error(name, value):
    """Whatever a file says, nothing else is raised."""
    import memento.settings as reading  # noqa: PLC0415

    with suppress(InvalidInput):
        reading._changed(Config(), {name: reading._from_toml(name, value)})


# --- the environment


def test_every_setting_but_the_tables_has_a_variable():
    """Its name is that of the setting, and no two are alike."""
    assert len(set(variables().values())) == len(variables())
    assert not {*variables()} & ELSEWHERE
    assert known() - set(variables().values()) == {"dynamics.stability"}


@pytest.mark.parametrize("name", sorted(set(variables().values()) - {PRESET, "llm.model"}))
def test_a_variable_says_what_a_file_says(name):
    """The default, spelt as text, is read as the default, with its type."""
    (setting,) = [one for one in load(environ={}).each if one.name == name]
    value = setting.value
    text = (
        "" if value is None
        else ",".join(value) if isinstance(value, tuple)
        else str(int(value)) if isinstance(value, bool)
        else str(value)
    )  # fmt: skip
    variable = next(one for one, place in variables().items() if place == name)
    found = load(environ={variable: text})
    assert found.config == Config()
    assert source_of(found, name) == f"environment ({variable})"


def test_nothing_stands_for_no_model():
    """As an empty text does in a file."""
    assert load(environ={"MEMENTO_LLM_MODEL": ""}).config.llm.model is None


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("MEMENTO_CAPACITY", "5"),
        ("MEMENTO_", "5"),
        ("MEMENTO_SHORT_CAPACITY", "many"),
        ("MEMENTO_SHORT_CAPACITY", "0"),
        ("MEMENTO_SHORT_CAPACITY", "1.5"),
        ("MEMENTO_SHORT_SNAPSHOT_SECONDS", "soon"),
        ("MEMENTO_SHORT_SNAPSHOT_SECONDS", "nan"),
        ("MEMENTO_SHORT_SNAPSHOT_SECONDS", "-1"),
        ("MEMENTO_LIMITS_TEXT_CHARS", ""),
        ("MEMENTO_LONG_INDEX", "fastest"),
        ("MEMENTO_ALLOW_NETWORK", "yes"),
        ("MEMENTO_UNTRUSTED", "web,robots"),
        ("MEMENTO_TIMEZONE", "JST+9"),
        ("MEMENTO_DYNAMICS_STABILITY", "3"),
    ],
)
def test_a_variable_that_cannot_be_is_refused(variable, text):
    """A misspelt name or a value that makes no sense never becomes a silent default."""
    with pytest.raises(InvalidSetting, match=f"environment.*({variable})"):
        load(environ={variable: text})


# --- what is shown


def test_what_is_shown_is_a_file_that_says_the_same(home, capsys):
    """It can be kept as ``memento.toml``, and has every setting once."""
    put(user_file(home), 'preset = "task agent"\ndynamics.stability = {fact = 9.0}\n')
    assert main(["config"]) == 0
    out = capsys.readouterr().out
    before = load(environ=home).config
    put(user_file(home), out)
    assert load(environ=home).config == before
    assert len(out.splitlines()) == len(known()) - 1
    assert tomllib.loads(out)["dynamics"]["stability"]["fact"] == 9.0


def test_a_field_of_the_config_is_a_setting():
    """Nothing in it is out of reach of a file but what only Python can make."""
    parts = {name.partition(".")[0] for name in known()} - {PRESET}
    assert parts == {one.name for one in fields(Config)}
