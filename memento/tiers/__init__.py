"""The indexes beside the ledger: short (ring buffers) and long (Chroma), and their background work.

The medium tier, full text, is part of the ledger. ``exact`` and ``mapped`` hold the vectors for
exact search; ``retrieve.vector_search`` loads them and chooses between it and Chroma.
"""
