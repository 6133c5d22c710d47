"""Names and letters in several Unicode forms."""

import unicodedata
from operator import attrgetter
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from memento import MemoryManager, Source
from memento.errors import InvalidInput
from memento.text.words import fold, squeeze

FORMS = ("NFC", "NFD")
NAMES = ("Zo\u00eb", "Nguy\u1ec5n", "\u30d0\u30c3\u30cf", "\ud55c\uae00", "\u0419\u043e\u0436")


def written(form: str, name: str) -> str:
    """Write a name in one form."""
    return unicodedata.normalize(form, name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("kept", "asked"), [FORMS, FORMS[::-1]])
def test_a_name_is_found_in_either_form(tmp_path: Path, name: str, kept: str, asked: str) -> None:
    """A memory that is kept under a name is found under its other Unicode form."""
    here, there = written(kept, name), written(asked, name)
    with MemoryManager(tmp_path, embedder=None, namespace=here) as memory:
        memory.add(
            "One fact.",
            id=here,
            key=here,
            aliases=[here],
            scope=f"project/{here}",
            session=here,
            actor=here,
            role=here,
            source=Source("user", uri=f"/notes/{here}.md", model=here),
            tags=[here],
            metadata={here: {"of": here}},
        )
        same = memory.of(there)
        assert same.get(there).id == same.store.full_id(there)
        for filters in (
            {"ids": there},
            {"key": there},
            {"scope": f"project/{there}"},
            {"within": f"project/{there}"},
            {"session": there},
            {"actor": there},
            {"role": there},
            {"source": f"/notes/{there}.md"},
            {"tag": there},
            {"any_tag": [there, "other"]},
            {"where": {f"{there}.of": there}},
            {"where": {there: {"of": {"$in": [there]}}}},
            {"where": {there: {"of": {"$gte": there, "$lte": there}}}},
        ):
            assert len(same.list(**filters)) == 1, filters
        assert same.value(there, scope=f"project/{there}") is not None
        assert same.store.erase(session=there, dry_run=True).ids == (same.get(there).id,)


@pytest.mark.parametrize(
    "verb",
    ["update", "forget", "restore", "changes.history", "changes.evolution", "feedback.strength"],
)
@pytest.mark.parametrize(("kept", "asked"), [FORMS, FORMS[::-1]])
def test_an_id_is_taken_in_either_form(tmp_path: Path, verb: str, kept: str, asked: str) -> None:
    """Each verb finds the memory by its id in the other Unicode form."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        memory.add("One fact.", id=written(kept, NAMES[0]))
        if verb == "restore":
            memory.forget(written(asked, NAMES[0]))
        attrgetter(verb)(memory)(
            written(asked, NAMES[0]), **({"text": "b"} if verb == "update" else {})
        )


def test_a_slot_has_one_value_whatever_the_form_of_its_key(tmp_path: Path) -> None:
    """A second value under the same key in the other form takes the place of the first."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        for form, drink in zip(FORMS, ("tea", "water"), strict=True):
            who = written(form, "Zo\u00eb")
            memory.add(f"{who} drinks {drink}", actor=who, key=f"{who}/drink")
        assert [one.text.split()[-1] for one in memory.list()] == ["water"]


def test_a_conversation_is_one_whatever_the_form_of_its_name(tmp_path: Path) -> None:
    """Turns that are given again under the other form of session and id are kept once."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        for form in FORMS:
            message = {"role": "user", "content": "I like jam.", "id": written(form, "th\u00e9")}
            memory.keep(["I like tea.", message], session=written(form, "caf\u00e9"))
            memory.observe("My dog is Rex.", session=written(form, "d\u00eener"), keep=True)
        assert len(memory.list(session="caf\u00e9")) == 2
        assert len([one for one in memory.list(session="d\u00eener") if one.role == "user"]) == 1


def test_metadata_is_kept_as_it_was_given(tmp_path: Path) -> None:
    """The values of metadata are the caller's: they come back unchanged, whatever finds them."""
    both = {form: written(form, "\u00e0 la carte") for form in FORMS}
    with MemoryManager(tmp_path, embedder=None) as memory:
        memory.add("One fact.", metadata=both)
        assert memory.list()[0].metadata == both


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("\u0141\u00f3d\u017a", "lodz"),
        ("S\u00f8ren", "soren"),
        ("\u00c6r\u00f8", "aero"),
        ("Stra\u00dfe", "strasse"),
        ("I\u011fd\u0131r", "igdir"),
        ("\u0110or\u0111e", "dorde"),
        ("\u0126al G\u0127axaq", "hal ghaxaq"),
        ("\u0153uvre", "oeuvre"),
        ("\u00de\u00f3r\u00f0ur", "thordur"),
        ("\u018fliyev", "eliyev"),
        ("\u049a\u0430\u0437\u0430\u049b", "\u043a\u0430\u0437\u0430\u043a"),
        ("\u0490\u0430\u043d\u043e\u043a", "\u0433\u0430\u043d\u043e\u043a"),
    ],
)
def test_a_letter_is_found_as_people_type_it(tmp_path: Path, name: str, typed: str) -> None:
    """A text with letters that keyboards lack is found by plain ones, and the other way round."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        for said, asked in ((name, typed), (typed, name)):
            kept = memory.add(f"{said} is where the parcel went.", key=asked)
            memory.add("The garden needs water.")
            assert memory.retrieve(asked)[0].id == kept.id
            memory.forget(kept.id)


@given(st.text(st.characters(categories=("L", "M", "N", "P"), max_codepoint=0x24F), max_size=20))
def test_folding_is_the_same_for_every_form(text: str) -> None:
    """Both Unicode forms of a text fold to the same words, and folded words stay as they are."""
    forms = {squeeze(unicodedata.normalize(form, text)) for form in FORMS}
    assert {tuple(fold(one).split()) for one in forms} == {tuple(fold(text).split())}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("first", "second"), [FORMS, FORMS[::-1]])
def test_one_text_in_two_forms_is_stored_once(memory, name: str, first: str, second: str) -> None:
    """The same text, added in either form, is one memory, which keeps the form it came in."""
    added = memory.add(f"{written(first, name)} likes tea")
    assert memory.add(f"{written(second, name)} likes tea").id == added.id
    assert [one.text for one in memory.list()] == [f"{written(first, name)} likes tea"]


def test_one_key_of_metadata_is_not_two(memory) -> None:
    """A key is a name: it is kept in one form, and one that is there twice is refused."""
    name, apart = (written(form, "cl\u00e9") for form in FORMS)
    added = memory.add("tea", metadata={apart: {apart: apart}})
    assert added.metadata == {name: {name: apart}}  # the value stays as it was given
    with pytest.raises(InvalidInput, match="twice, in two Unicode forms"):
        memory.add("coffee", metadata={name: 1, apart: 2})


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(st.text(max_size=6), st.text(max_size=6))
def test_ranges_compare_texts_in_one_form(memory, value: str, bound: str) -> None:
    """A text is greater or less than another whichever form either is written in."""
    assume("\0" not in value + bound and (value + bound).isprintable())
    view = memory.of(uuid4().hex)
    one, other = (unicodedata.normalize("NFC", text) for text in (value, bound))
    for form in FORMS:
        view.add(form, metadata={"name": written(form, value)})
        for asked in FORMS:
            found = view.list(where={"name": {"$gte": written(asked, bound)}})
            assert bool(found) == (one >= other)
