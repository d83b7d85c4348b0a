"""Secrets that machines show to machines: tokens of services, signed tokens, passwords in code."""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from itertools import pairwise

from pipelines.personal.kind import Form, Kind, Literal, Mask, Trigger

_OPEN = rb"(?<![0-9A-Za-z_])"
_SHUT = rb"(?![0-9A-Za-z_-])"
# Below so many different letters it is a placeholder such as ghp_xxxxxxxxxxxx.
_LEAST_LETTERS = 8
# Of two letters of a value at most one pair in so many is alike: one in 62 in base62 and one in
# 16 in hex by chance, one in 15 in English and less in names.
_PAIRS, _PAIRS_OF_HEX = 16, 9
# One neighbour in so many is of another sort (capital, small, digit): words change less often.
_CHANGES = 5
_NOT_HEX = re.compile(rb"[^0-9A-Fa-f]")
_ALPHANUMERIC = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_SORTS = bytes.maketrans(_ALPHANUMERIC, b"A" * 26 + b"a" * 26 + b"0" * 10)
_MARKS = bytes(byte for byte in range(256) if byte not in _ALPHANUMERIC)


def _varied(text: bytes, start: int, end: int) -> bool:
    return len({*text[start:end]}) >= _LEAST_LETTERS


def _is_random(text: bytes, start: int, end: int) -> bool:
    """Of chance, as far as one can see; in whole numbers, so that all machines agree."""
    value = text[start:end]
    sorts = value.translate(_SORTS, _MARKS)
    if b"0" not in sorts or not (b"A" in sorts or b"a" in sorts):
        return False
    alike = sum(count * (count - 1) for count in Counter(value).values())
    changes = sum(one != next_ for one, next_ in pairwise(sorts))
    pairs = _PAIRS if _NOT_HEX.search(value) else _PAIRS_OF_HEX
    return alike * pairs <= len(value) * (len(value) - 1) and changes * _CHANGES >= len(value)


def _is_jwt(text: bytes, start: int, end: int) -> bool:
    head = text[start:end].partition(b".")[0]
    try:
        return b'"alg"' in base64.urlsafe_b64decode(head + b"=" * (-len(head) % 4))
    except binascii.Error:
        return False


def _is_password(text: bytes, start: int, end: int) -> bool:
    value = text[start:end]
    sorts = value.translate(_SORTS)
    template = value[:1] in b"$%{<*" or len({*value}) < 5
    return not template and b"0" in sorts and (b"A" in sorts or b"a" in sorts)


def _token(prefix: bytes, rest: bytes, *literals: bytes) -> Form:
    """A token that begins with one of its literals, or with the prefix where none is given."""
    anchors = tuple(map(Literal, literals or (prefix,)))
    return Form(anchors, _OPEN + prefix + rest + _SHUT, _varied)


_TOKENS = (
    _token(rb"(?:AKIA|ASIA)", rb"[A-Z2-7]{16}", b"AKIA", b"ASIA"),
    _token(rb"gh[pousr]_", rb"[A-Za-z0-9]{36,255}+", *(b"gh%c_" % c for c in b"pousr")),
    _token(b"github_pat_", rb"[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    _token(b"glpat-", rb"[A-Za-z0-9_-]{20,64}+(?:\.[A-Za-z0-9_.-]{2,64}+)?"),
    _token(rb"xox[abeoprs]-", rb"[A-Za-z0-9-]{10,250}+", *(b"xox%c-" % c for c in b"abeoprs")),
    _token(b"xapp-", rb"[0-9]-[A-Za-z0-9-]{20,250}+"),
    _token(
        rb"[sr]k_(?:live|test)_",
        rb"[A-Za-z0-9]{16,250}+",
        *(b"sk_live_", b"sk_test_", b"rk_live_", b"rk_test_"),
    ),
    _token(b"whsec_", rb"[A-Za-z0-9+/=]{24,100}+"),
    _token(b"AIza", rb"[A-Za-z0-9_-]{35}"),
    _token(b"GOCSPX-", rb"[A-Za-z0-9_-]{28}"),
    _token(rb"ya29\.", rb"[A-Za-z0-9_-]{40,2000}+", b"ya29."),
    _token(b"npm_", rb"[A-Za-z0-9]{36}"),
    _token(b"pypi-AgE", rb"[A-Za-z0-9_-]{50,1000}+"),
    _token(b"hf_", rb"[A-Za-z0-9]{34,40}+"),
    _token(rb"SG\.", rb"[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}", b"SG."),
    _token(b"dop_v1_", rb"[a-f0-9]{64}"),
    _token(b"dckr_pat_", rb"[A-Za-z0-9_-]{27}"),
    _token(
        rb"shp(?:at|ca|pa|ss)_", rb"[a-fA-F0-9]{32}", b"shpat_", b"shpca_", b"shppa_", b"shpss_"
    ),
)
_SPELT = rb"[A-Za-z0-9+/_.~=-]"
# key = "value", "key": "value", key: value, --key=value; the value alone is found.
_ASSIGNED = (
    rb"[A-Za-z0-9_-]{0,40}[\"'\]]{0,2}[ \t]{0,4}(?:=>|:=|={1,3}|:)[ \t]{0,4}[\"'`]?"
    rb"(?:Bearer |Basic )?(?P<found>%s{20,512}+)(?![^\s\"'`,;)<\]}])"
) % _SPELT
_NAMES = (
    b"secret Secret SECRET token Token TOKEN passw Passw PASSW api_key apiKey ApiKey API_KEY "
    b"apikey APIKEY api-key Api-Key access_key accessKey AccessKey ACCESS_KEY private_key "
    b"privateKey PRIVATE_KEY auth_key authKey AUTH_KEY AccountKey credential Credential CREDENTIAL "
    b"authorization Authorization AUTHORIZATION"
).split()

# Of OpenAI, Anthropic and others that took up their form.
_SK = _OPEN + rb"sk-[A-Za-z0-9_-]{32,250}+" + _SHUT
_JWT = _OPEN + (
    rb"eyJ[A-Za-z0-9_-]{10,8192}+\.eyJ[A-Za-z0-9_-]{10,16384}+\.[A-Za-z0-9_-]{16,4096}+"
)
_SLACK_HOOK = (
    rb"hooks\.slack\.com/services/"
    rb"(?P<found>T[A-Z0-9]{6,16}/B[A-Z0-9]{6,16}/[A-Za-z0-9]{16,40}+)"
)
_DISCORD_HOOK = (
    rb"(?:(?<=discord\.com)|(?<=discordapp\.com))/api/webhooks/"
    rb"(?P<found>[0-9]{16,20}/[A-Za-z0-9_-]{60,80}+)"
)
# The secret half of a pair of AWS, beside its public half.
_AWS_SECRET = (
    rb"A[KS]IA[A-Z2-7]{16}(?![0-9A-Za-z])(?s:.){1,96}?(?<![A-Za-z0-9/+])"
    rb"(?P<found>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
)
# A password between a name and a host.
_IN_URL = rb"(?<=://)[^\s/:@<>\"'?#]{1,64}+:(?P<found>[^\s/:@<>\"'?#]{6,100}+)(?=@[A-Za-z0-9])"

API_TOKEN = Kind(
    "api_token",
    "API tokens and passwords in code",
    (
        *_TOKENS,
        Form((Literal(b"sk-"),), _SK, _is_random),
        Form((Literal(b"eyJ"),), _JWT, _is_jwt),
        Form((Literal(b"hooks.slack.com/services/"),), _SLACK_HOOK, _varied),
        Form((Literal(b"/api/webhooks/"),), _DISCORD_HOOK, _varied),
        Form((Literal(b"AKIA"), Literal(b"ASIA")), _AWS_SECRET, _is_random),
        Form(tuple(Literal(name, assigned=True) for name in _NAMES), _ASSIGNED, _is_random),
        Form((Trigger.AT,), _IN_URL, _is_password, (172, 4), b"://"),
    ),
    Mask.HEAD,
)
