"""The words of five languages and of plain numbers for time, as tables. Pure.

Each language is a table and a few patterns with the same named groups, so that one reader serves
all; see `date_words`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

Shape = tuple[str, str]
"""The name of a reader, see `date_words`, and the pattern that it reads."""


@dataclass(frozen=True, slots=True)
class Tongue:
    """The words of one language for time.

    Attributes:
        name: Its ISO 639-1 code; "" for none.
        shapes: Patterns, each with how it is read.
        months: First letters of a month to its number.
        weekdays: First letters of a weekday to its number, 0 for Monday.
        near: Word for a day to its distance from today.
        units: First letters of a unit to ``day``, ``week``, ``weekend``, ``month`` or ``year``.
        ways: First letters of "last", "this", "next" to -1, 0, 1.
        numbers: Number words to their value.
        common: Frequent words by which the language is recognised; empty where the script tells.
        doubtful: Date words that are also words of other languages, read only in sure texts.
    """

    name: str
    shapes: tuple[Shape, ...]
    months: Mapping[str, int] = field(default_factory=dict)
    weekdays: Mapping[str, int] = field(default_factory=dict)
    near: Mapping[str, int] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    ways: Mapping[str, int] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)
    common: frozenset[str] = frozenset()
    doubtful: frozenset[str] = frozenset()


def _numbered(names: str, first: int) -> dict[str, int]:
    """Number words; the spellings of one are joined by ``/``."""
    return {each: at for at, name in enumerate(names.split(), first) for each in name.split("/")}


def words_in(text: str) -> frozenset[str]:
    """Return the words of a list that is written as one text."""
    return frozenset(text.split())


def _any(words: Mapping[str, object] | str) -> str:
    """Write a pattern for any of some words, the longest first."""
    listed = words.split() if isinstance(words, str) else list(words)
    return "|".join(sorted((re.escape(word) for word in listed), key=len, reverse=True))


def _shapes(**patterns: str) -> tuple[Shape, ...]:
    """List patterns; the name of each is how it is read, without a number at its end."""
    return tuple((name.rstrip("0123456789"), pattern) for name, pattern in patterns.items())


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern when its language is met first; all of them take 20 ms."""
    return re.compile(pattern, re.IGNORECASE)


ANY = Tongue(
    "",
    _shapes(
        date=r"(?<![\d.,/-])(?P<d>\d{1,2})(?P<sep>[./-])(?P<m>\d{1,2})(?P=sep)(?P<y>\d{4})"
        r"(?!\d|[./-]\d)",
        date2=r"(?<![\d.,/-])(?P<d>\d{2})(?P<sep>[./])(?P<m>\d{2})(?P=sep)(?P<y>\d{2})"
        r"(?!\d|[./-]\d)",
        date3=r"\b(?P<y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})(?=T\d)",
        date4=r"\b(?:am|vom|zum|bis|seit|ab|den|dem|on|since)\s+(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.(?!\d)",
    ),
)
"""Numbers in any language. The day comes first, unless the second number cannot be a month."""

_EN_NUMBERS = _numbered("one two three four five six seven eight nine ten eleven twelve", 1) | {
    "couple of": 2, "few": 3, "several": 4,
}  # fmt: skip
_EN_DAYS = _numbered("monday tuesday wednesday thursday friday saturday sunday", 0)
_EN_N = rf"(?P<n>\d{{1,3}}|(?:a\s+)?(?:{_any(_EN_NUMBERS)}))"
_EN_U = r"(?P<u>days?|weeks?|months?|years?)\b"
ENGLISH = Tongue(
    "en",
    _shapes(
        span=rf"\b(?:the\s+)?(?P<way>last|past|previous|next|coming)\s+{_EN_N}\s+{_EN_U}",
        ahead=rf"\bin\s+{_EN_N}\s+{_EN_U}",
        ahead2=rf"\b{_EN_N}\s+{_EN_U}\s+from\s+(?:now|today)\b",
        weekday=rf"\b(?P<wd>{_any(_EN_DAYS)})s?\b",
        weekend=r"\b(?:at|on|over|during|for)\s+the\s+week-?end\b",
        near=r"\b(?:the\s+)?(?P<near>day\s+after\s+tomorrow)\b",
        near2=r"\b(?P<near>this\s+(?:afternoon|evening)|earlier\s+today|later\s+today)\b",
    ),
    weekdays=_EN_DAYS,
    near={"day": 2, "this": 0, "earlier": 0, "later": 0},
    units={"day": "day", "week": "week", "month": "month", "year": "year"},
    ways={"last": -1, "past": -1, "previous": -1, "next": 1, "coming": 1},
    numbers=_EN_NUMBERS,
    common=words_in(
        """the what did do does was were is are i we you my our have had has of to and
        in on at which who when where how about for with any anything"""
    ),
)
"""Phrases of English questions beside the forms that `dates` reads."""

_DE_MONTHS = _numbered("jan/jän feb/feber mär/maer/mrz/marz apr mai jun jul aug sep okt nov dez", 1)
_DE_DAYS = _numbered("montag dienstag mittwoch donnerstag freitag samstag/sonnabend sonntag", 0)
_DE_NUMBERS = _numbered(
    "ein/einem/einer zwei drei vier fünf/fuenf sechs sieben acht neun zehn elf zwölf", 1
) | {"ein paar": 3, "einigen": 3}
_DE_M = (
    r"(?P<m>Jan(?:uar)?|Jänner|Feb(?:ruar)?|März|Maerz|Mrz|Apr(?:il)?|Mai|Juni?|Juli?|Aug(?:ust)?"
    r"|Sept?(?:ember)?|Okt(?:ober)?|Nov(?:ember)?|Dez(?:ember)?)"
)
_DE_LONG = (
    r"(?P<m>Januar|Jänner|Februar|März|Maerz|April|Mai|Juni|Juli|August|September|Oktober|November"
    r"|Dezember)"
)
_DE_WAY = r"(?P<way>letzt|vergangen|vorig|vorletzt|nächst|naechst|kommend|übernächst|dies)e?[nrsm]?"
_DE_U = r"(?P<u>Tage?n?|Wochenenden?|Wochen?|Monate?[ns]?|Jahre?[ns]?)\b"
_DE_N = rf"(?P<n>\d{{1,3}}|{_any(_DE_NUMBERS)})"
GERMAN = Tongue(
    "de",
    _shapes(
        date=rf"\b(?P<d>\d{{1,2}})\.?\s*{_DE_M}\b\.?(?:\s+(?P<y>\d{{4}}))?",
        date2=rf"\b{_DE_LONG}\b(?:\s+(?P<y>\d{{4}}))?",
        near=r"\b(?P<near>vorgestern|gestern|heute|übermorgen|uebermorgen"
        r"|(?<!am )(?<!guten )(?<!jeden )(?<!heute )(?<!gestern )morgen)\b"
        r"(?:\s+(?:früh|morgen|vormittag|mittag|nachmittag|abend|nacht)\b)?",
        ago=rf"\bvor\s+{_DE_N}\s+{_DE_U}",
        ahead=rf"\bin\s+{_DE_N}\s+{_DE_U}",
        span=rf"\b(?:den\s+)?{_DE_WAY}\s+{_DE_N}\s+{_DE_U}",
        shift=rf"\b{_DE_WAY}\s+{_DE_U}",
        shift2=rf"\b{_DE_WAY}\s+(?P<wd>{_any(_DE_DAYS)})\b",
        weekday=rf"\b(?P<wd>{_any(_DE_DAYS)})s?\b",
        weekend=r"\bam\s+Wochenende\b",
    ),
    months=_DE_MONTHS,
    weekdays=_DE_DAYS,
    near={
        "vorgestern": -2, "gestern": -1, "heute": 0, "morgen": 1, "übermorgen": 2, "uebermorgen": 2,
    },
    units={"wochenend": "weekend", "tag": "day", "woche": "week", "monat": "month", "jahr": "year"},
    ways={
        "letzt": -1, "vergangen": -1, "vorig": -1, "vorletzt": -2, "nächst": 1, "naechst": 1,
        "kommend": 1, "übernächst": 2, "dies": 0,
    },
    numbers=_DE_NUMBERS,
    common=words_in(
        """was wer wie wo wann welche welcher welches ist sind war waren ich wir habe
        haben hat wurde der die das den dem ein eine im am und mit mir mein meine
        über gibt steht es sie du"""
    ),
    doubtful=frozenset(["august", "april", "september", "november"]),
)  # fmt: skip

_FR_MONTHS = _numbered("janv fév/fev mars avr mai juin juil août/aout sept oct nov déc/dec", 1)
_FR_DAYS = _numbered("lundi mardi mercredi jeudi vendredi samedi dimanche", 0)
_FR_NUMBERS = _numbered("un/une deux trois quatre cinq six sept huit neuf dix onze douze", 1) | {
    "quelques": 3
}
_FR_M = (
    r"(?P<m>janvier|février|fevrier|mars|avril|mai|juin|juillet|août|aout|septembre|octobre"
    r"|novembre|décembre|decembre)"
)
_FR_U = r"(?P<u>jours?|semaines?|week-?ends?|mois|années?|annees?|ans?)\b"
_FR_AFTER = (
    r"(?P<way>derni[eè]re?s?|passée?s?|passees?|précédente?|precedente?|prochaine?s?|suivante?)\b"
)
_FR_N = rf"(?P<n>\d{{1,3}}|{_any(_FR_NUMBERS)})"
FRENCH = Tongue(
    "fr",
    _shapes(
        date=rf"\b(?P<d>\d{{1,2}}|1er)\s+{_FR_M}\b(?:\s+(?P<y>\d{{4}}))?",
        date2=rf"\b{_FR_M}\b(?:\s+(?P<y>\d{{4}}))?",
        near=r"\b(?P<near>avant[- ]hier|hier|aujourd['\u2019]hui|après[- ]demain|demain"
        r"|ce\s+(?:matin|soir)|cet\s+après-midi)\b(?:\s+(?:matin|soir))?",
        ago=rf"\bil\s+y\s+a\s+{_FR_N}\s+{_FR_U}",
        ahead=rf"\bdans\s+{_FR_N}\s+{_FR_U}",
        span=rf"\b(?:les|ces|des)\s+{_FR_N}\s+{_FR_AFTER}\s+{_FR_U}",
        shift=rf"\b{_FR_U}\s+{_FR_AFTER}",
        shift2=rf"\b(?P<wd>{_any(_FR_DAYS)})\s+{_FR_AFTER}",
        shift3=rf"\b(?P<way>cette|cet|ce)\s+{_FR_U}(?:-ci)?",
        weekday=rf"\b(?P<wd>{_any(_FR_DAYS)})\b",
        weekend=r"\b(?:le|ce)\s+week-?end\b",
    ),
    months=_FR_MONTHS,
    weekdays=_FR_DAYS,
    near={
        "avant": -2, "hier": -1, "aujourd": 0, "ce": 0, "demain": 1, "après": 2,
    },
    units={
        "jour": "day", "semaine": "week", "week": "weekend", "mois": "month", "an": "year",
    },
    ways={"derni": -1, "pass": -1, "pr": -1, "prochain": 1, "suivant": 1, "ce": 0},
    numbers=_FR_NUMBERS,
    common=words_in(
        """que qu quoi qui quel quelle quels quelles est était étaient ai avons avez a
        ont été il ils elle nous vous je j le la les l de du des d un une dans sur
        avec mon ma mes y s où"""
    ),
    doubtful=frozenset(["hier", "mars", "mardi"]),
)  # fmt: skip

_ES_MONTHS = _numbered("ene feb mar abr may jun jul ago sep/set oct nov dic", 1)
_ES_DAYS = _numbered("lunes martes miércoles/miercoles jueves viernes sábado/sabado domingo", 0)
_ES_NUMBERS = _numbered("un/una dos tres cuatro cinco seis siete ocho nueve diez once doce", 1) | {
    "unos": 3,
    "unas": 3,
}
_ES_M = (
    r"(?P<m>enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|setiembre|octubre"
    r"|noviembre|diciembre)"
)
_ES_U = r"(?P<u>d[ií]as?|fin(?:es)?\s+de\s+semana|semanas?|mes(?:es)?|años?)\b"
_ES_WAY = r"(?P<way>pasad[oa]s?|[uú]ltim[oa]s?|anterior|pr[oó]xim[oa]s?|que\s+viene|siguiente)\b"
_ES_N = rf"(?P<n>\d{{1,3}}|{_any(_ES_NUMBERS)})"
SPANISH = Tongue(
    "es",
    _shapes(
        date=rf"\b(?P<d>\d{{1,2}})\s+de\s+{_ES_M}\b(?:\s+(?:del?\s+)?(?P<y>\d{{4}}))?",
        date2=rf"\b{_ES_M}\b(?:\s+(?:del?\s+)?(?P<y>\d{{4}}))?",
        near=r"\b(?P<near>anteayer|antes\s+de\s+ayer|ayer|anoche|hoy|pasado\s+mañana"
        r"|(?<!la )(?<!esta )mañana|esta\s+(?:mañana|tarde|noche))\b",
        ago=rf"\bhace\s+{_ES_N}\s+{_ES_U}",
        ahead=rf"\b(?:en|dentro\s+de)\s+{_ES_N}\s+{_ES_U}",
        span=rf"\b(?P<way>[uú]ltim[oa]s|pr[oó]xim[oa]s)\s+{_ES_N}\s+{_ES_U}",
        shift=rf"\b{_ES_U}\s+{_ES_WAY}",
        shift2=rf"\b{_ES_WAY}\s+{_ES_U}",
        shift3=rf"\b(?P<wd>{_any(_ES_DAYS)})\s+{_ES_WAY}",
        shift4=rf"\b{_ES_WAY}\s+(?P<wd>{_any(_ES_DAYS)})\b",
        shift5=rf"\b(?P<way>est[ea])\s+{_ES_U}",
        weekday=rf"\b(?P<wd>{_any(_ES_DAYS)})\b",
        weekend=r"\bel\s+fin\s+de\s+semana\b",
    ),
    months=_ES_MONTHS,
    weekdays=_ES_DAYS,
    near={
        "antes": -2, "anteayer": -2, "ayer": -1, "anoche": -1, "hoy": 0, "esta": 0, "mañana": 1,
        "pasado": 2,
    },
    units={
        "día": "day", "dia": "day", "fin": "weekend", "semana": "week", "mes": "month",
        "año": "year",
    },
    ways={
        "pasad": -1, "últim": -1, "ultim": -1, "anterior": -1, "próxim": 1, "proxim": 1, "que": 1,
        "siguiente": 1, "est": 0,
    },
    numbers=_ES_NUMBERS,
    common=words_in(
        """qué que quién cuál cuándo dónde cómo el la los las un una de del en con es
        fue era hice hicimos he hemos hay mi mis yo nosotros me se lo y por para
        tengo sobre dije"""
    ),
    doubtful=frozenset(["mayo", "martes"]),
)  # fmt: skip

_HAN = _numbered("一 二/两/兩 三 四 五 六 七 八 九 十 十一 十二", 1)
_N = rf"(?P<n>\d{{1,3}}|{_any(_HAN)})"
_HAN_M = rf"(?P<m>\d{{1,2}}|{_any(_HAN)})月"
_YEARS = r"(?P<yy>一昨年|去年|昨年|今年|来年|來年|明年|前年)"
JAPANESE = Tongue(
    "ja",
    _shapes(
        date=rf"(?:(?P<y>\d{{4}})年)?{_HAN_M}(?:(?P<d>\d{{1,2}})日)?",
        date2=r"(?P<y>\d{4})年(?!前|後|間)",
        near=r"(?P<near>一昨日|おととい|昨日|きのう|昨夜|昨晩|ゆうべ|今日|きょう|本日|今朝|今晩|今夜"
        r"|明後日|あさって|明日|あした|あす)",
        ago=rf"{_N}(?P<u>日|週間|[かヶカヵケ箇]月|年)前",
        ahead=rf"{_N}(?P<u>日|週間|[かヶカヵケ箇]月|年)後",
        span=rf"(?P<way>この|過去|直近|最近|今後){_N}(?P<u>日|週|[かヶカヵケ箇]月|年)間?",
        shift=r"(?P<way>先々|先|今|来|再来)(?P<u>週末|週|月)(?!曜)",
        shift2=r"(?P<way>先々|先|今|来|再来)週の?(?P<wd>[月火水木金土日])曜日?",
        shift3=_YEARS,
        weekday=r"(?P<wd>[月火水木金土日])曜日?",
        weekend=r"(?<![先今来々])週末",
    ),
    weekdays=_numbered("月 火 水 木 金 土 日", 0),
    near={
        "一昨日": -2, "おととい": -2, "昨": -1, "きのう": -1, "ゆうべ": -1, "今": 0, "きょう": 0,
        "本日": 0, "明日": 1, "あした": 1, "あす": 1, "明後日": 2, "あさって": 2,
    },
    units={
        "日": "day", "週末": "weekend", "週": "week", "月": "month", "年": "year",
        **dict.fromkeys("かヶカヵケ箇", "month"),
    },
    ways={
        "先々": -2, "先": -1, "今": 0, "来": 1, "再来": 2, "この": -1, "過去": -1, "直近": -1,
        "最近": -1, "今後": 1,
    },
    numbers=_HAN,
)  # fmt: skip

_ZH_U = r"(?P<u>天|日|[个個]?星期|[个個]?[礼禮]拜|[个個]?周|週|[个個]?月|年)"
_ZH_WAY = r"(?P<way>上上|上|这|這|本|下下|下)一?[个個]?"
_ZH_WEEK = r"(?:周|週|星期|礼拜|禮拜)"
CHINESE = Tongue(
    "zh",
    _shapes(
        date=rf"(?:(?P<y>\d{{4}})年)?{_HAN_M}(?:份|(?P<d>\d{{1,2}}|{_any(_HAN)})[日号號])?",
        date2=r"(?P<y>\d{4})年(?!前|后|後|间|間)",
        near=r"(?P<near>前天|昨天|昨晚|昨日|今天|今早|今晚|今日|明天|明日|明晚|后天|後天)",
        ago=rf"{_N}{_ZH_U}以?前",
        ahead=rf"{_N}{_ZH_U}以?[后後]",
        span=rf"(?P<way>最近|过去|過去|未来|未來|接下来){_N}{_ZH_U}",
        shift=rf"{_ZH_WAY}(?P<u>周末|週末|星期|礼拜|禮拜|周|週|月)",
        shift2=rf"{_ZH_WAY}{_ZH_WEEK}(?P<wd>[一二三四五六日天])",
        shift3=_YEARS,
        weekday=rf"{_ZH_WEEK}(?P<wd>[一二三四五六日天])",
        weekend=r"(?<![上这這本下个個])(?:周末|週末)",
    ),
    weekdays=_numbered("一 二 三 四 五 六 日/天", 0),
    near={"前天": -2, "昨": -1, "今": 0, "明": 1, "后天": 2, "後天": 2},
    units={
        "天": "day", "日": "day", "周末": "weekend", "週末": "weekend", "周": "week", "週": "week",
        "星期": "week", "礼拜": "week", "禮拜": "week", "月": "month", "年": "year",
    },
    ways={
        "上上": -2, "上": -1, "这": 0, "這": 0, "本": 0, "下": 1, "下下": 2, "最近": -1, "过去": -1,
        "過去": -1, "未来": 1, "未來": 1, "接下来": 1,
    },
    numbers=_HAN,
)  # fmt: skip

MONTHS = tuple(
    tuple(names.split())
    for names in (
        "january jan januar janvier enero",
        "february feb februar fevrier febrero",
        "march mar marz mars marzo",
        "april apr avril abril",
        "may mai mayo",
        "june jun juni juin junio",
        "july jul juli juillet julio",
        "august aug aout agosto",
        "september sep sept septembre septiembre",
        "october oct oktober okt octobre octubre",
        "november nov novembre noviembre",
        "december dec dezember dez decembre diciembre",
    )
)
"""The names of each month, folded, in the languages that have names for them."""

_LATIN = (GERMAN, FRENCH, SPANISH)
_WORD = re.compile(r"[^\W\d_]+")
_KANA = re.compile(r"[\u3041-\u30fa]")
_HAN_SCRIPT = re.compile(r"[\u4e00-\u9fff]")
_DIGIT = re.compile(r"\d")


def tongues(text: str) -> list[tuple[Tongue, bool]]:
    """Guess the languages whose dates a text may hold, each with whether it is that language.

    Japanese and Chinese are told by their script; the others by their frequent words. A text with
    none of these may be in any of them, but then words that several languages share are not read.
    English is always among them.
    """
    found = [(ENGLISH, True)]
    if _DIGIT.search(text):
        found.append((ANY, True))
    if not text.isascii() and (_HAN_SCRIPT.search(text) or _KANA.search(text)):
        east = [JAPANESE] if _KANA.search(text) else [JAPANESE, CHINESE]
        return [*found, *((tongue, True) for tongue in east)]
    words = set(_WORD.findall(text.lower()))
    heard = [len(words & tongue.common) for tongue in _LATIN]
    most = max(heard)
    if len(words & ENGLISH.common) > most:
        return found
    best = [tongue for tongue, count in zip(_LATIN, heard, strict=True) if count == most]
    return [*found, *((tongue, bool(most) and len(best) == 1) for tongue in best)]
