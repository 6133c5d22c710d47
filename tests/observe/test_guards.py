"""A guard refuses what is not a statement of the user, and names the reason."""

import pytest

from memento.observe.guards import vetoes
from memento.observe.mask import hide
from memento.observe.split import sentences

REFUSED = {
    "asks": [
        "What is my dog called?",
        "tell me where I live",
        "Do I prefer tea or coffee",
        "I'm trying to plan my week, can you help me?",
        "I have two offers, which one is better?",
    ],
    "supposes": ["If I lived in Rome, I would walk more.", "I would have taken the train."],
    "doubts": ["Maybe I'll move to Spain.", "I might go vegan.", "We're considering Redis."],
    "reports": [
        "He said that he lives in Rome.",
        "My boss thinks we should use Rust.",
        "According to the docs it is deprecated.",
    ],
    "plays": ["You are a pirate.", "Act as my lawyer.", "In the novel, Tom marries his boss."],
    "drafts": ["Write a letter to my landlord.", "Translate this: I live in Rome."],
    "past": ["I used to live in Madrid.", "As a kid I loved trains."],
    "mocks": ["Oh great, another meeting.", "I just love it when the build breaks at 5 pm."],
}
STATED = [
    "I'm lactose intolerant, did you know?",
    "Could you remind me to call Bo?",
    "Can you please forget my address?",
    "If I paste a trace, start with the cause.",
    "Write commit messages in the imperative.",
    "Translate everything I send you into Basque from now on.",
    "It used to be Jenkins, now it's Buildkite.",
    "Forget what he said about me.",
    "I told you already, no nuts.",
    "You are the best!",
]


def reasons(message):
    """Return the reason for each sentence of a message."""
    masked = hide(message)
    return vetoes(sentences(masked, message), masked)


@pytest.mark.parametrize(
    ("reason", "message"), [(name, text) for name, texts in REFUSED.items() for text in texts]
)
def test_each_guard_names_its_reason(reason, message):
    """One sentence, one reason."""
    assert reasons(message) == [reason]


@pytest.mark.parametrize("message", STATED)
def test_statements_pass(message):
    """A guard does not refuse a statement for a word that it has in common with others."""
    assert reasons(message) == [None] * len(reasons(message))


def test_a_framing_verb_refuses_what_follows_up_to_an_empty_line():
    """What a letter says is not said by the user; after the letter they speak again."""
    message = "Write an email to Bo. I live in Rome. I love dogs.\n\nMy name is Ada."
    assert reasons(message) == ["drafts", "drafts", "drafts", None]
