"""Read a request to forget, and whether feedback praises or faults. Pure."""

from __future__ import annotations

import re

_THIS = re.compile(
    r"\b(?:don't|do not|never) (?:store|save|remember|keep|record|log|memori[sz]e)"
    r" (?:this|that|it|any of (?:this|it)|anything)\b"
    r"|\b(?:off the record|forget (?:this|that) (?:message|turn)|keep this between us)\b",
    re.IGNORECASE,
)
_ABOUT = re.compile(r"\b(?:about|regarding|concerning)\s+(?P<about>.+)$", re.IGNORECASE)
_NAMED = re.compile(
    r"\b(?:forget|delete|remove|erase|wipe|clear|drop)\s+(?:all |everything |any )?"
    r"(?P<about>(?:my|our|the)\s+.+)$",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"[;(…—].*$|\s[-–]\s.*$|,?\s(?:please|pls|thanks)\W*$", re.IGNORECASE)  # noqa: RUF001
"""What a request says besides: "..., please", "... (the old one)"."""
_FROM_MEMORY = re.compile(r"\s(?:from|in) (?:your |the )?memory$", re.IGNORECASE)
_OWN = re.compile(r"(?:my|our|the|me|myself)\s+", re.IGNORECASE)
_WORD = re.compile(r"\w{3,}")
_KEYS = {
    "address": "user/home", "home address": "user/home", "phone number": "user/phone",
    "number": "user/phone", "email address": "user/email", "e-mail": "user/email",
    "e-mail address": "user/email", "mail address": "user/email", "date of birth": "user/birthday",
    "workplace": "user/employer", "company": "user/employer", "profession": "user/job",
    "time zone": "user/timezone", "where i live": "user/home", "where i work": "user/employer",
    "how old i am": "user/age", "what i do": "user/job", "what i do for a living": "user/job",
    "what i am called": "user/name", "what i'm called": "user/name", "what my name is": "user/name",
    "when i was born": "user/birthday", "when my birthday is": "user/birthday",
}  # fmt: skip
_CLAUSES = sorted((key for key in _KEYS if key.startswith(("where", "how", "wh"))), key=len)
_CLAUSE = re.compile(
    r"\b(?:forget|delete|remove|erase|wipe|clear|drop)\s+(?P<about>"
    rf"{'|'.join(reversed(_CLAUSES))})$",
    re.IGNORECASE,
)
"""A clause that names a slot: "Forget where I live"."""
_FAULTS = re.compile(
    r"""\b(?:useless|wrong|incorrect|bad|terrible|awful|worse|misunderst\w+|missed|nonsense|rubbish
    |unhelpful|disappoint\w+|too\ (?:long|short|verbose|complicated|vague|much)|garbage|annoying
    |still\ (?:fail\w*|broken|not|does|doesn['’]?t|wrong)|made\ it\ worse
    |not\ (?:what|helpful|right|good|it)
    |made\ (?:that|it)\ up|nope?)\b|n['’]t\s(?:help|work|what|right|answer|do|compile|fix)""",  # noqa: RUF001 - a real apostrophe
    re.IGNORECASE | re.VERBOSE,
)


def means_this_turn(request: str) -> bool:
    """Return whether a request is not to store what is being said.

    >>> means_this_turn("Please don't store this.")
    True
    """
    return _THIS.search(request) is not None


def subject_of(request: str) -> str:
    """Return the words that say what to forget, without "my"; ``""`` if none do.

    >>> subject_of("Forget what I said about the Berlin office.")
    'Berlin office'
    """
    said = _ASIDE.sub("", request.replace("’", "'").rstrip(".! \n"))  # noqa: RUF001 - real
    said = _FROM_MEMORY.sub("", said.rstrip(".! "))
    match = _ABOUT.search(said) or _NAMED.search(said) or _CLAUSE.search(said)
    return "" if match is None else _OWN.sub("", match["about"], count=1).strip(" \"'")


def keys_of(subject: str) -> tuple[str, ...]:
    """Return the slots that a subject may name.

    >>> keys_of("phone number")
    ('user/phone', 'user/phone-number', 'project/phone-number')
    """
    folded = " ".join(subject.casefold().split())
    slug = "-".join(re.findall(r"[\w.+#-]+", folded))
    usual = _KEYS.get(folded)
    return (*((usual,) if usual else ()), f"user/{slug}", f"project/{slug}")


def mentions_all(text: str, subject: str) -> bool:
    """Return whether a text has every longer word of a subject."""
    words = set(_WORD.findall(subject.casefold()))
    return bool(words) and words <= set(_WORD.findall(text.casefold()))


def mentions_some(text: str, subject: str) -> bool:
    """Return whether a text has a longer word of a subject."""
    words = set(_WORD.findall(subject.casefold()))
    return not words.isdisjoint(_WORD.findall(text.casefold()))


def faults(feedback: str) -> bool:
    """Return whether feedback is fault; otherwise it is praise.

    >>> faults("That didn't help at all."), faults("That worked, thanks!")
    (True, False)
    """
    return _FAULTS.search(feedback) is not None
