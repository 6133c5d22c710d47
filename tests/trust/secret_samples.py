"""Made-up keys of every format, and ordinary sentences: what redaction is measured on.

Each maker follows what the provider says of its tokens, not the patterns that look for them: the
alphabet, the lengths, the checksum. None is a key of anybody's. Sentences are made from templates
of ours, full of what only looks like a key, and taken from the documentation that comes with
Python.
"""

from __future__ import annotations

import base64
import json
import random
import re
import zlib
from collections.abc import Callable
from pydoc_data.topics import topics
from urllib.parse import quote

DIGITS = "0123456789"
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LOWER = UPPER.lower()
ALNUM = DIGITS + UPPER + LOWER
HEX = "0123456789abcdef"
BASE32 = UPPER + "234567"
BASE64 = UPPER + LOWER + DIGITS + "+/"
URLSAFE = UPPER + LOWER + DIGITS + "-_"
BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

Random = random.Random
Maker = Callable[[Random], str | tuple[str, str]]
"""Makes a key; with it the part that must not stay, where that is not all of it."""


def some(rng: Random, alphabet: str, least: int, most: int | None = None) -> str:
    """Draw characters."""
    size = least if most is None else rng.randint(least, most)
    return "".join(rng.choices(alphabet, k=size))


def after(prefix: str, alphabet: str, least: int, most: int | None = None) -> Maker:
    """Make keys that are a prefix and random characters."""
    return lambda rng: prefix + some(rng, alphabet, least, most)


def _with_crc(prefix: str) -> Maker:
    def make(rng: Random) -> str:
        body = some(rng, ALNUM, 30)
        number, check = zlib.crc32(body.encode()), ""
        while number:
            number, rest = divmod(number, 62)
            check = (DIGITS + UPPER + LOWER)[rest] + check
        return f"{prefix}{body}{check:0>6}"

    return make


def _age(rng: Random) -> str:
    def polymod(values: list[int]) -> int:
        check = 1
        for value in values:
            top = check >> 25
            check = ((check & 0x1FFFFFF) << 5) ^ value
            for bit, term in enumerate(
                (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
            ):
                check ^= term if (top >> bit) & 1 else 0
        return check

    prefix = "age-secret-key-"
    data = [rng.randrange(32) for _ in range(51)] + [rng.randrange(2) << 4]
    lead = [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix]
    mod = polymod(lead + data + [0] * 6) ^ 1
    check = [(mod >> 5 * (5 - at)) & 31 for at in range(6)]
    return f"{prefix}1{''.join(BECH32[value] for value in data + check)}".upper()


def _b64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _jwt(rng: Random) -> str:
    header = {"alg": rng.choice(["HS256", "RS256", "ES256"]), "typ": "JWT"}
    if rng.random() < 0.3:
        header["kid"] = some(rng, ALNUM, 8)
    claims = {"sub": some(rng, DIGITS, 10), "name": "Ada", "iat": rng.randrange(10**9, 2 * 10**9)}
    parts = [_b64url(json.dumps(part).encode()) for part in (header, claims)]
    return ".".join([*parts, _b64url(rng.randbytes(32))])


def _pem(rng: Random) -> str:
    kind = rng.choice(["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "DSA "])
    body = base64.b64encode(rng.randbytes(rng.choice([121, 300, 608, 1190]))).decode()
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    frame = (f"-----BEGIN {kind}PRIVATE KEY-----", f"-----END {kind}PRIVATE KEY-----")
    gap = rng.choice(["\n", "\n", "\r\n", "\\n"])
    return gap.join([frame[0], *lines, frame[1]])


def _pgp(rng: Random) -> str:
    """Make an armoured key (RFC 9580, 6.2): lines above the body, which ends in a checksum."""
    body = base64.b64encode(rng.randbytes(rng.choice([400, 1190, 2500]))).decode()
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    said = rng.choice([[], ["Version: GnuPG v2"], ["Comment: ada", "Hash: SHA256"]])
    kind = rng.choice(["PRIVATE", "SECRET"])  # the latter as PGP 5 and older wrote it
    armour = [f"-----BEGIN PGP {kind} KEY BLOCK-----", *said, "", *lines]
    whole = [f"={some(rng, BASE64, 4)}", f"-----END PGP {kind} KEY BLOCK-----"]
    gap = rng.choice(["\n", "\n", "\r\n", "\\n", "\n> "])
    return gap.join(armour + (whole if rng.random() < 0.8 else []))


def _putty(rng: Random) -> str:
    """Make the private half of a key file of PuTTY, of version 2 or 3."""
    body = base64.b64encode(rng.randbytes(rng.choice([36, 100, 580, 1160]))).decode()
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    mac = f"Private-MAC: {some(rng, HEX, rng.choice([40, 64]))}"
    gap = rng.choice(["\n", "\r\n", "\\n"])
    return gap.join(
        [f"Private-Lines: {len(lines)}", *lines, *([mac] if rng.random() < 0.8 else [])]
    )


def _discord(rng: Random) -> str:
    number = base64.b64encode(str(rng.randrange(10**17, 9 * 10**18)).encode()).decode().rstrip("=")
    return f"{number}.{some(rng, URLSAFE, 6)}.{some(rng, URLSAFE, 27, 38)}"


def _slack(rng: Random) -> str:
    kind = rng.choice(["xoxb", "xoxp", "xoxa", "xoxs"])
    numbers = "-".join(some(rng, DIGITS, 11, 13) for _ in range(rng.choice([2, 3])))
    return f"{kind}-{numbers}-{some(rng, ALNUM, 24, 32)}"


def _openai(rng: Random) -> str:
    if rng.random() < 0.5:
        return f"sk-{some(rng, ALNUM, 20)}T3BlbkFJ{some(rng, ALNUM, 20)}"
    kind = rng.choice(["proj", "svcacct", "admin"])
    return f"sk-{kind}-{some(rng, URLSAFE, 74)}T3BlbkFJ{some(rng, URLSAFE, 74)}"


def _anthropic(rng: Random) -> str:
    return f"sk-ant-{rng.choice(['api03', 'admin01', 'oat01'])}-{some(rng, URLSAFE, 93)}AA"


def _password(rng: Random) -> str:
    """Make what people choose: words with digits and signs, or characters from a manager."""
    if rng.random() < 0.5:
        word = rng.choice(["sunflower", "Dragon", "tiger", "winter", "Blue", "monkey", "Castle"])
        return f"{word}{rng.choice('!#$%-_.')}{some(rng, DIGITS, 2, 4)}{some(rng, LOWER, 1, 3)}"
    return some(rng, ALNUM + "!#$%^*-_+", 11, 20) + some(rng, DIGITS, 1) + some(rng, LOWER, 1)


def _password_said(rng: Random) -> tuple[str, str]:
    what = rng.choice(["password", "passphrase", "Password", "wifi password", "root password"])
    how = rng.choice(["{} is {}", "the {} for the router is {}", "{} was changed to {}"])
    password = _password(rng)
    return how.format(what, password), password


def _password_set(rng: Random) -> tuple[str, str]:
    name = rng.choice(["password", "DB_PASSWORD", "passwd", "pwd", "SMTP_PASSWORD", "passphrase"])
    join = rng.choice(["=", ": ", " = ", '="', ": '"])
    closed = {'="': '"', ": '": "'"}.get(join, "")
    password = _password(rng)
    return f"{name}{join}{password}{closed}", password


def _assigned(rng: Random) -> tuple[str, str]:
    name = rng.choice(
        [
            "api_key",
            "API-KEY",
            "apiKey",
            "access_token",
            "auth_token",
            "client_secret",
            "SECRET_KEY",
        ]
    )
    join = rng.choice(["=", ": ", '="', '": "', " := "])
    closed = '"' if join.endswith('"') else ""
    key = some(rng, rng.choice([ALNUM, HEX, URLSAFE]), 24, 48)
    return f"{name}{join}{key}{closed}", key


def _url(rng: Random) -> tuple[str, str]:
    scheme = rng.choice(["postgres", "mysql", "mongodb+srv", "redis", "amqp", "https", "ftp"])
    user = rng.choice(["app", "root", "svc_orders", ""])
    host = rng.choice(["db.example.com:5432/x", "10.0.0.7/0", "[::1]:6379", "localhost"])
    password = f"{some(rng, ALNUM + '!$-_.', 9, 18)}a1"
    return f"{scheme}://{user}:{password}@{host}", password


def _airtable(rng: Random) -> str:
    return f"pat{some(rng, ALNUM, 14)}.{some(rng, HEX, 64)}"


def _telegram(rng: Random) -> str:
    return f"{rng.randrange(10**8, 10**10)}:AA{some(rng, URLSAFE, 33)}"


def _aws_secret(rng: Random) -> tuple[str, str]:
    name = rng.choice(["aws_secret_access_key", "AWS_SECRET_ACCESS_KEY", "SecretAccessKey"])
    key = some(rng, BASE64, 40)
    return f"{name}{rng.choice([' = ', '=', ': '])}{key}", key


def _azure_client(rng: Random) -> str:
    return f"{some(rng, ALNUM, 3)}{some(rng, DIGITS, 1)}Q~{some(rng, ALNUM + '-._~', 33)}x"


def _azure_storage(rng: Random) -> tuple[str, str]:
    key = base64.b64encode(rng.randbytes(64)).decode()
    return f"DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={key}", key


def _slack_hook(rng: Random) -> tuple[str, str]:
    path = f"T{some(rng, UPPER + DIGITS, 8, 10)}/B{some(rng, UPPER + DIGITS, 8, 10)}"
    token = some(rng, ALNUM, 24)
    return f"https://hooks.slack.com/services/{path}/{token}", token


def _discord_hook(rng: Random) -> tuple[str, str]:
    number, token = some(rng, DIGITS[1:], 18, 19), some(rng, URLSAFE, 68)
    return f"https://discord.com/api/webhooks/{number}/{token}", token


def _bearer(rng: Random) -> tuple[str, str]:
    token = f"{some(rng, ALNUM, 12)}{some(rng, ALNUM + '-._~', 24, 48)}x"
    return f"Authorization: {rng.choice(['Bearer', 'bearer'])} {token}", token


def _basic(rng: Random) -> tuple[str, str]:
    """Encode what people log in with: many such pairs have no digit in their Base64 (RFC 7617)."""
    user = rng.choice(["admin", "ada", "svc-deploy", "ada.lovelace@example.com", "api", "elastic"])
    password = rng.choice(
        [
            some(rng, ALNUM, 10, 20),
            rng.choice(["Sunflower", "dragon", "Winter"])
            + rng.choice("!#-_")
            + some(rng, DIGITS, 4),
            some(rng, LOWER, 8, 12),
            some(rng, ALNUM + "!#$%", 16),
        ]
    )
    token = base64.b64encode(f"{user}:{password}".encode()).decode()
    return f"Authorization: Basic {token}", token


def _mistyped(prefix: str) -> Maker:
    """Make tokens of the right form whose checksum does not hold."""
    make = _with_crc(prefix)

    def spoil(rng: Random) -> str:
        token = make(rng)
        at = rng.randrange(len(prefix), len(token))
        return token[:at] + rng.choice(ALNUM.replace(token[at], "")) + token[at + 1 :]

    return spoil


def _grafana_cloud(rng: Random) -> str:
    """Make an access policy's token: ``glc_`` and a JSON object in Base64."""
    said = {"o": some(rng, DIGITS, 6), "n": "stack-1-hl-read", "k": some(rng, ALNUM, 24)}
    return "glc_" + base64.b64encode(json.dumps(said | {"m": {"r": "eu"}}).encode()).decode()


def _gitlab_routable(rng: Random) -> str:
    return f"glpat-{some(rng, URLSAFE, 27)}.01.{some(rng, DIGITS + LOWER, 9)}"


def _slack_cookie(rng: Random) -> str:
    """Make a browser's session: ``xoxd-`` and Base64, escaped as in an address."""
    return "xoxd-" + quote(base64.b64encode(rng.randbytes(90)).decode(), safe="")


def _slack_client(rng: Random) -> str:
    numbers = "-".join(some(rng, DIGITS, 12) for _ in range(3))
    return f"xoxc-{numbers}-{some(rng, HEX, 64)}"


def _slack_app(rng: Random) -> str:
    return f"xapp-1-A{some(rng, UPPER + DIGITS, 10)}-{some(rng, DIGITS, 13)}-{some(rng, HEX, 64)}"


def _password_for_html(rng: Random) -> tuple[str, str]:
    password = some(rng, ALNUM, 12, 16) + "a1"
    return (
        f"{{&quot;user&quot;: &quot;ada&quot;, &quot;password&quot;: &quot;{password}&quot;}}",
        password,
    )


def _password_typed(rng: Random) -> tuple[str, str]:
    password = some(rng, ALNUM, 8, 14) + "a1"
    how = rng.choice(
        ["mysql --password {} -u root", "curl -u ada:{} https://x.example", "x --passwd '{}'"]
    )
    return how.format(password), password


def _key_said(rng: Random) -> tuple[str, str]:
    key = some(rng, rng.choice([ALNUM, HEX]), 32, 40) + "a1"
    what = rng.choice(["the api key is {}", "the API key for staging is {}", "the aws secret is {}",
                       "our access token was changed to {}"])  # fmt: skip
    return what.format(key), key


def _sentry(rng: Random) -> str:
    about = json.dumps({"iat": rng.randrange(2**31), "url": "https://sentry.io"}).encode()
    about64 = base64.b64encode(about).decode()
    return f"sntrys_{about64}_{base64.b64encode(rng.randbytes(32)).decode().rstrip('=')}"


def _pypi(rng: Random) -> str:
    return f"pypi-AgEIcHlwaS5vcmc{some(rng, URLSAFE, 140, 180)}"


def _1password(rng: Random) -> str:
    return "ops_" + _b64url(json.dumps({"signInAddress": some(rng, ALNUM, 300)}).encode())


MAKERS: dict[str, tuple[Maker, ...]] = {
    "1password-token": (_1password,),
    "age-key": (_age,),
    "airtable-token": (_airtable,),
    "anthropic-key": (_anthropic,),
    "assigned-key": (_assigned, _key_said),
    "atlassian-token": (after("ATATT3xFfGF0", URLSAFE, 172), after("ATBB", ALNUM, 32)),
    "authorization-header": (_bearer, _basic),
    "aws-access-key-id": (after("AKIA", BASE32, 16), after("ASIA", BASE32, 16)),
    "aws-secret-access-key": (_aws_secret,),
    "azure-client-secret": (_azure_client,),
    "azure-storage-key": (_azure_storage,),
    "databricks-token": (after("dapi", HEX, 32),),
    "digitalocean-token": (after("dop_v1_", HEX, 64), after("doo_v1_", HEX, 64)),
    "discord-token": (_discord,),
    "discord-webhook": (_discord_hook,),
    "docker-token": (after("dckr_pat_", URLSAFE, 27),),
    "doppler-token": (after("dp.pt.", ALNUM, 43), after("dp.st.dev.", ALNUM, 43)),
    "figma-token": (after("figd_", URLSAFE, 40),),
    "fly-token": (after("fo1_", URLSAFE, 43), after("fm2_", BASE64, 300)),
    "github-token": (
        _with_crc("ghp_"),
        _with_crc("gho_"),
        _with_crc("ghs_"),
        _with_crc("ghu_"),
        after("ghr_", ALNUM, 76),
        _mistyped("ghp_"),
        lambda rng: f"github_pat_{some(rng, ALNUM, 22)}_{some(rng, ALNUM, 59)}",
    ),
    "gitlab-token": (after("glpat-", URLSAFE, 20), after("glrt-", URLSAFE, 20), _gitlab_routable),
    "google-access-token": (after("ya29.", URLSAFE, 120, 200),),
    "google-api-key": (after("AIza", URLSAFE, 35),),
    "google-oauth-secret": (after("GOCSPX-", URLSAFE, 28),),
    "grafana-token": (
        lambda rng: f"glsa_{some(rng, ALNUM, 32)}_{some(rng, HEX, 8)}",
        _grafana_cloud,
    ),
    "groq-key": (after("gsk_", ALNUM, 52),),
    "heroku-key": (after("HRKU-AA", URLSAFE, 58),),
    "huggingface-token": (after("hf_", UPPER + LOWER, 34),),
    "jwt": (_jwt,),
    "linear-key": (after("lin_api_", ALNUM, 40),),
    "mailchimp-key": (lambda rng: f"{some(rng, HEX, 32)}-us{rng.randint(1, 21)}",),
    "mailgun-key": (after("key-", HEX, 32),),
    "newrelic-key": (after("NRAK-", UPPER + DIGITS, 27),),
    "notion-token": (after("ntn_", ALNUM, 46), after("secret_", ALNUM, 43)),
    "npm-token": (_with_crc("npm_"), _mistyped("npm_")),
    "openai-key": (_openai,),
    "openrouter-key": (after("sk-or-v1-", HEX, 64),),
    "password": (_password_set, _password_said, _password_for_html, _password_typed),
    "perplexity-key": (after("pplx-", ALNUM, 48),),
    "planetscale-token": (after("pscale_tkn_", URLSAFE, 43), after("pscale_pw_", URLSAFE, 43)),
    "postman-key": (lambda rng: f"PMAK-{some(rng, HEX, 24)}-{some(rng, HEX, 34)}",),
    "private-key": (_pem, _pgp, _putty),
    "pulumi-token": (after("pul-", HEX, 40),),
    "pypi-token": (_pypi,),
    "replicate-token": (after("r8_", ALNUM, 37),),
    "rubygems-key": (after("rubygems_", HEX, 48),),
    "sendgrid-key": (lambda rng: f"SG.{some(rng, URLSAFE, 22)}.{some(rng, URLSAFE, 43)}",),
    "sentry-token": (_sentry, after("sntryu_", HEX, 64)),
    "shopify-token": (after("shpat_", HEX, 32), after("shpss_", HEX, 32)),
    "slack-token": (_slack, _slack_client, _slack_cookie, _slack_app),
    "slack-webhook": (_slack_hook,),
    "square-token": (
        after("sq0atp-", URLSAFE, 22),
        after("sq0csp-", URLSAFE, 43),
        after("EAAA", URLSAFE, 60),
    ),
    "stripe-key": (after("sk_live_", ALNUM, 24, 99), after("rk_test_", ALNUM, 24, 99)),
    "stripe-webhook-secret": (after("whsec_", ALNUM, 32),),
    "supabase-key": (
        after("sbp_", HEX, 40),
        lambda rng: f"sb_secret_{some(rng, URLSAFE, 22)}_{some(rng, ALNUM, 8)}",
    ),
    "tailscale-key": (
        lambda rng: f"tskey-auth-k{some(rng, ALNUM, 11)}CNTRL-{some(rng, ALNUM, 32)}",
    ),
    "telegram-token": (_telegram,),
    "terraform-token": (lambda rng: f"{some(rng, ALNUM, 14)}.atlasv1.{some(rng, ALNUM, 67)}",),
    "url-password": (_url,),
    "vault-token": (after("hvs.", URLSAFE, 90, 110), after("hvb.", URLSAFE, 138)),
    "xai-key": (after("xai-", ALNUM, 80),),
}
"""The name of each kind, with a maker of such keys."""

SURROUNDINGS = (
    "{}",
    "Here it is: {} please keep it",
    "I pasted {}.",
    'the config says "{}"',
    "use '{}' from now on",
    "run it with `{}`",
    "```\nexport X={}\n```",
    "({})",
    "see below\n{}\nand tell me if it works",
    "für später: {}, danke!",
    "これです {} よろしく",
    r'{{"out": "the token\n{}\n"}}',
    r"repr: 'a\t{}'",
    r'{{"said": "{{\"x\": \"\u001b[1;31m{}\u001b[0m\"}}"}}',
    "https://example.com/callback?state=a%3D{}",
    "\x1b[32m{}\x1b[0m",
    "\x1b[01;31m\x1b[K{}\x1b[m\x1b[K",
    "_{}_",
    "MY_{}",
)


def _split(words: str) -> tuple[str, ...]:
    return tuple(word.replace("-", " ") for word in words.split())


_WHO = _split("Rami Lea Ada Noor Jonas Mei the-team my-sister the-customer our-landlord")
_DOES = _split(
    "prefers moved wrote booked cancelled reviewed renamed cooked fixed measured forgot explained "
    "deployed painted translated returned"
)
_WHAT = _split(
    "the-invoice a-window-seat the-release-notes the-garden-fence the-quarterly-report the-API "
    "its-familiar-library the-state-of-the-art-model a-gluten-free-cake the-upload-pipeline "
    "the-token-budget the-secret-santa-list the-key-to-the-house the-password-policy"
)
_ASIDE: tuple[Callable[[Random], str], ...] = (
    lambda _: "because the password is required at every login.",
    lambda _: "since the token is expired; key: value pairs are fine.",
    lambda _: "and the api_key=None default is documented under password: optional.",
    lambda _: 'so set PASSWORD="$DB_PASSWORD" and token=os.environ["TOKEN"] first.',
    lambda rng: f"in commit {some(rng, HEX, 40)}.",
    lambda rng: f"see https://example.com/docs/{some(rng, LOWER, 12)}?page={rng.randrange(99)}.",
    lambda rng: f"(ticket {some(rng, UPPER, 3)}-{rng.randrange(9999)}).",
    lambda rng: (
        f"with id {some(rng, HEX, 8)}-{some(rng, HEX, 4)}-4{some(rng, HEX, 3)}-8abc-"
        f"{some(rng, HEX, 12)}."
    ),
    lambda rng: (
        f"at {rng.randrange(24):02}:{rng.randrange(60):02} on 2025-0{rng.randint(1, 9)}-11."
    ),
    lambda rng: f"for {rng.randrange(9999):,}.{rng.randrange(99):02} EUR to +49 151 2345678.",
    lambda rng: f"sha256:{some(rng, HEX, 64)} was the digest.",
    lambda _: "with scikit-learn, sk-learn-contrib and task-specific-fine-tuning-datasets.",
    lambda _: "at postgres://user:password@localhost/db, as the manual says.",
    lambda _: "and ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx stands for the key.",
    lambda _: "under /usr/local/lib/python3.11/site-packages/some_package/__init__.py.",
    lambda _: "from ada.lovelace@example.com to charles@example.org.",
    lambda rng: f"as data:image/png;base64,{some(rng, BASE64, 60)}.",
    lambda _: "-----BEGIN CERTIFICATE----- is the first line, BEGIN PRIVATE KEY is another's.",
    lambda _: "in get_user_authentication_token_from_request(self, request).",
)


HIDDEN = ("\u200b", "\u00ad", "\u2060", "\ufeff", "\u200d")
"""Characters nobody sees, which web pages put inside long words."""


def keys(rng: Random, each: int) -> list[tuple[str, str, str]]:
    """Make keys, each in a text: (kind, what must not stay of it, text)."""
    return [(kind.partition("/")[0], secret, text) for kind, secret, text in shapes(rng, each)]


def shapes(rng: Random, each: int) -> list[tuple[str, str, str]]:
    """As ``keys``, with so many of every shape that a kind has; they are named ``kind/shape``."""
    made = []
    for kind, makers in MAKERS.items():
        for shape, make in enumerate(makers):
            for _ in range(each):
                key = make(rng)
                whole, secret = (key, key) if isinstance(key, str) else key
                made.append((f"{kind}/{shape}", secret, rng.choice(SURROUNDINGS).format(whole)))
    return made


def disguised(rng: Random, each: int) -> list[tuple[str, str, str]]:
    """As ``shapes``, with a character nobody sees somewhere in the first half of the key."""
    made = []
    for kind, secret, text in shapes(rng, each):
        at = rng.randrange(1, len(secret) // 2)
        hidden = secret[:at] + rng.choice(HIDDEN) + secret[at:]
        made.append((kind, secret[at:], text.replace(secret, hidden)))
    return made


def leaks(secret: str, text: str) -> bool:
    """Tell whether a text still gives away a secret: any third of it that is 8 or longer."""
    size = max(8, len(secret) // 3)
    starts = range(max(1, len(secret) - size + 1))
    return any(secret[at : at + size] in text for at in starts)


def sentences(rng: Random, count: int) -> list[str]:
    """Make and collect ordinary sentences, half of each, none twice."""
    ours: dict[str, None] = {}
    while len(ours) < count // 2:
        said = (rng.choice(_WHO), rng.choice(_DOES), rng.choice(_WHAT), rng.choice(_ASIDE)(rng))
        number = rng.randrange(10_000)
        ours[f"{said[0]} {said[1]} {said[2]} {number} times, {said[3]}"] = None
    text = "\n\n".join(topics[name] for name in sorted(topics))
    pieces = (" ".join(piece.split()) for piece in re.split(r"(?<=[.:!?])\s+|\n\n", text))
    theirs = list(dict.fromkeys(piece for piece in pieces if len(piece) > 20))
    return [*ours, *rng.sample(theirs, count - len(ours))]
