"""Where to look: short (ring buffer), medium (FTS5), long (Chroma), exact (NumPy)."""
