"""Read path: query, gather, fuse, rank, budget."""
