"""A turn of a conversation becomes memories, without a language model.

``candidates.find`` reads one message of a user: mask, split, guard, detect, license. Each step is
a module and has no side effects. Importing this package loads no weights and no numpy.
"""
