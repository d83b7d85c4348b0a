"""What each kind takes for its own, and what it lets pass, with all kinds looked for at once."""

from __future__ import annotations

import pytest

from pipelines.personal.registry import KINDS
from tests.pipelines.personal.found import found

B62 = "Zx3Kq9Lm2Vt7Rw5Yb8Nc4Hd6Jf1Gp0SaEuToIiQlOrXkWzCnDsMy4hB7gF2"
PGP = "PGP PRIVATE KEY BLOCK"
HEX = "3f9a1c7e5b2d8046af13c9e57b20d864"

# Of each kind: texts in which what stands between angle quotes is found, and nothing else is.
POSITIVES: dict[str, list[str]] = {
    "email": [
        "write to «jane.doe@example.org».",
        "<«j_d+news@mail.example.co.uk»>",
        "mailto:«a@b.io»?subject=x",
        "邮箱：«wang@example.cn»，谢谢",
        "«josé@exämple.de» schreibt",
        "'«o'neil@example.com»'",
        "john:«john@example.com»:hunter2",
        "«A.B-C%d@EXAMPLE.ORG»",
    ],
    "ip": [
        "seen from «8.20.30.40» today",
        "http://«52.12.34.56»:8080/x",
        "[«185.199.108.153»]",
        "«93.184.216.34»/24",
        "the server answers at «1.2.3.4»",
        "ping «2a02:1234::5:6», ok",
        "[«2606:4700:4700::1111»]:443",
        "«2a00:1450:4001:82a:0:0:0:200e»",
    ],
    "phone": [
        "+55 11 91234-5678".join("«»"),
        "call «+1 (415) 321-9500».",
        "«+49 (0)89 4366 5522», Montag",
        "Tel: «+44 1223 566 950»",
        "(«+33612345678»)",
        "«(212) 555-0123» x12",
        "«212-555-0123» or «1-800-555-0199»",
        "Office: «415.321.9500»",
        "«(11) 91234-5678», Brasil",
        "«06 12 34 56 78»",
        "«020 7946 0958», London",
        "«03-3210-7000» 東京, «090-1234-5678»",
        "手机：«13812345678»",
        "电话: «010-62785001»",
        "phone: «5551234»",
        "homePhone = «2125550123»",
        "Telefonnummer «0301234567»",
        "тел. «8 (495) 123-45-67»",
    ],
    "card": [
        "«4111 1111 1111 1111»",
        "pay with «5555-5555-5555-4444» now",
        "card=«378282246310005»",
        "«3782 822463 10005»",
        "«6011000990139424»",
        "«30569309025904»",
        "credit card number: «4222222222222»",
    ],
    "iban": [
        "«DE89 3704 0044 0532 0130 00»",
        "IBAN:«GB82WEST12345698765432»",
        "«NL91 ABNA 0417 1643 00» AND MORE",
        "«AT61 1904 3002 3457 3201» IST GUT",
        "«BR18 0036 0305 0000 1000 9795 493C 1»",
        "«NO93 8601 1117 947»",
    ],
    "us_ssn": ["«536-90-4399»", "SSN «536904399»", "social security number: «536 90 4399»"],
    "cpf": ["«529.982.247-25»", "CPF «52998224725»", "cpf nº «529982247-25»"],
    "cnpj": [
        "«11.222.333/0001-81»",
        "«12.ABC.345/01DE-35»",
        "CNPJ: «11222333000181»",
        "CNPJ nº «12ABC34501DE35»",
    ],
    "es_dni": ["DNI «12345678Z»", "«12345678-Z»", "«X1234567L»", "NIE «X-1234567-L»"],
    "fr_nir": ["«1 85 05 78 006 084 91»", "«185057800608491»"],
    "de_steuer_id": ["Steuer-ID: «86 095 742 719»", "IdNr. «86095742719»"],
    "it_codice_fiscale": ["«RSSMRA85T10A562S», nato"],
    "pl_pesel": ["PESEL: «44051401359»"],
    "nl_bsn": ["BSN «111222333»"],
    "in_aadhaar": ["Aadhaar «2341 2341 2346»"],
    "kr_rrn": ["«900101-1234568»", "«201015-3000000»"],
    "cn_resident_id": ["身份证«11010519491231002X»。"],
    "jp_my_number": ["マイナンバー：«1234 5678 9018»"],
    "private_key": [
        f"«-----BEGIN RSA PRIVATE KEY-----\n{B62}\n{B62}\n-----END RSA PRIVATE KEY-----» x",
        f"«-----BEGIN {PGP}-----\nVersion: x\n\n{B62}\n=abcd\n-----END {PGP}-----»",
        f'"«-----BEGIN PRIVATE KEY-----\\n{B62}\\n-----END PRIVATE KEY-----»\\n"',
        f"«-----BEGIN OPENSSH PRIVATE KEY-----\n{B62}\n{B62}»\n\nand so on, cut off",
    ],
    "api_token": [
        f"«AK{'IA'}Q7ZK3MPL5RTV2WXY»",
        f"AK{'IA'}Q7ZK3MPL5RTV2WXY".join("«»") + f" and «{B62[:40]}»",
        f"token «gh{'p_'}{B62[:36]}».",
        f"«github{'_pat_'}{B62[:22]}_{B62[:59]}»",
        f"«gl{'pat-'}{B62[:20]}»",
        f"«xo{'xb-'}1234567890-abcdefghij»",
        f"«sk{'_live_'}{B62[:24]}»",
        f"«AI{'za'}{B62[:35]}»",
        f"«np{'m_'}{B62[:36]}»",
        f"«py{'pi-'}AgE{B62[:55]}»",
        f"«h{'f_'}{B62[:34]}»",
        f"«s{'k-'}ant-api03-{B62[:50]}»",
        f"«ey{'J'}hbGciOiJIUzI1NiJ9.ey{'J'}zdWIiOiIxMjM0NTY3ODkwIn0.{B62[:43]}»",
        f"https://hooks.slack.com/services/«T01234567/B01234567/{B62[:24]}»",
        f"https://discord.com/api/webhooks/«123456789012345678/{B62}{B62[:8]}»",
        f'api_key = "«{B62[:32]}»"',
        f'{{"clientSecret": "«{HEX}»"}}',
        f"export DB_PASSWORD=«{B62[:24]}»\n",
        f"Authorization: Bearer «{B62[:40]}»",
        "postgres://admin:«pa55w0rd!»@db.example.org/x",
    ],
}

# Near misses: nothing at all is found in them.
NEGATIVES: dict[str, list[str]] = {
    "email": [
        "icon@2x.png",
        "getty@tty1.service is up",
        "user@localhost and root@host",
        "git@github.com:owner/name.git",
        "ssh://admin@host.example.org/",
        "@param name@",
        "a@b",
        "x@y.z",
        "foo@bar..com",
        "x" * 80 + "@example.org",
        "user@host.local",
    ],
    "ip": [
        "192.168.1.10, 10.0.0.1, 172.16.9.9, 127.0.0.1, 169.254.1.1",
        "203.0.113.9 and 198.51.100.7 and 192.0.2.1 are for books",
        "224.0.0.251 255.255.255.0 0.0.0.0",
        "version 12.34.56.78, v10.20.30.40",
        "see section 1.2.3.4 and 6.2.4.3",
        "Section\u00a036.20.40.30",
        "1.2.3.4.5.6 and 52.12.34.56.7",
        "lib-52.12.34.56-r1 and 52.12.34.56-2ubuntu1",
        "256.12.34.56 and 052.12.34.56",
        "host 130.89.148.0/24",
        "fe80::1, ::1, fd00::1, 2001:db8::1, 3fff::1",
        "at 2022:05:11 12:33:44 and std::vector, 2000: a year",
        "2a02:1234:: is a network",
    ],
    "phone": [
        "2026-11-30 12:00:00 and 20261130120000",
        "ISBN 978-3-16-148410-0, ISBN 0-306-40615-2",
        "1.2.345.6789 and 3.14159265358979",
        "+2147483647, +0000, +1.5e10, +999999999-12-31",
        "01 00 00 00 00 01 02 03 04",
        "7 138 1234 5678 and 138 1234 5678 90",
        "0: 7f 01 02 03 04 05 06",
        "1 234 567 890 people",
        "hotel 12345678, tall 1234567",
        "0x1234567890 deadbeef12345678",
        "550e8400-e29b-41d4-a716-446655440000",
        "call 2026-11-30, call 3.1415926",
        "https://example.org/item/2125550123/",
        "192.168.100.200",
        "112-555-0123 and 212-155-0123",
        "id 123456789012",
    ],
    "card": [
        "4111 1111 1111 1112",
        "0000 0000 0000 0000",
        "1234 5678 9012 3452",
        "4111-1111 1111 1111",
        "0.4111111111111111",
        "x4111111111111111 4111111111111111x",
        "4222222222222",
        "4611686018427387904, 9007199254740993, 18446744073709551615",
        "37828224631000",
    ],
    "iban": [
        "DE89 3704 0044 0532 0130 01",
        "DE89 3704 0044 0532 0130 0",
        "XX89 3704 0044 0532 0130 00",
        "ADE89370400440532013000",
        "GB82 LONDON",
    ],
    "us_ssn": ["000-12-3456 666-12-3456 912-12-3456", "536-00-4399 536-90-0000", "536904399"],
    "cpf": ["529.982.247-26", "111.111.111-11", "52998224725", "529.982.247.25"],
    "cnpj": ["11.222.333/0001-82", "11222333000181", "00.000.000/0000-00"],
    "es_dni": ["12345678Z", "DNI 12345678A", "abcdef12 12345678z", "X1234567M"],
    "fr_nir": ["1 85 05 78 006 084 92", "5 85 05 78 006 084 91"],
    "de_steuer_id": ["86 095 742 719", "Steuer-ID 86 095 742 718", "Steuer-ID 12345678903"],
    "it_codice_fiscale": ["RSSMRA85T10A562T", "RSSMRA85Z10A562S"],
    "pl_pesel": ["44051401359", "PESEL 44051401358", "PESEL 44131401359"],
    "nl_bsn": ["111222333", "BSN 111222334"],
    "in_aadhaar": ["2341 2341 2346", "Aadhaar 2341 2341 2347", "Aadhaar 1234 1234 1234"],
    "kr_rrn": ["900101-1234567", "901301-1234568", "900230-1234568"],
    "cn_resident_id": ["110105194912310021", "11010519491331002X"],
    "jp_my_number": ["1234 5678 9018", "My Number 1234 5678 9017"],
    "private_key": [
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY----- and -----END PRIVATE KEY-----",
        f"-----BEGIN PUBLIC KEY-----\n{B62}\n-----END PUBLIC KEY-----",
        f"-----BEGIN CERTIFICATE-----\n{B62}\n-----END CERTIFICATE-----",
    ],
    "api_token": [
        "gh" + "p_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "a disk-based sk-learn-contrib-package-with-a-long-name",
        "the secret: everybody_knows_this_long_name",
        "token = get_token_from_environment_or_fail()",
        "password: changeme",
        "secret_key_base = ${SECRET_KEY_BASE_FROM_ENVIRONMENT}",
        "tokenizer: facebook/opt-125m-deduped-v2",
        "eyJ.eyJ.x and heyJude",
        f"sha256 = {HEX}{HEX}",
        "https://user:password@example.com/",
    ],
}


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in POSITIVES.items() for text in texts]
)
def test_what_is_one_is_found_and_nothing_else(name: str, text: str) -> None:
    wanted = [(name, part.partition("»")[0]) for part in text.split("«")[1:]]
    assert found(text.replace("«", "").replace("»", "")) == wanted


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in NEGATIVES.items() for text in texts]
)
def test_a_near_miss_is_not_found(name: str, text: str) -> None:
    assert found(text) == []


def test_every_kind_is_tried_both_ways() -> None:
    assert POSITIVES.keys() == NEGATIVES.keys() == KINDS.keys()


@pytest.mark.parametrize("name", POSITIVES)
def test_a_kind_is_found_without_the_others_too(
    name: str,
) -> None:
    for text in POSITIVES[name]:
        bare = text.replace("«", "").replace("»", "")
        assert [kind for kind, _ in found(bare, KINDS[name])] == [name] * text.count("«")
