"""One generous licence for each class: the wording without which a class is not believed. Pure.

The detector judges by likeness, so it may take a joke for a plan. A plan without a time, a rule
without an imperative, or a fact about nobody is returned as doubtful at most.
"""

from __future__ import annotations

import re

from memento.observe.signals import Signal

_ME = r"\b(?:i|i'[a-z]+|im|ive|me|my|mine|myself|we|we'[a-z]+|us|our|ours)\b"
_MONTHS = r"""january|february|march|april|may|june|july|august|september|october|november|december
    |jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"""
_TIME = rf"""\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|tomorrow|tonight|today|weekend
    |(?:next|this|coming)\s+\w+|(?:{_MONTHS})\b|christmas|easter|thanksgiving|q[1-4]|noon|midnight
    |in\s+(?:an?|one|two|three|four|five|six|ten|\d+|a\s+few)\s+(?:days?|weeks?|months?|years?|hours?)
    |\d{{1,2}}(?:st|nd|rd|th)|\d{{1,2}}:\d\d|\d{{1,2}}\s?(?:am|pm)|\d{{4}}-\d\d-\d\d|20\d\d
    |spring|summer|autumn|fall|winter|morning|evening|(?:first|second|third|fifth|end|start)\s+of
    |at\s+(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven))\b"""
_PATTERNS = {
    Signal.IDENTITY: rf"{_ME} | \b(?:name|call|here|born|pronouns|by\s+training|moved|is)\b",
    Signal.FACT: rf"""{_ME} | ^\W*(?:the|fyi|note|nb|remember|important|all|every\w*|only|each
        |just|got|backups|keep\s+in\s+mind|bear\s+in\s+mind|please\s+note|in\s+case
        |for\s+(?:reference|context))\b
        (?!.*\b(?:was|were)\b)""",
    Signal.RELATION: rf"{_ME} | \b(?-i:[A-Z])\w+\b.*\b\w+",
    Signal.PREFERENCE: rf"""{_ME} | \b(?:fan|keen|into|prefer\w*|favou?rite|love|hate|like|dislike
        |please|rather|best|beats|better|only)\b""",
    Signal.RULE: r"""\b(?:must|should|shall|have\s+to|need\s+to|needs?|always|never|don't|dont
        |do\s+not|only|every|each|all|whenever|when|before|after|if|please|pls|from\s+now|rule|policy
        |forbid\w*|convention|want|expect|make\s+sure|ensure|going\s+forward|in\s+future|mustn't|may|no|not)\b
        | ^\W*(?:(?:ok|okay|hey|and|also|so|then|well|just|by\s+the\s+way)\W+)*
          (?!(?:the|this|that|it|i|we|my|our|he|she|they|you're|there|what|who)\b)[a-z]+""",
    Signal.CORRECTION: r"""\b(?:no|nope|nah|not|actually|wrong|sorry|correct\w*|instead|longer|now
        |any\s?more|changed?|switched|moved?|told|meant|said|scratch|misspoke|mistake\w*|incorrect
        |forgot|forget\w*|got|mixed|rather|update|turns|\w+n't|dont|stopped|gave|rid|oops|old
        |outdated|renamed|extended|misread|keep|again|strike|ignore|new|right|true|once\s+more|backwards)\b""",
    Signal.DECISION: r"""\b(?:decid\w+|decision|agree\w*|chose|chosen|choos\w+|choice|pick\w*
        |settl\w+|go(?:ing|nna)?|went|let's|lets|we'll|i'll|will|won't|drop\w*|final|option|opt\w*|vot\w+
        |keep\w*|stick\w*|sticking|approv\w+|accept\w*|reject\w*|turn\w*|sign\w*|it\s+is|resolved
        |conclu\w+|not|mov\w+|replac\w+|cut\w*|quit\w*|tak\w+|took|winner|use|select\w*|ended)\b""",
    Signal.PLAN: _TIME,
    Signal.TODO: r"""\b(?:remind\w*|remember|to-?\s?dos?|need\w*|have\s+to|has\s+to|must|mustn't
        |should|ought|gotta|got\s+to|forget|list|note|task|action|open|outstanding|still|owe|follow
        |ping|nudge|wake|due|promised|homework|add|put|set)\b""",
    Signal.PROCEDURE: r"""\b(?:then|first|after\w*|next|by\s+\w+ing|finally|steps?|before|and)\b
        | [:;,]""",
    Signal.FEEDBACK: r"""\b(?:perfect\w*|great\w*|good|nice\w*|lov\w+|like|awesome|exact\w*|work\w*
        |fix\w*|help\w*|useless|wrong|bad|terrible|too|long|short|still|fail\w*|\w+n't|doesnt|didnt
        |not|better|thank\w*|thx|brilliant|excellent|spot|right|miss\w*|misunder\w*|ignored?|br[eo]k\w*
        |dead|off|hallucinat\w+|made|invent\w*|confus\w+|stopped|did\s+(?:it|the)|solv\w+|well|job
        |nailed|quick|nonsense|boring|disappoint\w+|ask\w*|sense|worse|keep|more|pass|amazing|wow
        |fantastic|useful|clear\w*|super|beautiful\w*|sloppy|rubbish|crash\w*|error|compil\w+)\b""",
    Signal.FORGET: r"""\b(?:forget|forgot|delet\w+|eras\w+|remov\w+|wip\w+|clear|purge|scrub|drop
        |unlearn|strike|discard|lose|remember\w*|stor\w+|sav\w+|keep|kept|record|memor\w+|writ\w+
        |note\w*|log|take|private|must\s+go)\b""",
}
_LICENCES = {
    signal: re.compile(pattern, re.IGNORECASE | re.VERBOSE) for signal, pattern in _PATTERNS.items()
}


def licenses(signal: Signal, sentence: str) -> bool:
    """Tell whether the wording of an English sentence permits a class.

    >>> licenses(Signal.PLAN, "My exam is on Monday."), licenses(Signal.PLAN, "My plan is good.")
    (True, False)
    """
    return _LICENCES[signal].search(sentence.replace("’", "'")) is not None  # noqa: RUF001 - a real apostrophe
