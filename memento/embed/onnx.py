"""The default embedder: an ONNX model in a folder, run by onnxruntime on one thread.

Offline, without torch. Each text is embedded alone, never in a padded batch: dynamic quantisation
scales by all texts of a batch, so the same text would get another vector in another batch (cosine
0.99 on average, down to 0.96). Embedded alone, the same text always gives the same vector.
"""

from __future__ import annotations

import functools
import json
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memento.base.files import read_regular
from memento.embed.checked import require_texts
from memento.embed.session import REPAIR, OnnxModel
from memento.embed.windows import MAX_WINDOWS, combine, split
from memento.errors import EmbedderError, InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

MINILM = Path(__file__).parent / "minilm"
"""Folder of the model in the package; ``scripts/build_minilm.py`` builds it."""
SPECIAL_TOKENS = 2
"""[CLS] before and [SEP] after every window."""
MIN_TOKENS = 16
"""Smallest window worth embedding."""

_default_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Manifest:
    name: str
    dim: int
    max_tokens: int
    sha256: Mapping[str, str]


class OnnxEmbedder:
    """Embeds with ``model.onnx`` and ``tokenizer.json`` from a folder.

    The folder also contains ``manifest.json``, with the name of the model and the SHA-256 of both
    files. The model takes ``input_ids`` (1, n) int64 and returns (1, dim) float32 of unit length.
    The constructor reads only the manifest. The model loads with the first text (about 0.1 s of
    CPU, after 0.1 s for onnxruntime itself), once per process, so that a fork is safe. Several
    threads may embed at once.

    Args:
        folder: Folder that contains the three files.
        threads: Number of threads per text, >= 1. More than one does not speed up short texts.
        max_tokens: Window in word pieces, from 16 to the limit of the model. The default is the
            window that all-MiniLM-L6-v2 was trained with.
        max_windows: Maximum number of windows of one text, >= 2; see ``memento.embed.windows``.

    Attributes:
        name: Model name and the first 12 hex digits of the sha256 of its weights.
        dim: Length of its vectors.

    Raises:
        EmbedderError: If the manifest is missing or damaged. For the other files, it is raised with
            the first text.
        InvalidInput: If an argument is out of range.
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        threads: int = 1,
        max_tokens: int = 256,
        max_windows: int = MAX_WINDOWS,
    ) -> None:
        self._folder = Path(folder)
        self._manifest = _read_manifest(self._folder)
        _in_range("threads", threads, 1, 1024)
        _in_range("max_tokens", max_tokens, MIN_TOKENS, self._manifest.max_tokens)
        _in_range("max_windows", max_windows, 2, 65_536)
        self.name = f"{self._manifest.name}@{self._manifest.sha256['model.onnx'][:12]}"
        self.dim = self._manifest.dim
        self._model = OnnxModel(self._folder, self._manifest.sha256, "model.onnx", threads)
        self._window = max_tokens - SPECIAL_TOKENS
        self._max_windows = max_windows

    def __repr__(self) -> str:
        return f"OnnxEmbedder({self.name!r})"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts; see ``memento.protocols.Embedder``.

        The vector of a text does not depend on the other texts.

        Raises:
            InvalidInput: If a text is empty or not a string.
            EmbedderError: If a file of the model is missing, damaged or cannot be run.
        """
        wanted = require_texts(texts)
        vectors = np.empty((len(wanted), self.dim), np.float32)
        for row, text in enumerate(wanted):
            windows = [self._run(ids) for ids in self.tokenize(text)]
            vectors[row] = windows[0] if len(windows) == 1 else combine(np.stack(windows))
        return vectors

    def tokenize(self, text: str) -> list[list[int]]:
        """Return the token ids of each window of a text, special tokens included.

        Windows are not padded: a text of 9 word pieces gives 11 ids.
        """
        model = self._model.loaded()
        ids = model.tokenizer.encode(text, add_special_tokens=False).ids
        return [
            [model.first, *ids[start:end], model.last]
            for start, end in split(len(ids), self._window, self._max_windows)
        ]

    def count_tokens(self, text: str) -> int:
        """Return the number of word pieces of a text; see ``memento.protocols.LocalEmbedder``."""
        return len(self._model.loaded().tokenizer.encode(text, add_special_tokens=False).ids)

    def _run(self, ids: list[int]) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self._model.loaded().run(ids)[0]
        return vector


def default_embedder() -> OnnxEmbedder:
    """Return the default embedder: one for the whole process, its model loaded with its first text.

    Raises:
        EmbedderError: If the model in the package is damaged.
    """
    with _default_lock:
        return _default()


@functools.cache
def _default() -> OnnxEmbedder:
    return OnnxEmbedder(MINILM)


def _in_range(field: str, value: int, least: int, most: int) -> None:
    if not isinstance(value, int) or not least <= value <= most:
        raise InvalidInput(field, f"must be an integer in [{least}, {most}], not {value!r}")


def _read_manifest(folder: Path) -> _Manifest:
    path = folder / "manifest.json"
    try:
        fields = json.loads(read_regular(path))
        sha256 = {name: fields["sha256"][name] for name in ("model.onnx", "tokenizer.json")}
        return _Manifest(fields["name"], fields["dim"], fields["max_tokens"], sha256)
    except OSError as error:
        raise EmbedderError(f"{path}: cannot be read ({error.strerror}); {REPAIR}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise EmbedderError(f"{path}: is not a model manifest; {REPAIR}") from error
