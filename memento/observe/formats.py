"""The formats of secrets, each by what its provider publishes about it. Pure data.

A format is looked for only in a text that holds one of its anchors, and most anchors only in a
text with a long run of characters that keys are made of; so an ordinary text pays few
microseconds. Where a
format carries a checksum, or can be decoded, that decides; where it is only a prefix and random
characters, these must look random, so that ``ghp_xxxxxxxx`` in a manual stays as it is.

Source: the providers' documentation of their tokens. GitHub's and npm's checksum: "Behind
GitHub's new authentication token formats", github.blog, 2021. age: the C2SP specification of age
keys (Bech32, BIP 173). JWT: RFC 7519. PEM: RFC 7468.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache

MARK = "[redacted:"
"""How the marker that takes the place of a secret begins."""

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
CHECKSUM_CHARS = 6
LONG = 16
"""Characters of the shortest run that holds a secret, passwords that are named so apart."""
RUN_CHARS = BASE62 + "_-./+=:~@%!$&*#,;"
"""What such runs are made of."""
LEAST_VARIED = 8
"""Fewest different characters in 20 or more random ones; 20 hexadecimal digits have 8 or more in
999 of 1,000 cases, and what people write to stand for a key has fewer."""

_PLACEHOLDERS = frozenset({
    "password", "passwd", "pass", "pwd", "secret", "token", "key", "changeme", "change_me",
    "example", "placeholder", "redacted", "your_password", "yourpassword", "mypassword", "hunter",
    "none", "null", "true", "false", "required", "optional", "hidden", "username", "user",
    "string", "undefined",
})  # fmt: skip
_VARIABLE = re.compile(
    r"\$[{(]|\$[A-Za-z_]\w*$|%[A-Za-z_]+%$|%\(|[{<*(\[]|[A-Za-z_][\w.]*[(\[]|[~.]{0,2}/"
    r"|(?:os|process|self|env|config)\."
)
_WORDY = re.compile(r"[A-Za-z_.-]+")
_RUN = re.compile(r"[A-Za-z0-9]{12,}")
_LETTER, _DIGIT = re.compile(r"[A-Za-z]"), re.compile(r"\d")


class Place(Enum):
    """Where the anchors of a format are looked for."""

    RUN = "run"
    """In words of `LONG` characters or more, letter for letter."""
    BESIDE = "beside"
    """Anywhere in a text that has such a word, regardless of case."""
    ANYWHERE = "anywhere"
    """In any text, regardless of case."""


@dataclass(frozen=True, slots=True)
class Format:
    """One format of secrets.

    Attributes:
        kind: What it is called in the marker, such as ``github-token``.
        anchors: A text without any of these holds none; where to look for them says ``place``.
        pattern: Expression that finds it; the group ``secret`` is what is taken out, else all of
            the match.
        proof: Tells a real one from what only looks like one.
        place: Where an anchor must stand.
    """

    kind: str
    anchors: tuple[str, ...]
    pattern: str
    proof: Callable[[str], bool]
    place: Place = Place.RUN

    @property
    def finder(self) -> re.Pattern[str]:
        """The pattern, compiled when it is first wanted: all of them take 10 ms."""
        return _compiled(self.pattern)


_compiled = cache(re.compile)


def crc_base62(body: str) -> str:
    """Return the checksum GitHub and npm put at the end of a token: CRC-32 in six base-62 digits.

    >>> crc_base62("zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ")
    '0mLq17'
    """
    number = zlib.crc32(body.encode())
    digits = ""
    for _ in range(CHECKSUM_CHARS):
        number, rest = divmod(number, 62)
        digits = BASE62[rest] + digits
    return digits


def bech32_holds(text: str) -> bool:
    """Tell whether the checksum of a Bech32 string holds (BIP 173)."""
    prefix, _, data = text.lower().rpartition("1")
    values = [ord(char) >> 5 for char in prefix] + [0] + [ord(char) & 31 for char in prefix]
    values += [BECH32.find(char) for char in data]
    check = 1
    for value in values:
        top, check = check >> 25, (check & 0x1FFFFFF) << 5 ^ value
        for bit, term in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            check ^= term if top >> bit & 1 else 0
    return check == 1


def _crc(token: str) -> bool:
    body = token.partition("_")[2]
    return crc_base62(body[:-CHECKSUM_CHARS]) == body[-CHECKSUM_CHARS:]


def _random(token: str) -> bool:
    return len(set(token)) >= LEAST_VARIED


def _mixed(token: str) -> bool:
    """Tell random characters from hyphenated words: letters and digits, and many of both."""
    return _random(token) and bool(_LETTER.search(token)) and len(_DIGIT.findall(token)) > 1


def _dense(token: str) -> bool:
    """Tell random characters behind a prefix as short as ``sk-`` from words with hyphens."""
    return any(_LETTER.search(run) and _DIGIT.search(run) for run in _RUN.findall(token))


def _jwt(token: str) -> bool:
    header = token.partition(".")[0]
    try:
        fields = json.loads(base64.urlsafe_b64decode(header + "=" * (-len(header) % 4)))
    except (binascii.Error, ValueError):
        return False
    return isinstance(fields, dict) and ("alg" in fields or "enc" in fields)


def _discord(token: str) -> bool:
    """Tell a bot's token by its first part, which is its number in Base64."""
    first = token.partition(".")[0]
    try:
        return base64.b64decode(first + "=" * (-len(first) % 4)).isdigit()
    except (binascii.Error, ValueError):
        return False


def _chosen(value: str) -> bool:
    """Tell a password somebody chose from a variable, a path, a placeholder or a plain word."""
    if value.startswith(MARK) or value.lower() in _PLACEHOLDERS or _VARIABLE.match(value):
        return False
    return len(set(value)) > 2 and not _WORDY.fullmatch(value)  # noqa: PLR2004 - "xxx", "***"


def _url_password(value: str) -> bool:
    """Tell a password in an address from what stands for one; here plain words are real."""
    shown = value.startswith(MARK) or value.lower() in _PLACEHOLDERS or _VARIABLE.match(value)
    return not shown and len(set(value)) > 2  # noqa: PLR2004 - "xxx", "***"


def _spoken(value: str) -> bool:
    return _chosen(value) and bool(_LETTER.search(value)) and bool(_DIGIT.search(value))


def _keyed(value: str) -> bool:
    return _chosen(value) and _mixed(value)


_SPELT = (
    r"\\[abfnrtv0]|\[[mK]",
    r"%[0-9A-Fa-f]{2}|[\[;]\dm",
    r"\\x[0-9A-Fa-f]{2}|[\[;]\d\dm",
    r"[\[;]\d\d\dm",
    r"\\u00[0-9A-Fa-f]{2}",
)
"""What ends in a letter or digit and spells something else, by length: escapes of JSON and Python,
those of an address, and the end of what switches a terminal's colours."""


def _begins(first: str = "") -> str:
    """Return an expression for where a token begins, behind its first character if one is given."""
    spelt = "|".join(f"(?<=(?:{one}){first})" for one in _SPELT)
    return f"(?:(?<![A-Za-z0-9]{first})|{spelt})"


_BEFORE = _begins()
"""A token begins here: no letter or digit before it, but for one that spells something else."""
_AFTER = r"(?![A-Za-z0-9])"
"""A token ends here."""
_WORD = "[A-Za-z0-9]"
_URL = "[A-Za-z0-9_-]"
"""The alphabet of URL-safe Base64."""
_HEX = "[a-f0-9]"
_PEM = r"(?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
_ASSIGNED = r"(?:\\*[\"'`])?[ \t]*(?::=|=>|[:=]|%3[ADad])[ \t]*(?:\\*[\"'`])?"
_LAST = r"[^\s\"'`.,;:!?<>()\[\]{}\\]"
"""The last character of a password: what closes a sentence or a bracket is not taken for it."""
_NAMED = rf"(?i:(?=[acpst]){_BEFORE}(?:"


def _token(
    kind: str,
    prefixes: str,
    body: str,
    proof: Callable[[str], bool] = _random,
    *,
    start: str = _BEFORE,
    end: str = _AFTER,
) -> Format:
    """Describe a format that is one of some prefixes, which are its anchors, and a body."""
    anchors = tuple(prefixes.split())
    prefix = "|".join(map(re.escape, anchors))
    return Format(kind, anchors, f"{start}(?:{prefix}){body}{end}", proof)


def _shape(
    kind: str,
    anchors: str,
    *parts: str,
    proof: Callable[[str], bool] = _random,
    place: Place = Place.RUN,
) -> Format:
    return Format(kind, tuple(anchors.split()), "".join(parts), proof, place)


FORMATS: tuple[Format, ...] = (
    # keys of several lines, and tokens that hold others' prefixes, come first
    _shape(
        "private-key",
        "key-----",
        rf"-----BEGIN {_PEM}(?:(?!-----BEGIN)[\s\S]){{32,20000}}?-----END {_PEM}",
        rf"|-----BEGIN {_PEM}(?:(?:\s|\\[nr])+[A-Za-z0-9+/=]{{32,}})+",
        place=Place.BESIDE,
    ),
    _shape("age-key", "AGE-SECRET-KEY-1", "AGE-SECRET-KEY-1[A-Z0-9]{58}", proof=bech32_holds),
    _token("1password-token", "ops_eyJ", "[A-Za-z0-9+/=_-]{200,2000}", end=""),
    _token("sentry-token", "sntrys_eyJ", "[A-Za-z0-9+/=_-]{40,500}", end=""),
    _token("sentry-token", "sntryu_", f"{_HEX}{{64}}"),
    _shape("jwt", "eyJ", rf"eyJ{_URL}{{8,2000}}+\.{_URL}{{8,}}\.{_URL}{{16,}}", proof=_jwt),
    # clouds
    _token("aws-access-key-id", "AKIA ASIA ABIA ACCA", "[A-Z2-7]{16}"),
    _shape(
        "aws-secret-access-key",
        "secret",
        rf"(?i:secret[_ ]?(?:access[_ ]?)?key){_ASSIGNED}",
        r"(?P<secret>[A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])",
        proof=_mixed,
        place=Place.BESIDE,
    ),
    _token("google-api-key", "AIza", f"{_URL}{{35}}"),
    _token("google-oauth-secret", "GOCSPX-", f"{_URL}{{28}}"),
    _token("google-access-token", "ya29.", f"{_URL}{{20,2000}}"),
    _shape("azure-storage-key", "AccountKey=", r"AccountKey=(?P<secret>[A-Za-z0-9+/]{86}==)"),
    _shape("azure-client-secret", "Q~", rf"{_BEFORE}[\w.~-]{{3}}\dQ~[\w.~-]{{31,34}}{_AFTER}"),
    _token("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", f"{_HEX}{{64}}"),
    _token("heroku-key", "HRKU-AA", f"{_URL}{{58}}"),
    _token("fly-token", "fo1_", f"{_URL}{{43}}"),
    _token(
        "tailscale-key",
        "tskey-",
        f"(?:api|auth|client|scim|webhook)-{_WORD}{{4,40}}-{_WORD}{{20,60}}",
    ),
    _token("vault-token", "hvs. hvb. hvr.", f"{_URL}{{24,300}}"),
    _shape(
        "terraform-token", ".atlasv1.", rf"{_BEFORE}{_WORD}{{14}}\.atlasv1\.{_URL}{{60,70}}{_AFTER}"
    ),
    _token("pulumi-token", "pul-", f"{_HEX}{{40}}"),
    _token(
        "doppler-token", "dp.pt. dp.st. dp.ct. dp.sa.", r"(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}"
    ),
    _token("databricks-token", "dapi", rf"{_HEX}{{32}}(?:-\d)?"),
    _token("planetscale-token", "pscale_", "(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}"),
    _token("supabase-key", "sbp_", f"{_HEX}{{40}}"),
    # code and packages
    _token("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", f"{_WORD}{{36}}", _crc, start=""),
    _token("github-token", "github_pat_", f"{_WORD}{{22}}_{_WORD}{{59}}"),
    _token(
        "gitlab-token",
        "glpat- gldt- glrt- gloas- glptt- glft- glimt- glagent- glsoat- glcbt- glffct-",
        "[A-Za-z0-9_.-]{20,}",
    ),
    _token(
        "atlassian-token", "ATATT3 ATCTT3 ATBB", "[A-Za-z0-9_=-]{28,250}", end="(?![A-Za-z0-9_-])"
    ),
    _token("npm-token", "npm_", f"{_WORD}{{36}}", _crc, start=""),
    _token("pypi-token", "pypi-AgEIcHlwaS5vcmc pypi-AgENdGVzdC5weXBpLm9yZw", f"{_URL}{{50,1000}}"),
    _token("rubygems-key", "rubygems_", f"{_HEX}{{48}}"),
    _token("docker-token", "dckr_pat_ dckr_oat_", f"{_URL}{{27,40}}"),
    # chat and mail
    _token(
        "slack-token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs-", "[A-Za-z0-9-]{20,250}", _mixed
    ),
    _token("slack-token", "xoxe.xoxb- xoxe.xoxp- xapp-", "[A-Za-z0-9-]{20,250}", _mixed),
    _shape(
        "slack-webhook",
        "hooks.slack.com",
        rf"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>{_WORD}{{6,}}(?:/{_WORD}{{8,}})+)",
    ),
    _shape("discord-webhook", "/webhooks/", rf"/webhooks/\d{{17,20}}/(?P<secret>{_URL}{{60,80}})"),
    _shape(
        "discord-token",
        ".",
        rf"[MNO]{_begins('[MNO]')}{_URL}{{23,27}}\.{_URL}{{6}}\.{_URL}{{27,38}}{_AFTER}",
        proof=_discord,
    ),
    _shape("telegram-token", ":AA", rf"{_BEFORE}\d{{8,10}}:AA{_URL}{{33}}(?![A-Za-z0-9-])"),
    _token("sendgrid-key", "SG.", rf"{_URL}{{22}}\.{_URL}{{43}}"),
    _token("mailgun-key", "key-", f"{_HEX}{{32}}"),
    _shape("mailchimp-key", "-us", rf"{_BEFORE}{_HEX}{{32}}-us\d{{1,2}}{_AFTER}"),
    # language models
    _token(
        "anthropic-key", "sk-ant-", f"(?:[a-z]+\\d\\d-)?{_URL}{{40,}}", _dense, end=f"(?!{_URL})"
    ),
    _token("openrouter-key", "sk-or-v1-", f"{_HEX}{{64}}"),
    _token(
        "openai-key", "sk-", f"(?:proj-|svcacct-|admin-)?{_URL}{{20,}}", _dense, end=f"(?!{_URL})"
    ),
    _token("huggingface-token", "hf_", f"{_WORD}{{34,40}}"),
    _token("groq-key", "gsk_", f"{_WORD}{{52}}"),
    _token("xai-key", "xai-", f"{_WORD}{{70,90}}"),
    _token("perplexity-key", "pplx-", f"{_WORD}{{48}}"),
    _token("replicate-token", "r8_", f"{_WORD}{{37}}"),
    # money
    _token("stripe-key", "sk_live_ rk_live_ sk_test_ rk_test_", f"{_WORD}{{24,247}}"),
    _token("stripe-webhook-secret", "whsec_", "[A-Za-z0-9+/=]{32,64}"),
    _token("shopify-token", "shpat_ shpca_ shppa_ shpss_", "[a-fA-F0-9]{32}"),
    _token("square-token", "sq0atp- sq0csp-", f"{_URL}{{22,43}}"),
    # tools
    _token("airtable-token", "pat", rf"{_WORD}{{14}}\.{_HEX}{{64}}"),
    _token("grafana-token", "glsa_", f"{_WORD}{{32}}_{_HEX}{{8}}"),
    _token("newrelic-key", "NRAK-", "[A-Z0-9]{27}"),
    _token("linear-key", "lin_api_", f"{_WORD}{{40}}"),
    _token("notion-token", "ntn_", f"{_WORD}{{40,50}}"),
    _token("notion-token", "secret_", f"{_WORD}{{43}}", _mixed),
    _token("figma-token", "figd_", f"{_URL}{{40,46}}"),
    _token("postman-key", "PMAK-", f"{_HEX}{{24}}-{_HEX}{{34}}"),
    # what a name or a place gives away
    _shape(
        "url-password",
        "://",
        rf"{_BEFORE}[A-Za-z][A-Za-z0-9+.-]{{0,20}}",
        r"://[^\s/:@?#\"'<>]{0,128}:",
        r"(?P<secret>[^\s/@\"'<>]{1,256})@(?=[\w.\[-])",
        proof=_url_password,
    ),
    _shape(
        "authorization-header",
        "bearer basic",
        rf"(?=[Bb]){_BEFORE}(?i:bearer|basic)(?:[ \t]+|%20|\+)",
        r"(?P<secret>[A-Za-z0-9._~+/-]{20,2000}={0,2})(?![A-Za-z0-9.~+/-])",
        proof=_keyed,
        place=Place.BESIDE,
    ),
    _shape(
        "password",
        "passw passphrase pwd",
        rf"{_NAMED}passw(?:or)?d|passphrase|pwd)){_ASSIGNED}(?P<secret>[^\s\"'`,;<>\x1b]{{5,127}}{_LAST})",
        proof=_chosen,
        place=Place.ANYWHERE,
    ),
    _shape(
        "password",
        "passw passphrase",
        rf"(?=[Pp]){_BEFORE}(?i:(?:password|passphrase)\b)",
        r"[^.!?\n:=]{0,40}?\b(?i:is|was|to)\b",
        r"(?i:[ \t]+(?:now|set|changed|reset|to))*[ \t]+[\"'`]?",
        rf"(?P<secret>[^\s\"'`\x1b]{{5,127}}{_LAST})",
        proof=_spoken,
        place=Place.ANYWHERE,
    ),
    _shape(
        "assigned-key",
        "key token secret credential",
        rf"{_NAMED}api[_-]?key|access[_-]?key|private[_-]?key|secret[_-]?key|auth[_-]?key|",
        rf"account[_-]?key|token|secret|credentials?)){_ASSIGNED}",
        r"(?P<secret>[A-Za-z0-9+/_.~-]{16,512}={0,2})(?![\w+/~-])",
        proof=_keyed,
        place=Place.BESIDE,
    ),
)
"""In order of precedence: where two overlap, the first counts."""


_GATES = ("_", "-", ".")


def _gate(one: Format) -> str:
    """Return a character that every anchor of a format has; "" if there is none."""
    return next((gate for gate in _GATES if all(gate in a for a in one.anchors)), "")


IN_RUNS = tuple(
    (
        gate,
        tuple(
            (anchor, one)
            for one in FORMATS
            if one.place is Place.RUN and _gate(one) == gate
            for anchor in one.anchors
        ),
    )
    for gate in ("", *_GATES)
)
"""Character that some formats' anchors share, and those anchors with their formats."""


def _folded(place: Place) -> tuple[tuple[bytes, tuple[Format, ...]], ...]:
    ones = [one for one in FORMATS if one.place is place]
    anchors = dict.fromkeys(anchor for one in ones for anchor in one.anchors)
    return tuple(
        (anchor.encode(), tuple(one for one in ones if anchor in one.anchors)) for anchor in anchors
    )


BESIDE, ANYWHERE = _folded(Place.BESIDE), _folded(Place.ANYWHERE)
"""Anchors to look for in the text in lower case, with their formats."""
RUNS = bytes(byte not in RUN_CHARS.encode() for byte in range(256))
"""Table for ``bytes.translate``: 0 for what runs are made of, 1 for all else."""

ORDER = {id(one): rank for rank, one in enumerate(FORMATS)}
KINDS = tuple(sorted({one.kind for one in FORMATS}))
"""All that a marker can name."""
