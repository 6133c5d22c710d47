"""The formats of secrets, as their providers publish them. Pure data.

A new format is one entry of `FORMATS`.

A format is searched for only in a text that holds one of its anchors, and most anchors only in a
text with a long run of key characters; so an ordinary text costs a few microseconds.
``secret_validators`` then tells a secret from a lookalike, so that ``ghp_xxxxxxxx`` in a manual
stays. A valid checksum is enough to find a token that is glued to a word; an invalid one rules
nothing out: a token with one mistyped character still gives away the rest.

Source: the providers' documentation of their tokens. GitHub's and npm's checksum: "Behind
GitHub's new authentication token formats", github.blog, 2021. age: the C2SP specification of age
keys. JWT: RFC 7519. PEM: RFC 7468. PuTTY: its manual, appendix
C. Basic: RFC 7617.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache

from memento.admit import secret_validators
from memento.admit.secret_validators import BASE62

LONG = 16
"""Characters of the shortest run that holds a secret, passwords that are named so apart."""
RUN_CHARS = BASE62 + "_-./+=:~@%!$&*#,;"
"""Characters that such runs are made of."""


class SecretPlace(Enum):
    """Where the anchors of a format are searched for."""

    RUN = "run"
    """In words of `LONG` characters or more, letter for letter."""
    BESIDE = "beside"
    """Anywhere in a text that has such a word, regardless of case."""
    ANYWHERE = "anywhere"
    """In any text, regardless of case."""


@dataclass(frozen=True, slots=True)
class SecretFormat:
    """One format of secrets.

    Attributes:
        kind: What it is called in the marker, such as ``github-token``.
        anchors: Every secret of the format contains one of these; ``place`` says where.
        pattern: Expression that finds it. The group ``secret`` is what is removed; without that
            group, the whole match.
        proof: Tells a real one from a lookalike.
        place: Where an anchor must stand.
        over_lines: Expression that finds a key that is broken over lines; it starts with an anchor.
            "" unless all keys have the same length: otherwise the last line is unknown.
        leading: Whether each key begins with an anchor.
    """

    kind: str
    anchors: tuple[str, ...]
    pattern: str
    proof: Callable[[str], bool]
    place: SecretPlace = SecretPlace.RUN
    over_lines: str = ""
    leading: bool = False

    @property
    def finder(self) -> re.Pattern[str]:
        """The pattern, compiled at its first use: compiling all of them takes 10 ms."""
        return _compiled(self.pattern)

    @property
    def broken(self) -> re.Pattern[str]:
        """The expression for keys broken over lines, compiled at its first use."""
        return _compiled(self.over_lines)


_compiled = cache(re.compile)


_ESCAPES = (
    r"\\[abfnrtv0]|\[[mK]",
    r"%[0-9A-Fa-f]{2}|[\[;]\dm",
    r"\\x[0-9A-Fa-f]{2}|[\[;]\d\dm",
    r"[\[;]\d\d\dm",
    r"\\u00[0-9A-Fa-f]{2}",
)
"""Escapes that end in a letter or digit, by length: those of JSON, Python and URLs, and the end of
a terminal colour sequence."""


def _begins(first: str = "") -> str:
    """Return an expression for the start of a token, or for after its first character if given."""
    escapes = "|".join(f"(?<=(?:{one}){first})" for one in _ESCAPES)
    return f"(?:(?<![A-Za-z0-9]{first})|{escapes})"


_BEFORE = _begins()
"""A token begins here: no letter or digit before it, except one that ends an escape."""
_AFTER = r"(?![A-Za-z0-9])"
"""A token ends here."""
_WORD = "[A-Za-z0-9]"
_URL = "[A-Za-z0-9_-]"
"""The alphabet of URL-safe Base64."""
_END_OF_URL = "(?!_*[A-Za-z0-9-])"
"""A URL-safe body ends here; underscores of Markdown may follow."""
_HEX = "[a-f0-9]"
_PEM = r"(?:[A-Z0-9]+ )*(?:PRIVATE|SECRET) KEY(?: BLOCK)?-----"
_GAP = r"(?:[\s>]|\\[nr])++"
"""Between the lines of a key: line ends, perhaps escaped, and the quotation mark of a mail."""
_HEADER = r"[A-Z][A-Za-z-]{1,40}: [^\n\\]{1,200}+"
"""A header line above the body: the program that wrote a PGP key, or how a key is encrypted."""
_QUOTE = r"(?:\\*[\"'`]|&(?:quot|apos|#3[49]|#x2[27]);)?"
"""A quotation mark, as it is, escaped, or encoded for HTML."""
_ASSIGNED = rf"{_QUOTE}[ \t]*(?::=|=>|[:=]|%3[ADad])[ \t]*{_QUOTE}"
_PORT = "(?:80|443|1080|3128|8000|8080|8443|8888|9090)"
"""Ports of proxies, which are not passwords."""
_LAST = r"[^\s\"'`.,;:!?<>()\[\]{}\\]"
"""The last character of a password: punctuation that ends a sentence or bracket is not part."""
_NO_CODE = r"(?![A-Za-z0-9_+/~(\[-]|\.[A-Za-z_])"
"""No key character follows, and no call, subscript or attribute, which would make it code."""
_SAID = (
    r"(?i:[ \t]+(?:for|of|on|to|at|in|from)(?:[ \t]+[\w'-]{1,40}){1,5}?)?[ \t]+"
    r"(?i:(?:is|was|will[ \t]+be|has[ \t]+been|to)\b"
    r"(?:[ \t]+(?:now|still|set|changed|reset|just|to)\b)*)"
    r"(?:[ \t]*:)?[ \t]+[\"'`]?"
)
"""The verb of a sentence that gives a password; only its purpose may precede the verb."""
_PASSWORD = rf"(?:(?!&(?:quot|apos|#3[49]|#x2[27]|lt|gt);)[^\s\"'`,;<>\x1b]){{5,127}}{_LAST}"
"""A chosen password, 6 to 128 characters; it ends before an HTML entity of a quotation mark."""
_NAMED = rf"(?ai:(?=[acpst]){_BEFORE}(?:"


BREAK = r"\\?\r?\n[ \t>]*+"
"""The end of a line, perhaps escaped for a shell, and the indent or mail quote of the next."""
_FIXED = re.compile(r"(?:(?:\[[^\[\]]+\]\{\d+\})|\\?[._-])+")
"""A body of fixed length: parts with a separator between them."""
_PART = re.compile(r"(\[[^\[\]]+\])\{(\d+)\}|(\\?[._-])")


def _over_lines(body: str) -> str:
    """Return an expression for a body broken over lines; "" if its length is not fixed.

    >>> _over_lines("[a-z]{2,}")
    ''
    """
    if not _FIXED.fullmatch(body):
        return ""
    gap = f"(?:{BREAK})?+"
    return _PART.sub(lambda m: f"(?:{gap}{m[1]}){{{m[2]}}}" if m[1] else gap + m[3], body)


def _token(
    kind: str,
    prefixes: str,
    body: str,
    proof: Callable[[str], bool] = secret_validators.random,
    *,
    start: str = _BEFORE,
    end: str = _AFTER,
) -> SecretFormat:
    """Return the format of a prefix and a body; the prefixes are its anchors."""
    anchors = tuple(prefixes.split())
    prefix = "|".join(map(re.escape, anchors))
    begin, broken = f"{start}(?:{prefix})", _over_lines(body)
    over_lines = f"{begin}{broken}{end}" if broken else ""
    return SecretFormat(
        kind, anchors, f"{begin}{body}{end}", proof, over_lines=over_lines, leading=True
    )


def _shape(
    kind: str,
    anchors: str,
    *parts: str,
    proof: Callable[[str], bool] = secret_validators.random,
    place: SecretPlace = SecretPlace.RUN,
) -> SecretFormat:
    return SecretFormat(kind, tuple(anchors.split()), "".join(parts), proof, place)


FORMATS: tuple[SecretFormat, ...] = (
    # keys of several lines, and tokens that contain prefixes of others, come first
    _shape(
        "private-key",
        "-----begin",
        rf"-----BEGIN {_PEM}(?:(?!-----BEGIN)[\s\S]){{32,20000}}?-----END {_PEM}",
        rf"|-----BEGIN {_PEM}(?:{_GAP}{_HEADER})*+(?:{_GAP}[A-Za-z0-9+/=]{{32,}}+)++",
        place=SecretPlace.ANYWHERE,
    ),
    _shape(
        "private-key",
        "private-lines:",
        rf"Private-Lines: \d{{1,4}}(?:{_GAP}[A-Za-z0-9+/=]{{32,}}+)++",
        rf"(?:{_GAP}[A-Za-z0-9+/=]++(?={_GAP}Private-))?+",
        rf"(?:{_GAP}Private-(?:MAC|Hash): [0-9a-f]{{40,64}})?+",
        place=SecretPlace.ANYWHERE,
    ),
    _token("age-key", "AGE-SECRET-KEY-1", "[A-Z0-9]{58}", start="", end=""),
    _token("1password-token", "ops_eyJ", "[A-Za-z0-9+/=_-]{200,2000}", end=""),
    _token("sentry-token", "sntrys_eyJ", "[A-Za-z0-9+/=_-]{40,500}", end=""),
    _token("sentry-token", "sntryu_", f"{_HEX}{{64}}"),
    _shape(
        "jwt",
        "eyJ",
        # only where three runs follow, so that a lookalike start costs one attempt
        rf"(?<!{_URL})(?={_URL}{{11,}}+\.{_URL}{{8,}}+\.{_URL}{{16}}){_URL}*?",
        rf"(?P<secret>eyJ{_URL}{{8,2000}}+\.{_URL}{{8,}}\.{_URL}{{16,}})",
        proof=secret_validators.jwt,
    ),
    # clouds
    _token("aws-access-key-id", "AKIA ASIA ABIA ACCA", "[A-Z2-7]{16}"),
    _shape(
        "aws-secret-access-key",
        "secret",
        rf"(?ai:secret[_ ]?(?:access[_ ]?)?key){_ASSIGNED}",
        r"(?P<secret>[A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])",
        proof=secret_validators.mixed,
        place=SecretPlace.BESIDE,
    ),
    _token("google-api-key", "AIza", f"{_URL}{{35}}"),
    _token("google-oauth-secret", "GOCSPX-", f"{_URL}{{28}}"),
    _token("google-access-token", "ya29.", f"{_URL}{{20,2000}}"),
    _shape("azure-storage-key", "AccountKey=", r"AccountKey=(?P<secret>[A-Za-z0-9+/]{86}==)"),
    _shape(
        "azure-client-secret",
        "Q~",
        rf"{_BEFORE}[A-Za-z0-9_.~-]{{3}}[0-9]Q~[A-Za-z0-9_.~-]{{31,34}}{_AFTER}",
    ),
    _token("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", f"{_HEX}{{64}}"),
    _token("heroku-key", "HRKU-AA", f"{_URL}{{58}}"),
    _token("fly-token", "fo1_", f"{_URL}{{43}}"),
    _token("fly-token", "fm2_", "[A-Za-z0-9+/=_-]{100,4000}", secret_validators.mixed, end=""),
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
    _token(
        "supabase-key",
        "sb_secret_",
        f"{_URL}{{22}}_{_URL}{{8}}",
        secret_validators.cased,
        end=_END_OF_URL,
    ),
    # code and packages
    _token(
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_",
        f"{_WORD}{{36}}",
        secret_validators.checksum_holds,
        start="",
    ),
    _token("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", f"{_WORD}{{36}}"),
    _token("github-token", "ghr_", f"{_WORD}{{76}}"),
    _token("github-token", "github_pat_", f"{_WORD}{{22}}_{_WORD}{{59}}"),
    _token(
        "gitlab-token",
        "glpat- gldt- glrt- gloas- glptt- glft- glimt- glagent- glsoat- glcbt- glffct-",
        "[A-Za-z0-9_.-]{20,}",
    ),
    _token(
        "atlassian-token", "ATATT3 ATCTT3 ATBB", "[A-Za-z0-9_=-]{28,250}", end="(?![A-Za-z0-9_-])"
    ),
    _token("npm-token", "npm_", f"{_WORD}{{36}}", secret_validators.checksum_holds, start=""),
    _token("npm-token", "npm_", f"{_WORD}{{36}}", secret_validators.mixed),
    _token("pypi-token", "pypi-AgEIcHlwaS5vcmc pypi-AgENdGVzdC5weXBpLm9yZw", f"{_URL}{{50,1000}}"),
    _token("rubygems-key", "rubygems_", f"{_HEX}{{48}}"),
    _token("docker-token", "dckr_pat_ dckr_oat_", f"{_URL}{{27,40}}"),
    # chat and mail
    _token(
        "slack-token",
        "xoxa- xoxb- xoxc- xoxe- xoxo- xoxp- xoxr- xoxs-",
        "[A-Za-z0-9-]{20,250}",
        secret_validators.mixed,
    ),
    _token("slack-token", "xoxd-", "[A-Za-z0-9%+/=_-]{40,400}", secret_validators.mixed, end=""),
    _token(
        "slack-token",
        "xoxe.xoxb- xoxe.xoxp- xapp-",
        "[A-Za-z0-9-]{20,250}",
        secret_validators.mixed,
    ),
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
        proof=secret_validators.discord,
    ),
    _shape("telegram-token", ":AA", rf"{_BEFORE}\d{{8,10}}:AA{_URL}{{33}}(?![A-Za-z0-9-])"),
    _token("sendgrid-key", "SG.", rf"{_URL}{{22}}\.{_URL}{{43}}"),
    _token("mailgun-key", "key-", f"{_HEX}{{32}}"),
    _shape("mailchimp-key", "-us", rf"{_BEFORE}{_HEX}{{32}}-us\d{{1,2}}{_AFTER}"),
    # language models
    _token(
        "anthropic-key",
        "sk-ant-",
        f"(?:[a-z]+\\d\\d-)?{_URL}{{40,}}",
        secret_validators.dense,
        end=f"(?!{_URL})",
    ),
    _token("openrouter-key", "sk-or-v1-", f"{_HEX}{{64}}"),
    _token(
        "openai-key",
        "sk-",
        f"(?:proj-|svcacct-|admin-)?{_URL}{{20,}}",
        secret_validators.dense,
        end=f"(?!{_URL})",
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
    _token("square-token", "sq0atp- sq0atb- sq0csp-", f"{_URL}{{22,43}}"),
    _token(
        "square-token",
        "EAAA",
        f"{_URL}{{60}}",
        secret_validators.mixed,
        start=f"{_BEFORE}(?<![+/])",
        end="(?!_*[A-Za-z0-9+/=-])",
    ),
    # tools
    _token("airtable-token", "pat", rf"{_WORD}{{14}}\.{_HEX}{{64}}"),
    _token("grafana-token", "glsa_", f"{_WORD}{{32}}_{_HEX}{{8}}"),
    _token("grafana-token", "glc_eyJ", "[A-Za-z0-9+/=_-]{32,1000}", end=""),
    _token("newrelic-key", "NRAK-", "[A-Z0-9]{27}"),
    _token("linear-key", "lin_api_", f"{_WORD}{{40}}"),
    _token("notion-token", "ntn_", f"{_WORD}{{40,50}}"),
    _token("notion-token", "secret_", f"{_WORD}{{43}}", secret_validators.mixed),
    _token("figma-token", "figd_", f"{_URL}{{40,46}}"),
    _token("postman-key", "PMAK-", f"{_HEX}{{24}}-{_HEX}{{34}}"),
    # recognised by the name or the context before it
    _shape(
        "url-password",
        "://",
        rf"{_BEFORE}(?!https?://[^\s/:@?#]+:{_PORT}@)[A-Za-z][A-Za-z0-9+.-]{{0,20}}",
        r"://[^\s/:@?#\"'<>]{0,128}:",
        r"(?P<secret>[^\s/@\"'<>]{1,256})@(?=[\w.\[-])",
        proof=secret_validators.url_password,
        place=SecretPlace.ANYWHERE,
    ),
    _shape(
        "authorization-header",
        "bearer",
        rf"(?=[Bb]){_BEFORE}(?ai:bearer)(?:[ \t]+|%20|\+)",
        r"(?P<secret>[A-Za-z0-9._~+/-]{20,2000}+={0,2}+)(?![A-Za-z0-9.~+/-])",
        proof=secret_validators.keyed,
        place=SecretPlace.BESIDE,
    ),
    _shape(
        "authorization-header",
        "bearer",
        rf"(?=[Aa]){_BEFORE}(?ai:authorization){_ASSIGNED}(?ai:bearer)(?:[ \t]+|%20|\+)",
        r"(?P<secret>[A-Za-z0-9._~+/-]{20,2000}+={0,2}+)(?![A-Za-z0-9.~+/-])",
        proof=secret_validators.borne,
        place=SecretPlace.BESIDE,
    ),
    _shape(
        "authorization-header",
        "basic",
        rf"(?=[Bb]){_BEFORE}(?ai:basic)(?:[ \t]+|%20|\+)",
        r"(?P<secret>[A-Za-z0-9+/]{6,2000}+={0,2}+)(?![A-Za-z0-9+/])",
        proof=secret_validators.user_and_password,
        place=SecretPlace.ANYWHERE,
    ),
    _shape(
        "password",
        "passw passphrase pwd",
        rf"{_NAMED}passw(?:or)?d|passphrase|pwd)){_ASSIGNED}",
        rf"(?![A-Za-z_][\w.]*\()(?P<secret>{_PASSWORD})",  # not a function call
        proof=secret_validators.chosen,
        place=SecretPlace.ANYWHERE,
    ),
    _shape(
        "password",
        "passw passphrase",
        rf"(?=[Pp]){_BEFORE}(?ai:(?:password|passphrase)\b)",
        _SAID,
        rf"(?P<secret>[^\s\"'`\x1b]{{5,127}}{_LAST})(?![ \t]+(?i:is|was)\b)",
        proof=secret_validators.spoken,
        place=SecretPlace.ANYWHERE,
    ),
    _shape(
        "password",
        "--pass",
        r"(?<![\w-])--(?ai:passw(?:or)?d|pass(?:phrase)?)[ \t]+[\"']?",
        rf"(?P<secret>[^\s\"'`\x1b]{{1,127}}{_LAST})",
        proof=secret_validators.typed,
        place=SecretPlace.ANYWHERE,
    ),
    _shape(
        "password",
        "curl",
        rf"(?=[Cc]){_BEFORE}(?ai:curl)\b[^\n]{{0,256}}?[ \t](?:-u|--user)[ =]?[\"']?",
        r"[^\s:\"'`]{1,128}:(?P<secret>[^\s\"'`\x1b]{1,128})",
        proof=secret_validators.url_password,
        place=SecretPlace.ANYWHERE,
    ),
    _shape(
        "assigned-key",
        "key token secret",
        rf"(?=[AaCcSs]){_BEFORE}(?ai:(?:api|access|auth|secret)[ _-]?(?:key|token)",
        r"|(?:aws|client|app|shared)[ _-]?secret)\b",
        _SAID,
        rf"(?P<secret>[A-Za-z0-9+/_.~-]{{15,511}}[A-Za-z0-9+/_~-]={{0,2}}){_NO_CODE}",
        proof=secret_validators.keyed,
        place=SecretPlace.BESIDE,
    ),
    _shape(
        "assigned-key",
        "key token secret credential",
        rf"{_NAMED}api[_-]?key|access[_-]?key|private[_-]?key|secret[_-]?key|auth[_-]?key|",
        rf"account[_-]?key|token|secret|credentials?)){_ASSIGNED}",
        rf"(?P<secret>[A-Za-z0-9+/_.~-]{{16,512}}={{0,2}}){_NO_CODE}",
        proof=secret_validators.keyed,
        place=SecretPlace.BESIDE,
    ),
)
"""In order of precedence: where two overlap, the first wins."""


_GATES = ("_", "-", ".")


def _gate(one: SecretFormat) -> str:
    """Return a character of `_GATES` that is in every anchor of a format; "" if there is none."""
    return next((gate for gate in _GATES if all(gate in a for a in one.anchors)), "")


IN_RUNS = tuple(
    (
        gate,
        tuple(
            (anchor, one)
            for one in FORMATS
            if one.place is SecretPlace.RUN and _gate(one) == gate
            for anchor in one.anchors
        ),
    )
    for gate in ("", *_GATES)
)
"""Character that some formats' anchors share, and those anchors with their formats."""


def _folded(place: SecretPlace) -> tuple[tuple[bytes, tuple[SecretFormat, ...]], ...]:
    ones = [one for one in FORMATS if one.place is place]
    anchors = dict.fromkeys(anchor for one in ones for anchor in one.anchors)
    return tuple(
        (anchor.encode(), tuple(one for one in ones if anchor in one.anchors)) for anchor in anchors
    )


BESIDE, ANYWHERE = _folded(SecretPlace.BESIDE), _folded(SecretPlace.ANYWHERE)
"""Anchors to look for in the text in lower case, with their formats."""
RUNS = bytes(byte not in RUN_CHARS.encode() for byte in range(256))
"""Table for ``bytes.translate``: 0 for what runs are made of, 1 for all else."""

ORDER = {id(one): rank for rank, one in enumerate(FORMATS)}
KINDS = tuple(sorted({one.kind for one in FORMATS}))
"""All that a marker can name."""
