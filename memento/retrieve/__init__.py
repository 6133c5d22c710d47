"""The read path: parse the query, gather candidates, weigh evidence, order, cut to the budget.

request        which arguments of a call are valid
shared         which other namespaces are asked, and how their answers are joined
searcher       one namespace: brings its roster up to date, asks, reads the rows of the hits
context        what every step needs, prepared: names, times, heirs; ``CHANCE``
question, spellings  what is asked for; other spellings of its words: ``CORRECTED``, ``MEANT``
answer         the path from here, `answer.find`: ``ARM`` candidates, ``CAP``; the budget
gather         which search proposes which candidates; the next four modules are the searches
by_words       BM25 of a memory and its neighbours' heads: ``K1``, ``B``, ``NEAR``, ``FAR``,
               ``WEAK``
by_meaning     cosines, with half of the neighbours' vectors
by_time, by_name  days (``SURE``, ``ASKS_MORE``) and keys or aliases (``MIN_TYPO``) in a query
former_values  how much of a former value's evidence goes to its heir: ``SHARE``
judging        the steps of a judgement, and confidence: ``HIT``, ``ANSWER``, ``NEAR``, ``LACKS``
evidence       the score: ``PIECES``, and their weights in ``Weights``: ``TURNS``, ``NOTES``
usage_boost    how places change by use and belief: ``BELIEF_WEIGHT``, ``WORTH_WEIGHT``,
               ``LINK_WEIGHT``
order          what else moves a hit: ``RULES``; repeats, and the tail of a list: ``HEAD``, ``POOL``
standings      which of two conflicting memories stands higher
passage        which part of a long text is shown: ``WINDOWS``, ``WINDOW``
vector_search  who compares vectors, all or Chroma: ``CHROMA_FROM``, ``PASS``, ``LACKING``
visible        which rows may be found: the twin of ``ledger.predicate``
columns, cache, outline  the roster of a namespace in RAM; which rosters stay; its file (``MANY``)
ledger_source, known_at  texts and postings of now; of an earlier moment (``MOST_REWORDED``)
"""
