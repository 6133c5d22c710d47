"""The indexes beside the ledger, all made from it: the short and the long tier, and who feeds them.

ring            short (ring buffers: a cache, ``SESSIONS``; `ledger.memories.overflow`, called by
                ``write.remember``, moves turns on), and its snapshot
long_tier       long: when the Chroma folder is opened, fed, and set aside as damaged:
                ``MAX_RESETS``
chroma, chroma_server  how Chroma is asked, as a folder (``EF_SEARCH``) or as a server (``OLDEST``)
folder, check_in_child  who owns the folder, how it was left (``MAX_UNCLEAN``); whether it is sound
exact, mapped   exact search: file and tail of vectors; from which size it is mapped:
                ``MAPPED_FROM``
derived         which derived files are used, and who writes them
indexer         when the backlog is worked off, and for whom it waits: ``BITE_TEXTS``, ``GIVE_WAY``
queue           which text is embedded next: ``LOOK``, ``LATELY``
work            what is done with a text, and with one that the embedder refuses
store_embedder  which embedder a store has, and whether it is still the same: ``CANARY``, ``SAME``;
                how the tokens of a prompt are counted

The medium tier, full text, is part of the ledger. ``retrieve.vector_search`` loads the vectors and
chooses between exact search and Chroma; ``admit.importance`` chooses the tier of a new memory.
"""
