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

# Found among the 1,500 most common words of the tokenizer of the default model: those that are not
# what a question is about. Verbs such as "eat" and nouns such as "house" are left out.
_EMPTY = """
    about actually again ago ahead almost alone already alright although always another answer
    anybody anyone anything anyway apparently away back bad basically became become believe best
    better big bit boring brilliant called came certain certainly check checking checks clear
    come comes coming completely continue cool correct could course crazy deal definitely
    different directly done easy either else end ended enough entire especially even eventually
    ever every everybody everyone everything exactly explain fact far fast feel feeling feels
    felt few fine finish finished first follow following found full fun funny further gave gets
    getting gimme give given gives giving glad goes going gone gonna good got gotta great guess
    guy guys half happen happened happens happy hard hear heard help helped helpful helps here
    hold honestly hope however idea ill immediately important indeed instead interesting issue
    just keep kept kidding kind kinda knew know known knows late later least leave left less let
    like likely literally little long longer look looked looking looks lot lots made make makes
    making many matter maybe mean means meant might mind missed moment more most mostly much
    must nearly need needed needs never new next nice nobody none normally nothing obviously
    often okay only open opinion other others otherwise part particular perfectly perhaps please
    point possible pretty probably problem put question quick quickly quite rather ready real
    really reason remember repeat result right sad said same saw say saying says see seem seemed
    seems seen several shall should show shown simple simply since small somebody somehow
    someone something sometimes somewhat somewhere soon sorry sort sounds start started starts
    stay still stop stuff such suddenly suppose sure take taken takes taking talk talking tell
    telling tells terrible thing things think thinking thinks though thought through till tired
    together told took totally tried true truly trust try trying turn turned understand unless
    unlike unusual upon use used useful usual usually wait waiting wanna want wanted wants way
    weird well went whatever whenever wherever whether whole whose within without wonder
    wonderful wondering word words worry worth wow wrong yeah yep yes yet zero
"""
EMPTY_WORDS = WEAK_WORDS | frozenset(_EMPTY.split())
"""Folded words that do not tell what a question is about, even together: "are you sure"."""
