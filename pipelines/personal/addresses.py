"""E-mail addresses and IP addresses."""

from __future__ import annotations

import re

from pipelines.personal.around import introduced_by, said_before
from pipelines.personal.kind import Form, Kind, Mask, Trigger

# Letters of Latin in two bytes of UTF-8, but for the signs of multiplying and dividing.
_LATIN = rb"\xc3[\x80-\x96\x98-\xb6\xb8-\xbf]|[\xc4-\xc9][\x80-\xbf]"
_LABEL = rb"(?:[A-Za-z0-9]|" + _LATIN + rb")(?:[A-Za-z0-9-]|" + _LATIN + rb"){0,62}+"
_EMAIL = (
    rb"(?:[A-Za-z0-9_]|%(latin)s)(?:[A-Za-z0-9._%%+'-]|%(latin)s){0,95}+"
    rb"@(?:%(label)s\.){1,8}[A-Za-z]{2,24}+(?![A-Za-z0-9_@]|-[A-Za-z0-9]|\.[A-Za-z])"
) % {b"latin": _LATIN, b"label": _LABEL}

# Two letters at the end of a domain are a country (ISO 3166, and those that the root zone has
# besides). Of longer endings these stand behind an at sign, but are none of a domain.
_COUNTRIES = frozenset(
    b"ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs "
    b"bt bv bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec "
    b"ee eg er es et eu fi fj fk fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy "
    b"hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz "
    b"la lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx "
    b"my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re "
    b"ro rs ru rw sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st su sv sx sy sz tc td tf tg th "
    b"tj tk tl tm tn to tr tt tv tw tz ua ug uk us uy uz va vc ve vg vi vn vu wf ws ye yt za zm "
    b"zw".split()
)
_FILE_ENDINGS = frozenset(
    b"png jpg jpeg gif svg webp ico bmp tiff avif mp3 mp4 wav html htm xhtml css scss sass json "
    b"yaml yml toml xml txt csv tsv pdf php asp aspx jsp java jar cpp hpp exe dll sys log conf cfg "
    b"ini lock bak tmp gz tgz bz2 xz tar rar iso deb rpm service socket target timer device mount "
    b"automount swap path slice scope local localdomain internal lan intranet invalid".split()
)
_LOGIN = re.compile(rb"://[^\s/?#@]{0,128}\Z")


def _is_email(text: bytes, start: int, end: int) -> bool:
    local, _, domain = text[start:end].rpartition(b"@")
    ending = domain[domain.rfind(b".") + 1 :].lower()
    known = ending in _COUNTRIES if len(ending) == 2 else ending not in _FILE_ENDINGS
    # git@host:path is an address of code.
    if not known or len(local) > 64 or b".." in local or local == b"git":
        return False
    # What stands behind :// is a login of a machine.
    low = max(0, start - 128)
    return text.find(b"://", low, start) < 0 or _LOGIN.search(text, low, start) is None


EMAIL = Kind("email", "e-mail addresses", (Form((Trigger.AT,), _EMAIL, _is_email),), Mask.EMAIL)

_OCTET = rb"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
# A part of a longer number, a version of Debian (1.2.3.4-5) or a name is no address; what
# follows a hyphen may be the other end of a range.
_IPV4 = (
    rb"(?<![0-9A-Za-z_.+%%~-])(?<![^/]/)%(octet)s(?:\.%(octet)s){3}"
    rb"(?![0-9A-Za-z_+~]|\.[0-9A-Za-z]|-(?!(?:[0-9]{1,3}\.){3}[0-9])[0-9A-Za-z])"
) % {b"octet": _OCTET}
_GROUP = rb"[0-9A-Fa-f]{1,4}"
_IPV6 = (
    rb"(?<![0-9A-Za-z_.:-])[23][0-9A-Fa-f]{3}(?::%(group)s){0,6}+(?:::(?:%(group)s(?::%(group)s)"
    rb"{0,6}+)?|:%(group)s)(?![0-9A-Za-z_:]|\.[0-9])"
) % {b"group": _GROUP}
# Registries of IANA for special purposes: not reachable from everywhere, so nobody's.
_SPECIAL = tuple(
    (int.from_bytes(bytes(int(octet) for octet in network.split("."))) >> (32 - bits), 32 - bits)
    for network, bits in (
        ("0.0.0.0", 8),  # noqa: S104 (a network; nothing is bound to it)
        ("10.0.0.0", 8),
        ("100.64.0.0", 10),
        ("127.0.0.0", 8),
        ("169.254.0.0", 16),
        ("172.16.0.0", 12),
        ("192.0.0.0", 24),
        ("192.0.2.0", 24),
        ("192.88.99.0", 24),
        ("192.168.0.0", 16),
        ("198.18.0.0", 15),
        ("198.51.100.0", 24),
        ("203.0.113.0", 24),
        ("224.0.0.0", 3),
    )
)
_VERSION = introduced_by(
    (
        *(
            "v",
            "ver",
            "vers",
            "version",
            "versions",
            "versión",
            "versão",
            "release",
            "rel",
        ),
        *("revision", "build", "firmware", "driver", "upgrade", "section", "sections", "sect"),
        *("sec", "chapter", "clause", "table", "figure", "appendix", "abschnitt", "kapitel"),
        *(
            "seção",
            "secção",
            "sección",
            "sezione",
            "§",
            "版本",
            "バージョン",
        ),
    )
)
_HOST = said_before(
    "ip|ipv4|ips|addr|address|addresses|adresse|indirizzo|dirección|endereço|host|hostname|"
    "server|servidor|dns|ping|gateway|router|resolver|nameserver|client|peer|login|whois|"
    "traceroute|proxy|地址"
)
_PORT = re.compile(rb"[:/][0-9]")


def _is_public_ipv4(text: bytes, start: int, end: int) -> bool:
    number = int.from_bytes(bytes(map(int, text[start:end].split(b"."))))
    # What ends in zero is a network.
    if number & 0xFF == 0 or any(number >> bits == head for head, bits in _SPECIAL):
        return False
    # Of seven digits or more it is hardly anything else; 1.2.3.4 may be any version or section.
    return not _VERSION(text, start, end) and (end - start >= 10 or _is_host(text, start, end))


def _is_host(text: bytes, start: int, end: int) -> bool:
    url = text.endswith((b"://", b"@", b"["), 0, start)
    return url or _PORT.match(text, end) is not None or _HOST(text, start, end)


def _is_public_ipv6(text: bytes, start: int, end: int) -> bool:
    groups = [int(group, 16) for group in text[start:end].split(b":") if group]
    if b"::" in text[start:end]:
        # What ends in zeros is a network.
        if len(groups) > 7 or text[end - 1] == 0x3A:
            return False
        groups.append(0)
    protocols = groups[0] == 0x2001 and (groups[1] < 0x200 or groups[1] == 0x0DB8)
    return not protocols and groups[0] != 0x3FFF


IP = Kind(
    "ip",
    "public IP addresses",
    (
        Form((Trigger.QUAD,), _IPV4, _is_public_ipv4),
        Form((Trigger.HEXTET,), _IPV6, _is_public_ipv6),
    ),
    Mask.IP,
)
