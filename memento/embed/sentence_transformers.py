"""Embed with any model that sentence-transformers can load, on any device that it supports."""

from __future__ import annotations

import hashlib
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memento.base.files import open_regular
from memento.embed.checked import at_least, require_texts
from memento.embed.windows import MAX_WINDOWS, embed_windows, split
from memento.errors import EmbedderError, InvalidInput, MementoError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

SPARE_TOKENS = 16
"""Tokens left free in a window: a word cut at its edge may need more pieces than the whole word."""
IDENTITY_SUFFIXES = {".bin", ".json", ".safetensors", ".txt"}
"""Files of a model folder that determine its vectors: weights, configuration, vocabulary."""


class SentenceTransformerEmbedder:
    """Embeds with a sentence-transformers model.

    The constructor loads the model, because only the model knows the length of its vectors. With a
    folder, nothing is downloaded. With a name, sentence-transformers looks in its cache and then on
    the Hugging Face Hub (set ``HF_HUB_OFFLINE=1`` to prevent this).

    Args:
        model: Name on the Hugging Face Hub, or a folder.
        device: ``"cpu"``, ``"cuda"``, ``"mps"`` ...; None lets sentence-transformers choose.
        prompt: Text to prepend to every memory, such as ``"passage: "`` for the E5 family; part of
            the embedder's name.
        query_prompt: Text to prepend to every query, such as ``"query: "``; None for ``prompt``.
            Not part of the name, because it does not affect stored vectors.
        batch_size: Number of windows per run of the model, >= 1.
        max_windows: Maximum number of windows of one text, >= 2; see ``memento.embed.windows``.

    Attributes:
        name: Model name with a hash of the files for a folder, or the revision for a Hub model.
        dim: Length of its vectors.

    Raises:
        MissingExtra: If sentence-transformers is not installed.
        EmbedderError: If the model cannot be loaded, or has a limited window and a tokenizer that
            does not report the position of each token in the text.
        InvalidInput: If an argument is out of range.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        device: str | None = None,
        prompt: str = "",
        query_prompt: str | None = None,
        batch_size: int = 16,
        max_windows: int = MAX_WINDOWS,
    ) -> None:
        at_least("batch_size", batch_size, 1)
        at_least("max_windows", max_windows, 2)  # first and last
        self._model = load_model(str(model), device)
        self._lock = threading.Lock()  # a tokenizer keeps its padding between calls
        self._prompt = prompt
        self._query_prompt = prompt if query_prompt is None else query_prompt
        self._batch_size = batch_size
        self._max_windows = max_windows
        self._window = _window(self._model, max(prompt, self._query_prompt, key=len))
        self.name = _identity(self._model, str(model), prompt)
        self.dim = _dimension(self._model)

    def __repr__(self) -> str:
        return f"SentenceTransformerEmbedder({self.name!r})"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts; see ``memento.protocols.Embedder``."""
        return self._embed(texts, self._prompt)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed queries; see ``memento.protocols.QueryEmbedder``."""
        return self._embed(texts, self._query_prompt)

    def _embed(self, texts: Sequence[str], prompt: str) -> NDArray[np.float32]:
        wanted = require_texts(texts)
        if not wanted:
            return np.empty((0, self.dim), np.float32)
        with self._lock:
            pieces = [[prompt + piece for piece in self._pieces(text)] for text in wanted]
            return embed_windows(pieces, self._encode)

    def _pieces(self, text: str) -> list[str]:
        if self._window is None:
            return [text]
        offsets = self._model.tokenizer(
            text, add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )["offset_mapping"]
        spans = split(len(offsets), self._window, self._max_windows)
        if len(spans) == 1:
            return [text]
        return [text[offsets[start][0] : offsets[end - 1][1]] for start, end in spans]

    def _encode(self, pieces: list[str]) -> NDArray[np.float32]:
        with failing_as(EmbedderError, f"{self.name} failed"):
            vectors = self._model.encode(
                pieces,
                batch_size=self._batch_size,
                normalize_embeddings=True,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        return np.asarray(vectors, dtype=np.float32)


def load_model(
    model: str,
    device: str | None,
    kind: str = "SentenceTransformer",
    error: type[MementoError] = EmbedderError,
) -> Any:
    """Load a model with a class of sentence-transformers; `MissingExtra` if there is none."""
    try:
        import sentence_transformers  # noqa: PLC0415 - an extra, and slow to import
    except ImportError as missing:
        raise MissingExtra("sentence-transformers", "sentence-transformers") from missing
    help_ = "specify the name of a model on the Hugging Face Hub, or a folder"
    with failing_as(error, f"sentence-transformers cannot load {model!r}; {help_}"):
        return getattr(sentence_transformers, kind)(model, device=device)


@contextmanager
def failing_as(kind: type[MementoError], problem: str) -> Iterator[None]:
    """Turn what torch and sentence-transformers raise into an error of memento's."""
    try:
        yield
    except (OSError, RuntimeError, ValueError, IndexError) as error:
        raise kind(f"{problem}: {error}") from error


def _window(model: Any, prompt: str) -> int | None:
    """Return how many tokens of text fit beside prompt and special tokens; None for no limit."""
    limit = model.max_seq_length
    if limit is None:
        return None
    if not getattr(model.tokenizer, "is_fast", False):
        raise EmbedderError(
            "the model has a limited context window and a tokenizer without offsets, so long "
            "texts would be truncated; choose a model with a fast tokenizer"
        )
    window = int(limit) - SPARE_TOKENS - len(model.tokenizer(prompt)["input_ids"])
    if window < 1:
        raise InvalidInput(
            "prompt", f"leaves no room for text in a context window of {limit} tokens"
        )
    return window


def _dimension(model: Any) -> int:
    # renamed in sentence-transformers 5
    ask = getattr(model, "get_embedding_dimension", None)
    return int((ask or model.get_sentence_embedding_dimension)())


def _identity(model: Any, name: str, prompt: str) -> str:
    folder = Path(name)
    if folder.is_dir():
        identity = f"{folder.resolve().name}@{_folder_hash(folder)}"
    else:
        config = getattr(getattr(model[0], "auto_model", None), "config", None)
        revision = getattr(config, "_commit_hash", None) or "unversioned"
        identity = f"{name}@{revision[:12]}"
    return f"{identity}+{hashlib.sha256(prompt.encode()).hexdigest()[:8]}" if prompt else identity


def _folder_hash(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.suffix in IDENTITY_SUFFIXES):
        with open_regular(path) as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()} {found}\n".encode())
    return digest.hexdigest()[:12]
