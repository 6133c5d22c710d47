"""A model file and its tokenizer, checked and loaded once per process by onnxruntime."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from memento.base.files import open_regular
from memento.base.forks import whole
from memento.errors import EmbedderError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NO_TELEMETRY = "ORT_DISABLE_TELEMETRY"
"""Turns off the telemetry of onnxruntime, which is on by default in its builds for Linux.
onnxruntime reads it on import. Source: Privacy.md in the onnxruntime package."""
REPAIR = (
    "reinstall agent-memento, or build the folder with scripts/build_minilm.py (the readers: "
    "scripts/train_reader.py, train_slots.py and train_changes.py)"
)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A session and its tokenizer.

    Attributes:
        tokenizer: A ``tokenizers.Tokenizer`` without padding and truncation.
        session: An ``onnxruntime.InferenceSession``.
        outputs: Names of its outputs; without them each run lists them.
        first: Id of the token before every text.
        last: Id of the token behind every text.
    """

    tokenizer: Any
    session: Any
    outputs: list[str]
    first: int
    last: int

    def run(self, ids: list[int]) -> Any:
        """Return the first output for token ids, special ones included."""
        fed = {"input_ids": np.array([ids], np.int64)}
        return self.session.run(self.outputs, fed)[0]


class OnnxModel:
    """A model in a folder. It is loaded on first use, so that a fork is safe.

    Several threads may use it at once.

    Args:
        folder: Folder of the files.
        sha256: Names of the files to check before reading them, with their sha256.
        name: The name of the model file; the tokenizer is ``tokenizer.json``.
        threads: Threads for one run, >= 1.
    """

    def __init__(self, folder: Path, sha256: Mapping[str, str], name: str, threads: int) -> None:
        self._folder, self._sha256, self._name, self._threads = folder, sha256, name, threads
        # By process id, so that a child does not use what a fork copied: a session, or a lock
        # held by a thread that does not exist in the child.
        self._loaded: dict[int, Loaded] = {}
        self._locks: dict[int, threading.Lock] = {}

    def loaded(self) -> Loaded:
        """Return the model, loaded in this process.

        Raises:
            EmbedderError: If a file is missing, damaged, or cannot be read by this onnxruntime.
        """
        process = os.getpid()
        model = self._loaded.get(process)
        if model is None:
            with self._locks.setdefault(process, threading.Lock()):
                model = self._loaded.get(process)
                if model is None:
                    with whole():
                        model = self._loaded[process] = self._load()
        return model

    def _load(self) -> Loaded:
        for name, expected in self._sha256.items():
            _verify(self._folder / name, expected)
        try:
            return _open(self._folder, self._name, self._threads)
        except Exception as error:  # onnxruntime and tokenizers raise types of their own
            raise EmbedderError(
                f"{self._folder}: the installed onnxruntime or tokenizers cannot load the model "
                f"({error}); upgrade them, or choose another embedder"
            ) from error


def packaged(manifest: Path) -> tuple[dict[str, Any], OnnxModel]:
    """Return a manifest of the package, and the model of the same name beside it.

    Raises:
        EmbedderError: If the manifest is missing or damaged.
    """
    try:
        said = json.loads(manifest.read_text(encoding="utf-8"))
        return said, OnnxModel(manifest.parent, dict(said["sha256"]), f"{manifest.stem}.onnx", 1)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EmbedderError(f"{manifest}: cannot be read ({error}); {REPAIR}") from error


@cache
def _verify(path: Path, expected: str) -> None:
    """Check a file, once per process: two models may share one."""
    try:
        with open_regular(path) as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EmbedderError(f"{path}: cannot be read ({error.strerror}); {REPAIR}") from error
    if found != expected:
        raise EmbedderError(
            f"{path}: is damaged: its SHA-256 is {found[:12]}…, expected {expected[:12]}…; {REPAIR}"
        )


def _open(folder: Path, name: str, threads: int) -> Loaded:
    # Imported here, so that a process that never embeds does not load them.
    os.environ[NO_TELEMETRY] = "1"
    import onnxruntime  # noqa: PLC0415 - see above
    from tokenizers import Tokenizer  # noqa: PLC0415 - see above

    onnxruntime.disable_telemetry_events()  # in case the host has imported it before
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()  # the published file pads every text to 128 and cuts it there
    tokenizer.no_truncation()
    first, last = tokenizer.encode("").ids
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # the arena never gives memory back
    options.log_severity_level = 3  # errors only; warnings about the host do not help here
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(
        str(folder / name), options, providers=["CPUExecutionProvider"]
    )
    return Loaded(tokenizer, session, [one.name for one in session.get_outputs()], first, last)
