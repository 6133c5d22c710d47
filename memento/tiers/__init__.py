"""The indexes beside the ledger: short (ring buffers) and long (Chroma), and their background work.

The medium tier, full text, is part of the ledger; exact search by vector is part of ``retrieve``.
"""
