"""Embedders, which turn texts into vectors and identify the model that computed them.

checked                which answers of an embedder are accepted (``LENGTH_TOLERANCE``), and which
                       settings name one: ``SPECS``, ``KNOWN_DIMS``
onnx                   the default, offline: each text alone, so that its vector is always the same;
                       ``MINILM``
session                a model's file and tokenizer: checked and loaded once per process
windows                how a long text is cut, and how much its beginning weighs: ``OVERLAP``,
                       ``MAX_WINDOWS``, ``FIRST_WEIGHT``
sentence_transformers  any model that it loads, and which files identify it (an extra)
openai                 a server of that API: what is sent again, ``RETRY_STATUSES`` (an extra)
rerankers              two models that read query and memory together (extras)
common_words           which words are common English, by the default model's vocabulary

``resolve`` returns the embedder for a setting, ``embed_checked`` checks the answers of any embedder
against the contract. Importing this package loads no model and no numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memento.embed.checked import check, embed_checked, require_texts, rerank_checked

if TYPE_CHECKING:
    from memento.protocols import Embedder

__all__ = ["check", "embed_checked", "require_texts", "rerank_checked", "resolve"]


def resolve(spec: Embedder | str | None) -> Embedder | None:
    """Return the embedder for a setting.

    Args:
        spec: ``"default"`` for the model in the package, None for no embedder (full text only),
            ``"sentence-transformers:NAME_OR_PATH"``, ``"openai:MODEL"`` (key and address
            from the environment, see ``OpenAIEmbedder.from_env``), or an embedder.

    Raises:
        InvalidInput: If ``spec`` is not one of these.
        MissingExtra: If the embedder requires a package that is not installed.
        EmbedderError: If the model cannot be loaded.

    >>> resolve(None) is None
    True
    """
    check(spec)
    return _named(spec) if isinstance(spec, str) else spec


# The imports below are inside functions because each loads numpy and a model library.
def _named(spec: str) -> Embedder:  # the name was checked before
    family, _, model = spec.partition(":")
    if spec == "default":
        from memento.embed.onnx import default_embedder  # noqa: PLC0415 - see above

        return default_embedder()
    if family == "sentence-transformers":
        from memento.embed.sentence_transformers import SentenceTransformerEmbedder  # noqa: PLC0415 - see above

        return SentenceTransformerEmbedder(model)
    from memento.embed.openai import OpenAIEmbedder  # noqa: PLC0415 - see above

    return OpenAIEmbedder.from_env(model)
