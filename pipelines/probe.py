"""The fixed texts on which transforms and tokenizers show their behaviour (frozen).

Changing a text changes every build key, so texts are only ever added under a new
format. They are short, in many scripts, and each stands for a way to go wrong.
Characters that an editor might normalize or hide are written as escapes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from lineage.digest import Digest, frame

PROBE_TEXTS: tuple[str, ...] = (
    "",
    " ",
    "\n",
    "a",
    "The quick brown fox jumps over the lazy dog.",
    "It's we'll they've I'm you'd DON'T o'clock",
    "  two leading spaces, two inside:  , and two behind  ",
    "tab\tseparated\tvalues\n\n\nthree line ends",
    "Windows\r\nline\r\nends\r\n",
    "old Mac\rline ends\r",
    "next line \u0085 and line separator \u2028 and paragraph \u2029 end",
    "no-break\u00a0space, thin\u2009space, zero\u200bwidth, \ufeffmark inside",
    "soft\u00adhyphen and word\u2060joiner",
    "<|endoftext|> in the middle <|endoftext|>",
    "</s><s>[INST] <|im_start|>user [/INST] <pad> <unk>",
    "0 1 12 123 1234 12345 1234567890 3.14159 1,000,000 -7 1e-9",
    "\u0660\u0661\u0662\u0663 \u0966\u0967\u0968 \uff11\uff12\uff13 \u00bd \u00b2 \u2167",
    "def f(x):\n    return {'a': [x ** 2, ~x]}  # comment\n",
    "for (int i = 0; i < n; ++i) { a[i] |= 0x1F << 3; }\r\n",
    "SELECT * FROM t WHERE a <> 'it''s' AND b LIKE '%\\_%';",
    '{"key": "va\\"lue", "n": [1, 2.5e3, null, true]}',
    "https://example.org/a?b=c&d=%20#e and mail@example.org",
    "C:\\Users\\name\\file.txt /usr/local/bin ../up ~/home",
    "CamelCase snake_case kebab-case SCREAMING_CASE iPhone15",
    "(((((((((([[[[[[[[[[{{{{{{{{{{}}}}}}}}}}]]]]]]]]]]))))))))))",
    "!!!???...---___***///\\\\\\~~~```",
    "a" * 300,
    " " * 100 + "x",
    "\n" * 40,
    "ab" * 150,
    "caf\u00e9 na\u00efve \u00c5ngstr\u00f6m, composed",
    "cafe\u0301 nai\u0308ve A\u030angstro\u0308m, decomposed",
    "\u212b \u2126 \u212a are singletons; \ufb01 is a ligature",
    "q\u0323\u0307 and q\u0307\u0323 order their marks",
    "Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319\u0324\u031ea\u030d\u0300 zalgo",
    "\u0301 begins with a mark",
    "Stra\u00dfe GRO\u1e9eE \u0130stanbul \u0131 \u01c5",
    "\u017b\u00f3\u0142w \u0159\u00ed\u010dn\u00ed \u0151r\u00fclt \u0219i \u021bar\u0103",
    "Ti\u1ebfng Vi\u1ec7t \u0111\u01b0\u1ee3c vi\u1ebft Tie\u0302\u0301ng Vie\u0323\u0302t",
    (
        "\u0397 \u03b3\u03c1\u03ae\u03b3\u03bf\u03c1\u03b7 \u03b1\u03bb\u03b5\u03c0\u03bf\u03cd, "
        "\u1f00\u03c1\u03c7\u1fc7 \u03c3\u03c2"
    ),
    (
        "\u0421\u044a\u0435\u0448\u044c \u0436\u0435 \u0435\u0449\u0451 \u044d\u0442\u0438\u0445 "
        "\u0438\u0306 \u0456\u0308"
    ),
    "\u0540\u0561\u0575\u0565\u0580\u0565\u0576 \u0587 \u10e5\u10d0\u10e0\u10d7\u10e3\u10da\u10d8",
    (
        "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd, "
        "\u05d1\u05b0\u05bc\u05e8\u05b5\u05d0\u05e9\u05b4\u05c1\u05d9\u05ea \ufb2a"
    ),
    (
        "\u0627\u0644\u0633\u0644\u0627\u0645 \u0639\u0644\u064a\u0643\u0645\u060c "
        "\u0645\u064f\u062d\u064e\u0645\u0651\u064e\u062f \u0622 \u0627\u0653 \ufefb"
    ),
    "mixed \u202bright to left\u202c and \u2067isolates\u2069 \u200e\u200f",
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0915\u094d\u0937 \u0915\u093c \u0958 \u0929",
    "\u0995\u09cb \u0995\u09c7\u09be \u0ba8\u0bbf \u0b95\u0bca \u0b95\u0bc6\u0bbe",
    "\u0d2e\u0d32\u0d2f\u0d3e\u0d33\u0d02 \u0dc1\u0dca\u200d\u0dbb\u0dd3 \u0c95\u0ccb",
    "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u0e01\u0e33 \u0e17\u0e35\u0e48\u0e19\u0e35\u0e48",
    (
        "\u0f56\u0f7c\u0f51\u0f0b\u0f66\u0f90\u0f51\u0f0b \u1019\u103c\u1014\u103a\u1019\u102c "
        "\u1797\u17b6\u179f\u17b6"
    ),
    "\u4e2d\u6587\u5206\u8bcd\u3002\u7e41\u9ad4\u5b57\uff0c\u300c\u5f15\u865f\u300d\uff01",
    "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8\u3001\u304b\u3099\u30cf\u309a \uff76\uff9e",
    "\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab\u1100\u116e\u11a8 \uac01 \u1100\u1161\u11a8",
    "\U00020000\U0002a6a5\u4fae\ufa30 beyond the basic plane",
    "\u12a0\u121b\u122d\u129b \u13e3\u13b3\u13a9 \u1403\u14c4\u1483 \u2d30\u2d63\u2d53\u2d4d",
    (
        "\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 "
        "\U0001f44b\U0001f3fd \u2764\ufe0f 1\ufe0f\u20e3"
    ),
    "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7\U0001f1ef \U0001f3f4\U000e0067\U000e0062\U000e007f",
    (
        "\u2200x\u2208\u211d: \u2308x\u2309 \u2260 \u230ax\u230b \u222b\u2081\u00b2 "
        "\U0001d400\U0001d4b3 \u2adc"
    ),
    "\U0001d15e \U0001d157\U0001d165 \U000110ab \U00011099\U000110ba",
    "controls \u0001\u0007\u0008\u001b[0m\u007f\u0080\u009f end",
    "private \ue000 \U000f0000, nonchar \ufdd0 \uffff, unassigned \u0378, replaced \ufffd",
    "\u2014\u2013\u2018\u2019\u201c\u201d\u2026\u00ab\u00bb\u20ac\u00a3\u00a5\u2122\u00a9\u00b0",
)


def behaviour_of(texts_out: Iterable[bytes]) -> Digest:
    """The digest of a transform's outputs, one for each probe text, in order."""
    hasher = hashlib.sha256(frame(b"shardline/behaviour/v1"))
    for output in texts_out:
        hasher.update(frame(output))
    return Digest(hasher.digest())
