"""Insight into memories: names that link them, and chains of evidence.

names       which words are a name, and what a text says about it: ``MOST_WORDS``, ``STEM``
name_index  which memories have a name; in RAM for ``KEPT`` namespaces
reason      which facts make a chain from a question to its answer: ``MOST_NAMES``, ``PATHS``,
            ``CANDIDATES``, weights ``SHARED``, ``ONWARD``, ``UNRELATED``, ``JOINED``
findings    the values that insight returns, its overviews too

The overviews and their numbers are in ``memento.verbs.insight``.
"""
