"""A turn of a conversation becomes memories, without a language model.

candidates  the way in: `candidates.find` asks the next ones in turn; rules need more,
            ``RULE_DOUBT``
mask, split  what is not the user's statement, such as code and quotations; where sentences end
language    which language it is: English is read by models, others by the tables of ``cues``
carried     whether it may have words of others (``LONGEST``): then nothing that steers is learned
reader, cues  which words state something, and of which class; ``CERTAIN``, ``LANGUAGES`` of cues
leads       whether it is only shown, played or supposed
signals     the classes, and from which probability one is sure or doubtful: ``STORE_AT``,
            ``DOUBT_AT``
derive      what is stored of a candidate: text, kind (``KINDS``), ``IMPORTANCE``, scope, dates
wording     what of a sentence is taken, its condition, what is quoted beside it (``MOST_QUOTED``)
slots, nouns  which slot it fills, with which value; of what people have one (``POSSESSIONS``)
personal, slot_reader  what it settles about its speaker (``SLOTS``), as a model reads it
asked       what a request to forget is about; whether feedback praises or faults
ended, change_reader  what has ended; whether a model sees a change (how sure: ``write.succession``)
pointing    what a language model may see and point at: ``WORTH_AT``, ``RULE_AT``, ``MOST_ITEMS``
values      what ``observe`` returns

No step has side effects. Importing this package loads no weights and no numpy.
"""
