"""One generous licence for each class: the wording without which a class is not believed. Pure.

The detector judges by likeness, so it may take a joke for a plan. A plan without a time, a rule
without an imperative, or a fact about nobody is returned as doubtful at most.
"""

from __future__ import annotations

import re

from memento.observe.signals import Signal
from memento.observe.standalone import stands

_ME = r"\b(?:i|i'[a-z]+|im|ive|me|my|mine|myself|we|we'[a-z]+|us|our|ours)\b"
_MONTHS = r"""january|february|march|april|may|june|july|august|september|october|november|december
    |jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"""
_TIME = rf"""\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|tomorrow|tonight|today|weekend
    |(?:next|this|coming)\s++\w+|(?:{_MONTHS})\b|christmas|easter|thanksgiving|q[1-4]|noon|midnight
    |in\s++(?:an?|one|two|three|four|five|six|ten|\d+|a\s++few)\s++(?:days?|weeks?|months?|years?|hours?)
    |\d{{1,2}}(?:st|nd|rd|th)|\d{{1,2}}:\d\d|\d{{1,2}}\s?(?:am|pm)|\d{{4}}-\d\d-\d\d|20\d\d
    |spring|summer|autumn|fall|winter|morning|evening|(?:first|second|third|fifth|end|start)\s++of
    |at\s++(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven))\b"""
_PATTERNS = {
    Signal.IDENTITY: rf"{_ME} | \b(?:name|call|here|born|pronouns|by\s++training|moved|is)\b",
    Signal.FACT: rf"""{_ME} | ^\W*(?:the|fyi|note|nb|remember|important|all|every\w*|only|each
        |just|got|backups|keep\s++in\s++mind|bear\s++in\s++mind|please\s++note|in\s++case
        |for\s++(?:reference|context))\b
        (?!.*\b(?:was|were)\b)""",
    Signal.RELATION: rf"""{_ME} | ^(?>.*?\b(?-i:[A-Z])\w+\b).*\b(?:own|handl|maintain|respons|charge
        |lead|manag|run|tak|look|decid|approv|sign|report|review|wrote|writ|know|contact|design|engineer|test
        |develop|admin|head|boss|chief|c[a-z]o\b|sister|brother|sibling|mother|father|married|ex\b
        |partner|friend|colleague|intern|owner|person|one\b|works?\b|does|has\b|have
        |is\s++(?:the|a)\b|in\s++law|called)""",
    Signal.PREFERENCE: rf"""{_ME} | ^\W*(?:(?:big|huge|not|never|no|really|much|would|also
        |just|honestly|frankly|personally|definitely|usually|very|so|too|a|an|rather|way|more|well|hi|btw)\W+)*
        (?:fan|keen|into|prefer\w*|favou?rite|lov\w+|hat\w+|lik\w+|dislike|please|best|better
        |only)\b | \bplease\b""",
    Signal.RULE: r"""\b(?:must|should|shall|have\s++to|need\s++to|needs?|always|never|don't|dont
        |do\s++not|only|every|each|all|whenever|when|before|after|if|please|pls|from\s++now|rule|policy
        |forbid\w*|convention|want|expect|make\s++sure|ensure|going\s++forward|in\s++future|mustn't|may|no|not)\b
        | ^\W*(?:(?:ok|okay|hey|and|also|so|then|well|just|by\s++the\s++way)\W+)*
          (?!(?:the|this|that|it|i|we|my|our|he|she|they|you're|there|what|who
             |nobody|somebody|someone|everybody
             |\w+\s++(?:hundred|thousand))\b)[a-z]+""",
    Signal.CORRECTION: r"""\b(?:no|nope|nah|not|actually|wrong|sorry|correct\w*|instead|longer|now
        |any\s?more|changed?|switched|migrated|moved?|told|meant|said|scratch|misspoke|mistake\w*|incorrect
        |forgot|forget\w*|got|mixed|rather|update|turns|\w+n't|dont|stopped|gave|rid|oops|old
        |outdated|renamed|extended|misread|keep|again|strike|ignore|new|right|true|once\s++more|backwards)\b""",
    Signal.DECISION: r"""\b(?:decid\w+|decision|agree\w*|chose|chosen|choos\w+|choice|pick\w*
        |settl\w+|go(?:ing|nna)?|went|let's|lets|we'll|i'll|will|won't|drop\w*|final|option|opt\w*|vot\w+
        |keep\w*|stick\w*|sticking|approv\w+|accept\w*|reject\w*|turn\w*|sign\w*|it\s++is|resolved
        |conclu\w+|not|mov\w+|replac\w+|cut\w*|quit\w*|tak\w+|took|winner|use|select\w*|ended)\b""",
    Signal.PLAN: _TIME,
    Signal.TODO: r"""\b(?:remind\w*|remember|to-?\s?dos?|need\w*|have\s++to|has\s++to|must|mustn't
        |should|ought|gotta|got\s++to|forget|list|note|task|action|open|outstanding|still|owe|follow
        |ping|nudge|wake|due|promised|homework|add|put|set)\b""",
    Signal.PROCEDURE: r"""\b(?:then|first|after\w*|next|by\s++\w+ing|finally|steps?|before|and)\b
        | [:;,]""",
    Signal.FEEDBACK: r"""\b(?:perfect\w*|great\w*|good|nice\w*|lov\w+|like|awesome|exact\w*|work\w*
        |fix\w*|help\w*|useless|wrong|bad|terrible|too|long|short|still|fail\w*|\w+n't|doesnt|didnt
        |not|better|thank\w*|thx|brilliant|excellent|spot|right|miss\w*|misunder\w*|ignored?|br[eo]k\w*
        |dead|off|hallucinat\w+|made|invent\w*|confus\w+|stopped|did\s++(?:it|the)|solv\w+|well|job
        |nailed|quick|nonsense|boring|disappoint\w+|ask\w*|sense|worse|keep|more|pass|amazing|wow
        |fantastic|useful|clear\w*|super|beautiful\w*|sloppy|rubbish|crash\w*|error|compil\w+)\b""",
    Signal.FORGET: r"""\b(?:forget|forgot|delet\w+|eras\w+|remov\w+|wip\w+|clear|purge|scrub|drop
        |unlearn|strike|discard|lose|remember\w*|stor\w+|sav\w+|keep|kept|record|memor\w+|writ\w+
        |note\w*|log|take|private|must\s++go)\b""",
}
_LICENCES = {
    signal: re.compile(pattern, re.IGNORECASE | re.VERBOSE) for signal, pattern in _PATTERNS.items()
}


_DETERMINED = r"""(?:me|us|it|this|that|these|those|the|an?|my|our|his|her|some|one|two|three|four
    |five|ten|\d+|another|more)"""
_ONCE = re.compile(
    rf"""^\W*(?:(?:please|pls|ok|okay|now|so|and|also|then|can\s++you|could\s++you)\W+)*
    (?:give|add|fix|run|write|create|make|show|tell|explain|find|list|delete|remove|change|replace
      |rename|sort|convert|calculate|compare|describe|generate|open|install|search|book|try|continue
      |check|update|refactor|restart|build|solve|plot|draw|rewrite|shorten|include|send|help|suggest
      |recommend|look|go|do|move|copy|print|complete|choose|pick|plan|look\s++up|put|insert)\b
      (?!\s++(?!{_DETERMINED}\b)(?:\w+\s++)?\w+s\b)""",
    re.IGNORECASE | re.VERBOSE,
)
"""An imperative that asks for work now, not for a habit: "Add a column", not "Add type hints"."""
_THIS_TIME = re.compile(
    r"""^\W*(?:(?:ok|okay|and|now|but|no(?=\s*[,.;!]))\W+)*(?:(?:a\s++(?:bit|little)|much|even|slightly|still)\s++)?
      (?:\w+er|(?:more|less)\s++\w+)(?:\W+(?:please|pls|thanks|now|then|still))*\W*$""",
    re.IGNORECASE | re.VERBOSE,
)
"""A comparison alone is about the answer that was just given: "Shorter, please"."""
_STANDING = re.compile(
    r"""\b(?:always|never|every|each|all|any|whenever|when|if|before|after|from\s++now|in\s++future
      |by\s++default|only|unless|without|in\s++general|ever|until|sure|first|no\s++more|not)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_START = r"^\W*(?:(?:also|yeah|yes|so|and|plus|ok|okay|then|well|sure)\W+)*"
_WILL = r"i'll|i\s++will|let's|i\s++(?:just\s++|really\s++)?(?:want|need|think)"
_GLAD = r"""(?:that's|that\s++is|how|what|i'm\s++(?:so|really|very|just)|so)\s++
    (?:so\s++|such\s++|really\s++)?(?:a\s++)?
    (?:great|good|awesome|amazing|wonderful|lovely|happy|glad|sorry|sad|proud|sweet|nice|cool|fantastic
    |exciting|thrilled|pleased)\b | (?:i\s++)?can't\s++wait\b"""
"""The start of what is said to someone about their news."""
_SOOTHES = r"""no\s++(?:worries|problem|probs|doubt|way|kidding|rush|hurry|pressure|biggie
    |hard\s++feelings|need\s++to\s++\w+)\b(?!.*\b(?:but|it's|it\s++is|i'm|my|use|not|should|called|named)\b)
    | (?:you're|you\s++are|that's)\s++(?:\w+\s++)?(?:right|true|correct)(?:\W+\w+)?\W*$"""
"""Reassurance and agreement, with a name at most: "No worries, Ann", "You're so right, Ben"."""
_TELLS = r"""i\s++told\s++(?:her|him|them)\b
    | (?:wait|oh|ah)\W+(?:no\W+)?i\s++(?:was\s++\w+ing|had)\b
    | (?:i|we|he|she|they|some(?:one|body))\s++\w+\s++(?!.*\b(?:it's|is|was|you)\b).*
      \bthe\s++wrong\b"""
"""A mishap of the day: "I sent it to the wrong Andrea" corrects nothing."""
_CHEERS = r"""(?:please\s++)?(?:
      (?:don't|do\s++not|never|always)\s++(?:ever\s++)?(?:give\s++up\b(?!.*\b(?:before|after|until)\b)|quit\b(?=\W*$|\s++on\b)|worry|mention\s++it|stop\s++(?:being
        |believing|dreaming|learning)|be\s++(?:so\s++|too\s++)?(?:hard|sad|afraid|sorry|shy)|believe\s++in
        |let\s++.*\b(?:get|bring|stop|tell|pull|hold)\s++you\b)
    | keep\s++(?:it\s++up|going|at\s++it|smiling|up\s++the|in\s++touch|fighting|believing|dreaming)
    | hang\s++in | believe\s++in | stay\s++(?:strong|positive|safe|true|curious) | enjoy\b
    | follow\s++your | trust\s++(?:yourself|your\s++(?:gut|heart|instincts?))
    | let\s++(?:me|us)\s++know\s++(?:how\b|what\s++you
        |if\s++(?:you|there's|there\s++is)\s++(?:need|want|have|get|ever|anything)) )"""
"""Encouragement: an imperative that asks for nothing."""
_ADVISES = r"""(?:you\s++(?:should|could|must|have\s++to|need\s++to|ought\s++to|gotta))\s++
    (?:really\s++|totally\s++|definitely\s++|also\s++|so\s++|just\s++)?(?:go\s++(?:to|there|and|some)
    |try(?!\s++to)|see|visit|come|watch|meet|taste|rest|relax|treat|be\s++proud
    |take\s++a\s++(?:break|rest|nap|walk|trip|breath|holiday))\b(?!.*\b(?:always|never|every|i|me|my)\b)
    | for\s++(?:example|instance)\b"""
"""Advice to a friend: not what the assistant is to do."""
_PERSISTS = r"""(?:i|we)(?:'ll|\s++will|\s++won't|\s++will\s++not)\s++(?:never\s++|not\s++)?
    (?:give\s++up|quit(?:\W+\w+)?\W*$|keep\s++(?:you|going|trying|at)
    |stop\s++(?:now|trying|believing)|let\s++\w+\s++down)"""
"""A promise to go on, which decides nothing."""
_REMEMBERS = r"""\b(?:never|can't|cannot|won't|couldn't|will\s++not)\s++(?:ever\s++)?forget\b
    | \bunforgettable\b
    | \bi\s++(?:do\s++|still\s++|also\s++|can\s++)?remember\b(?!\s++to\b)"""
"""Words of someone who remembers; they ask to forget nothing."""
_PASSES = r"""(?:\bsince\s++(?:breakfast|lunch|dinner|this\s++\w+|yesterday
        |last\s++night|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:five|six|seven|eight|nine|ten|noon)\b)
      | \b(?:today|tonight|this\s++(?:morning|afternoon|evening)|yesterday|last\s++night|just\s++now
        |all\s++(?:day|morning|afternoon|evening|night|week)(?:\s++long)?|for\s++(?:hours|days|ages)|for\s++now
        |once\s++again|again)\W*$)
    (?<!\bnow\ and\ again)"""
"""A state of the day: "I can't find it since lunch", "The lift is out again"."""
_CHANGES = re.compile(
    r"""\b(?:turned|born|died|married|engaged|divorced|promoted|hired|fired|moved|joined|started|quit|left
      |retired|diagnosed|adopted|bought|sold|signed|graduated|passed|became|allergic|pregnant)\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Events of a day that last."""
_FORBIDDEN = {
    signal: re.compile(pattern, re.IGNORECASE | re.VERBOSE)
    for signal, pattern in {
        Signal.RULE: rf"""{_START}(?:{_CHEERS}|{_ADVISES}|(?:i'm|i\s++am|i've|i'll|i\s++will|let's
            |here(?:'s|\s++\w+))\b) | :[^\w:]*$""",
        Signal.PROCEDURE: rf"""{_START}
            (?:i'm|i\s++am|i've|i\s++have|i\s++prefer|i\s++decided|{_WILL})\b""",
        Signal.CORRECTION: rf"{_START}(?:{_SOOTHES}|{_TELLS})",
        Signal.TODO: r"\b(?:need|want)\s++to\s++know\b",
        Signal.DECISION: rf"{_START}(?:{_PERSISTS}|{_CHEERS}|{_GLAD})",
        Signal.FORGET: _REMEMBERS,
        Signal.RELATION: rf"{_START}(?:(?:{_WILL})\b|{_GLAD})|:[^\w:]*$",
        Signal.FACT: rf":[^\w:]*$|{_START}(?:{_GLAD})",
        Signal.IDENTITY: rf"{_START}(?:{_GLAD})",
        Signal.PREFERENCE: rf":[^\w:]*$|{_START}(?:{_GLAD})",
    }.items()
}
"""Wording with which a class is not believed: the introduction of something pasted is no fact."""
_PASSING = re.compile(_PASSES, re.IGNORECASE | re.VERBOSE)
_LASTING = frozenset({Signal.FACT, Signal.IDENTITY})
"""Classes that hold beyond the day."""
_LONGEST = 40
"""Maximum number of words in one statement; a longer sentence tells a story."""
_ANYBODY = re.compile(
    r"^\W*(?:many|most|some|people|nobody|an?|one|cats|dogs|children|kids)\s++(?!.*\b(?:must|needs?)\b)",
    re.IGNORECASE,
)
"""Subjects of sayings and of general knowledge."""


def licenses(signal: Signal, sentence: str) -> bool:
    """Return whether the wording of an English sentence permits a class.

    >>> licenses(Signal.PLAN, "My exam is on Monday."), licenses(Signal.PLAN, "My plan is good.")
    (True, False)
    """
    said = sentence.replace("’", "'")  # noqa: RUF001 - a real apostrophe
    if said.count(" ") >= _LONGEST or (signal in _FORBIDDEN and _FORBIDDEN[signal].search(said)):
        return False
    if signal in _LASTING and _PASSING.search(said) and not _CHANGES.search(said):
        return False
    if signal is Signal.RULE and (
        _THIS_TIME.match(said)
        or _ANYBODY.match(said)
        or (_ONCE.match(said) and not _STANDING.search(said))
    ):
        return False
    return _LICENCES[signal].search(said) is not None and stands(signal, said)
