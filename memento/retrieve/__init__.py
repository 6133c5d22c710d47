"""Read path: parse the query, search by words, meaning and name, weigh evidence, rank, shorten."""
