"""Estimate how many tokens a text takes in a prompt, without a tokenizer. Pure."""

from __future__ import annotations

import re

_TWO_BYTES = re.compile("[\u0080-\u07ff]")
_FOUR_BYTES = re.compile("[\U00010000-\U0010ffff]")
_ASCII_CHARS, _TWO_BYTE_CHARS = 4, 2  # characters per token
_FOUR_BYTE_TOKENS = 2  # tokens per character


def estimate(text: str) -> int:
    """Estimate the tokens of a text from the scripts it is written in, at least 1.

    Language models read bytes, so a character that takes more bytes takes more tokens: four
    characters of English are a token, two of Greek, Cyrillic or Arabic, one of Chinese, Japanese,
    Korean, Thai or Hindi, half an emoji. The estimate is rather too high than too low: newer
    tokenizers need about two thirds of it outside English.

    >>> estimate("Rami likes tea."), estimate("Рами любит чай."), estimate("ラミはお茶が好き")
    (4, 7, 8)
    """
    if text.isascii():
        return max(1, -(-len(text) // _ASCII_CHARS))
    plain = len(text.encode("ascii", "ignore"))
    two, four = len(_TWO_BYTES.findall(text)), len(_FOUR_BYTES.findall(text))
    three = len(text) - plain - two - four
    whole = plain / _ASCII_CHARS + two / _TWO_BYTE_CHARS + three + four * _FOUR_BYTE_TOKENS
    return max(1, -int(-whole // 1))
