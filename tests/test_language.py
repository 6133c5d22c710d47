"""Plain English: phrases that a second-language reader stumbles over do not come back.

Each phrase has the word to use instead. The documents are held to it, and every room of the code
in ``ROOMS_DONE``: its docstrings, comments and messages.
"""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]
GENERATED = {"api.md", "cli.md", "configuration.md", "TRUST.md"}
"""Pages that are written from docstrings and results: their rooms answer for them."""
PAGES = sorted(
    path
    for path in [
        *HERE.glob("*.md"),
        *HERE.glob("docs/**/*.md"),
        HERE / "benchmarks/README.md",
    ]
    if path.name not in GENERATED
)
EXAMPLES = sorted(HERE.glob("examples/*.py"))
ROOMS_DONE = [
    "benchmarks/ablation.py",
    "benchmarks/agreement.py",
    "benchmarks/bare.py",
    "benchmarks/common.py",
    "benchmarks/completeness.py",
    "benchmarks/corpus.py",
    "benchmarks/dialogues.py",
    "benchmarks/everyday.py",
    "benchmarks/fit_weights.py",
    "benchmarks/fsyncs.py",
    "benchmarks/fuzz.py",
    "benchmarks/lives.py",
    "benchmarks/long_texts.py",
    "benchmarks/metrics.py",
    "benchmarks/neighbours.py",
    "benchmarks/observe.py",
    "benchmarks/own.py",
    "benchmarks/peers.py",
    "benchmarks/peers_adapters.py",
    "benchmarks/peers_child.py",
    "benchmarks/peers_page.py",
    "benchmarks/peers_setup.py",
    "benchmarks/quality.py",
    "benchmarks/reliability.py",
    "benchmarks/soak.py",
    "benchmarks/speed.py",
    "benchmarks/startup.py",
    "benchmarks/stores.py",
    "benchmarks/trust.py",
    "benchmarks/trust_report.py",
    "benchmarks/trust_result.py",
    "benchmarks/writers.py",
    "integrations",
    "memento",
    "scripts",
    "tests",
]
"""Files and folders of code that are held to it; add each room once it is clean."""
SAMPLES = [
    "tests/integrations/for_crewai/test_crewai_memory.py",
    "tests/integrations/for_langchain/test_langchain_history.py",
    "tests/integrations/for_langchain/test_langchain_memory.py",
    "tests/integrations/for_langchain/test_langchain_middleware.py",
    "tests/integrations/for_langgraph/test_langgraph_store.py",
    "tests/text/test_questions.py",
    "tests/observe/test_guards.py",
    "tests/retrieve/test_form.py",
    "tests/retrieve/test_former.py",
    "tests/retrieve/test_spellings.py",
    "tests/test_language.py",
    "tests/trust/harness_isolation.py",
    "tests/trust/secret_prose.py",
    "tests/trust/test_neighbours.py",
]
"""Files whose sample texts have such phrases: the things that people say to an agent."""

START = r"(?<=[.;]\s)|(?<=\*\*)|(?<=\n\n)|(?<=- )|(?<=\| )"
"""Places where a sentence can start."""
PHRASES = {
    r"\banew\b": ("again, or re-", "The index is made anew."),
    r"\bin (the )?places? of\b": ("instead of", "It stands in place of the old one."),
    r"\bhang(s|ing)? on (?!to\b)": ("depends on", "It hangs on the order."),
    r"(?<!there )\b(is|are) none\b(?! of)": (
        "is not a ..., or None",
        "An error if the embedder is none.",
    ),
    r"\bgarbl(e|ed|es|ing)\b": ("corrupt, damaged", "The file is garbled."),
    r"\b(un)?spelt\b|\bspells (?!(out|it)\b)": ("written, encoded", "A value is spelt in hex."),
    r"\bat the door\b|\b(the same|one|this|its) door\b": ("at validation", "Checked at the door."),
    r"\b(is|are|be|so) dear\b|\bdear ones?\b|\bdearer\b": (
        "expensive",
        "Rare words are dear to look up.",
    ),
    r"(?<!\|)\b(he|his|him|himself)\b(?!\|| (her|him|his|how|hay|hemos)\b)": (
        "they, their, them",
        "Who waits longer loses his turn.",
    ),
    r"\d us\b": ("µs", "It takes 40 us."),
    r",\s+too\b(?! \w)": ("also, before the verb", "It is hidden, too."),
    r"\b(what|who|that|which|memory|entry|one) counts\b(?! (as|the|how|for|with|in|\w+s)\b)": (
        "active",
        "An id belongs to what counts.",
    ),
    r"\b(what|it|memory|parent) waits\b(?! (for|until|at|longer|up|five|in|to be|by)\b)": (
        "is quarantined",
        "Whatever a page says, it waits.",
    ),
    r"\b[Ww]hoever\b": ("name who", "Whoever calls it is the user."),
    r"\b[Ss]omebody else's\b|\b[Nn]obody's\b": ("say whose", "It is nobody's."),
    r"\bis owed\b|\bare owed\b": ("is still missing", "A vector is owed to the row."),
    r"\b(it|which|that|this) (is|are) no (rule|JSON|string|number|time|fact|error|keys?)\b": (
        "is not a ...",
        "An object that is no JSON is replaced.",
    ),
    rf"(?:^|{START})What (?!is what\b)[^?|]*?[.|](?=\s|$)": (
        "a noun as the subject",
        "What is only asked is kept nowhere.",
    ),
    rf"(?:^|{START})(How (?!to\b|much\b|many\b)|Who |Whose |Whatever )[^?|]{{20,}}?[.](?=\s|$)": (
        "a noun as the subject",
        "How a text that holds a secret is treated.",
    ),
    r"\b[Ww]hat (is|was) asked\b": ("the query, the argument", "It says what is asked of it."),
}
"""Pattern to the word to use instead, and a sentence in which the pattern must be found."""

INNOCENT = [
    "It hangs on to the lock.",
    "What is it called?",
    "The first fork of that process hangs.",
    "One event counts the secrets.",
    "Two identifiers, too long to print, are cut.",
    "`hist` and `his_name` are not words of a sentence.",
    "It waits for the index.",
    "None is returned.",
    "NotFound: If there is none under the root.",
    "entries: What to insert, in order of arrival.",
    "Seconds that the first of them waits.",
    "The status that counts for statistics.",
    "he her hers him his how",
]
"""Sentences in which no pattern may be found."""


def without_code(text):
    """Replace code in a text by a word, block by block, so that only sentences are left."""
    text = re.sub(r"(?m)^[ \t]+", "", text)
    text = re.sub(r"(?m)^>>> .*\n(.+\n?)*", lambda m: "\n" * m.group().count("\n"), text)
    text = re.sub(r"(?ms)^<!---.*?-->$", lambda m: "\n" * m.group().count("\n"), text)
    text = re.sub(r"(?ms)^```.*?^```$", lambda m: "\n" * m.group().count("\n"), text)
    return re.sub(r"``[^`]*``|`[^`]*`", "code", text)


def prose_of(path):
    """Return (line, text) for everything in a file that people read.

    Of a page that is all; of a module the docstrings, comments and messages.
    """
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return [(1, without_code(source))]
    found = [
        (token.start[0], without_code(token.string))
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    ]
    strings = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
    ]
    return found + [(node.lineno, without_code(node.value)) for node in strings]


def stumbles(text):
    """Return (offset, phrase, word to use) for each phrase of a text."""
    return [
        (match.start(), " ".join(match.group().split())[:60], better)
        for phrase, (better, _) in PHRASES.items()
        for match in re.finditer(phrase, text)
    ]


def told(path):
    """List the phrases of a file as ``file:line: phrase: say word``."""
    return [
        f"{path.relative_to(HERE)}:{line + text.count(chr(10), 0, at)}: {phrase!r}: say {better}"
        for line, text in prose_of(path)
        for at, phrase, better in stumbles(text)
    ]


def modules_done():
    """List the modules that ``ROOMS_DONE`` names, directly or by their folder."""
    paths = [HERE / name for name in ROOMS_DONE]
    left_out = {path for name in SAMPLES for path in HERE.glob(name)}
    return sorted(
        module
        for path in paths
        for module in (path.rglob("*.py") if path.is_dir() else [path])
        if module not in left_out
    )


def name_of(path):
    """Name a file in the report of a test."""
    return str(path.relative_to(HERE))


@pytest.mark.parametrize(("phrase", "sentence"), [(p, s) for p, (_, s) in PHRASES.items()])
def test_each_phrase_is_found(phrase, sentence):
    """Each pattern is found in a sentence of its kind, also in the middle of a page."""
    assert re.search(phrase, sentence)
    assert re.search(phrase, f"# Title\n\nOne sentence. {sentence} Another.\n")


@pytest.mark.parametrize("sentence", INNOCENT)
def test_other_sentences_are_left_alone(sentence):
    """A sentence that only resembles such a phrase is not reported."""
    assert stumbles(without_code(sentence)) == []


def test_rooms_that_are_done_exist():
    """Every room in the list is a file or a folder with modules."""
    assert all((HERE / name).exists() for name in ROOMS_DONE)
    assert len(modules_done()) >= len(ROOMS_DONE)


@pytest.mark.parametrize("name", SAMPLES)
def test_files_left_out_have_such_phrases(name):
    """A file that is clean, or gone, does not stay on the list of files left out."""
    assert any(told(path) for path in HERE.glob(name))


def test_comments_docstrings_and_messages_are_read(tmp_path):
    """Prose of a module is its docstrings, comments and messages; code in backticks is not."""
    module = tmp_path / "module.py"
    module.write_text(
        '"""Made anew.\n\n    >>> "his"\n    \'his\'\n"""\nX = "is ``anew`` here"  # his\n',
        encoding="utf-8",
    )
    assert [phrase for _, text in prose_of(module) for _, phrase, _ in stumbles(text)] == [
        "his",
        "anew",
    ]
