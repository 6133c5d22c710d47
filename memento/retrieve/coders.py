"""The coders of a scan by the names that the settings have for them."""

from __future__ import annotations

from memento.config.tiers import ScanCodes
from memento.retrieve.coder import Coder
from memento.retrieve.codes import Bits
from memento.retrieve.product import Product

_CODERS: dict[ScanCodes, type[Coder]] = {ScanCodes.BITS: Bits, ScanCodes.PRODUCT: Product}


def coder_of(name: ScanCodes | str) -> type[Coder]:
    """Return what makes codes of this name. It loads nothing.

    >>> coder_of("bits").__name__
    'Bits'
    """
    return _CODERS[ScanCodes(name)]
