"""Reading text: words, stems, dates, questions and statements. Pure, without the ledger.

words            what a word is, for the index and for queries; stems of Cyrillic and Arabic
                 (English: ``porter`` in ``ledger.schema``); an estimate of tokens;
                 ``STOP_WORDS``, ``WEAK_WORDS``, ``HEAD``; cues
sentences        which parts of a text are statements: ``PIECE``; whether a text merely asks
whose            which clauses are the speaker's own, and which another person's
when             which times a text speaks of, and what else is asked; moments and lengths of time
                 (``UNITS``)
dates, foreign_dates  days of ISO dates and English months; of other words for time, six languages
date_tables, spelled_dates  these words, of ``lexicon/dates.*.toml``; short forms written in full
former_question  whether a former value is asked for
answer_form      which kind of answer is wanted, and whether a text holds it
worldly          whether a question is to the world, or about the person who asks
chatter          which texts say nothing: ``MOST_WORDS``
codes, synonyms  other spellings of identifiers; other words for everyday things
gist, alike      what is the same text but for fillers (``FILLERS``); the same in nearly the same
                 words
opposed          whether two statements are opposites, or one repeats the other: ``LONGEST``
fast_pattern     how patterns in letters of either case are found cheaply
"""
