"""The peers: what they are, how each is installed, and how one is started and talked to."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, Self

from common import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CHILD = ROOT / "benchmarks" / "peers_child.py"
EMBEDDING = ("numpy==2.4.6", "onnxruntime==1.31.1", "tokenizers==0.23.3", "uuid-utils>=0.9")
"""Packages of memento's embedder; the same runtime for all."""
MAIN_DEPENDENCIES = "the dependencies of this project"
REQUEST_LIMIT = 3_600.0
"""Seconds after which a peer that does not answer is ended."""
INSTALL_LIMIT = 1_800.0
"""Seconds an installation may take."""
REASON_LENGTH = 200

QUIET = {
    "ANONYMIZED_TELEMETRY": "False",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "MEM0_TELEMETRY": "False",
    "MEMPALACE_EMBEDDING_DEVICE": "cpu",
    "MEMPALACE_EMBEDDING_MODEL": "minilm",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
"""No telemetry, no download, one thread for arithmetic: for every peer and for memento."""


class PeerFailed(Exception):
    """A peer could not be installed or started, or did not do what it was asked."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A memory to be measured.

    Attributes:
        name: Name of its adapter in ``peers_adapters.py``.
        title: Name in tables and the chart.
        requirements: What pip installs into its environment.
        settings: How it is set up, where it matters.
        place: Name of the environment it shares with another peer; empty for one of its own.
        speed: Whether its speed is measured; else only what it finds.
        online: Whether it needs the network at run time.
    """

    name: str
    title: str
    requirements: tuple[str, ...]
    settings: str
    place: str = ""
    speed: bool = True
    online: bool = False


PEERS = (
    Peer(
        "memento",
        "memento",
        (MAIN_DEPENDENCIES,),
        "`MemoryManager(root)`, all defaults; speaker, session and time of each turn in their own "
        "fields",
    ),
    Peer(
        "memento-text",
        "memento, bare texts",
        (MAIN_DEPENDENCIES,),
        "the same, but given exactly the same strings as the others",
        place="memento",
        speed=False,
    ),
    Peer(
        "langchain-chroma",
        "langchain-chroma",
        ("langchain-chroma==1.1.0", "chromadb==1.5.9"),
        "`Chroma(name, embeddings, persist_directory=...)`, `add_texts`, `similarity_search`",
    ),
    Peer(
        "langgraph-memory",
        "LangGraph InMemoryStore",
        ("langgraph==1.2.22",),
        "`InMemoryStore(index=...)` with NumPy installed, `put` and `batch`, `search`",
    ),
    Peer(
        "langgraph-sqlite",
        "LangGraph SqliteStore",
        ("langgraph==1.2.22", "langgraph-checkpoint-sqlite==3.1.2", "pysqlite3>=0.6"),
        "`SqliteStore(connection, index=...)` on a file, `put` and `batch`, `search`",
    ),
    Peer(
        "mem0",
        "mem0, infer=False",
        ("mem0ai==2.2.1",),
        "its default store (Qdrant in a folder, `on_disk`), `add(..., infer=False)`, `search`; "
        "vectors only, as installed by `pip install mem0ai`",
    ),
    Peer(
        "mem0-words",
        "mem0, infer=False, keywords",
        ("mem0ai[nlp]==2.2.1", "fastembed==0.9.1"),
        "the same plus keyword search, for which spaCy and fastembed download models at run time",
        online=True,
    ),
    Peer(
        "mempalace",
        "MemPalace",
        ("mempalace==3.11.0", "chromadb==1.5.9"),
        "one drawer per text, `get_collection(...).upsert`, `search_memories` with the default "
        "strategy: vectors, reranked with BM25",
    ),
    Peer(
        "neuromemory",
        "neuromemory-ai",
        ("neuromemory-ai==0.2.1",),
        "`Memory(path, embedding=...)`, as its documentation recommends, `add`, `recall`",
    ),
    Peer(
        "neuromemory-words",
        "neuromemory-ai, no embedder",
        ("neuromemory-ai==0.2.1",),
        "`Memory(path)`, full-text search only, `add`, `recall`",
        place="neuromemory",
    ),
)


def requirements(peer: Peer) -> list[str]:
    """Return what goes into the environment of a peer."""
    wanted: list[str] = []
    for line in peer.requirements:
        if line == MAIN_DEPENDENCIES:
            project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
            wanted += project["project"]["dependencies"]
        else:
            wanted.append(line)
    return [*wanted, *EMBEDDING]


def environment(peer: Peer, cache: Path) -> Path:
    """Return the Python of a peer's environment, which is made unless it is there already.

    It is made again when its requirements change.

    Raises:
        PeerFailed: If pip cannot install it.
    """
    wanted = "\n".join([f"python {sys.version_info[0]}.{sys.version_info[1]}", *requirements(peer)])
    folder = cache / (peer.place or peer.name)
    python, mark = folder / "bin" / "python", folder / "requirements.txt"
    if mark.exists() and mark.read_text(encoding="utf-8") == wanted:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    cache.mkdir(parents=True, exist_ok=True)
    print(f"installing {peer.title} ...", file=sys.stderr, flush=True)
    run([sys.executable, "-m", "venv", str(folder)])
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, *requirements(peer)])
    mark.write_text(wanted, encoding="utf-8")
    return python


def run(command: Sequence[str]) -> None:
    """Run a command of an installation.

    Raises:
        PeerFailed: If it fails or takes too long.
    """
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_LIMIT)
    except subprocess.CalledProcessError as error:
        raise PeerFailed(f"does not install: {last_line(error.stderr)}") from error
    except subprocess.TimeoutExpired as error:
        raise PeerFailed("does not install: pip took too long") from error


def last_line(text: str) -> str:
    """Return the last line with something on it, shortened: of an error, what it is about."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:REASON_LENGTH] if lines else "nothing said"


def surroundings(peer: Peer, home: Path) -> dict[str, str]:
    """Return the environment variables of a peer's process.

    Nothing that configures a peer or memento comes from the caller's environment, and the home
    folder is a new one: what peers keep there is not touched.
    """
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    own = {"HOME": str(home), "MEM0_DIR": str(home / "mem0"), "PYTHONPATH": str(ROOT)}
    quiet = {name: value for name, value in QUIET.items() if not (peer.online and "HF_" in name)}
    return {**kept, **quiet, **own}


@dataclass(slots=True)
class Child:
    """A memory in a process of its own, asked through lines of JSON.

    Args:
        command: What to start; it speaks the protocol of ``peers_child.py``.
        variables: Its environment variables; None for ours.
        limit: Seconds an answer may take.
    """

    command: Sequence[str]
    variables: Mapping[str, str] | None = None
    limit: float = REQUEST_LIMIT
    _process: subprocess.Popen[str] = field(init=False)
    _said: IO[str] = field(init=False)

    def __post_init__(self) -> None:
        self._said = TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - see end
        self._process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            env=self.variables,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.end()

    def ask(self, do: str, **what: Any) -> dict[str, Any]:
        """Have something done; return the answer.

        Raises:
            PeerFailed: If the peer raised, died, or took too long.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        watch = threading.Timer(self.limit, self._process.kill)
        watch.start()
        try:
            self._process.stdin.write(json.dumps({"do": do, **what}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watch.cancel()
        if not line:
            raise PeerFailed(f"{do}: {self._death()}")
        result: dict[str, Any] = json.loads(line)
        if "error" in result:
            raise PeerFailed(f"{do}: {result['error'][:REASON_LENGTH]}")
        return result

    def _death(self) -> str:
        status = self._process.wait()
        self._said.seek(0)
        return f"its process ended with status {status}: {last_line(self._said.read())}"

    def end(self) -> None:
        """End the process at once, as kill -9 does, and clean up."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._said):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:  # what was not sent any more
                continue


def started(
    peer: Peer, python: Path, home: Path, *, prefix: Sequence[str] = (), vectors: Path | None = None
) -> Child:
    """Start a peer.

    Args:
        peer: Which.
        python: Python of its environment.
        home: Its home folder.
        prefix: What to start it under, such as ``strace``.
        vectors: File in which vectors are kept, for all peers to share.
    """
    kept = {"PEERS_VECTORS": str(vectors)} if vectors else {}
    command = [*prefix, str(python), str(CHILD), peer.name]
    return Child(command, surroundings(peer, home) | kept)
