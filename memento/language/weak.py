"""Words that say little about the subject of a question. Pure; standard library only.

They are not stop words: "when was the last one" has nothing else to look up. Beside a stronger
word they count less, since a memory that shares only "last" or "called" with a question is
rarely its answer.
"""

from __future__ import annotations

# With their inflections, because a question is not stemmed. Verbs such as "take" or "work" and
# words such as "place" are left out: in a dialogue they often are the subject.
_ENGLISH = """
    call calls called name named live lives lived happen happens happened get gets got getting
    want wants wanted use uses used using
    last first old new one ones time times day days thing things
"""
_GERMAN = """
    heisst heissen nennt genannt wohnt wohne passiert benutzt benutze
    letzte letzten letzter letztes erste ersten erster erstes alte alten alter altes neue neuen
    neuer neues zeit tag tage sache sachen ding dinge
"""
_SPANISH = """
    llama llaman vive vivo paso pasa usa uso quiere quiero ultimo ultima primero primera viejo vieja
    nuevo nueva tiempo dia dias cosa cosas vez
"""
_FRENCH = """
    appelle appelait habite passe utilise veux veut dernier derniere premier premiere vieux vieille
    nouveau nouvelle temps jour jours chose choses fois
"""
WEAK_WORDS = frozenset(f"{_ENGLISH}{_GERMAN}{_SPANISH}{_FRENCH}".split())
"""Folded words that count less beside a stronger word."""
