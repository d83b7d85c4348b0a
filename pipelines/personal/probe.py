"""Texts with one of each kind, on which the act shows its behaviour beside the fixed ones.

Numbers are samples that their issuers publish, or made for the purpose; tokens are put
together from halves, so that nothing takes this file for a leak.
"""

from __future__ import annotations

_LETTERS = "Zx3Kq9Lm2Vt7Rw5Yb8Nc4Hd6Jf1Gp0SaEuToIiQlOrXk"

OWN_PROBE_TEXTS: tuple[str, ...] = (
    "write to jane.doe+news@example.org, or user@icon@2x.png",
    "seen from 8.20.30.40 and 2a02:1234::5:6, not from 192.168.1.10, version 1.2.3.4",
    "+55 11 91234-5678, (212) 555-0123, 06 12 34 56 78; tel. 1234567; 2026-11-30 12:00:00",
    "4111 1111 1111 1111, 378282246310005, 4111 1111 1111 1112",
    "DE89 3704 0044 0532 0130 00 and GB82WEST12345698765432",
    "078-05-1121 and SSN 078051121 and 000-12-3456",
    "CPF 529.982.247-25, CNPJ 11.222.333/0001-81 and 12.ABC.345/01DE-35",
    "DNI 12345678Z, X1234567L; 1 85 05 78 006 084 91; Steuer-ID 86 095 742 719",
    "RSSMRA85T10A562S; PESEL 44051401359; BSN 111222333",
    "Aadhaar 2341 2341 2346; 900101-1234568; 11010519491231002X; My Number 1234 5678 9018",
    "gh" + f"p_{_LETTERS[:36]} and AK" + "IAQ7ZK3MPL5RTV2WXY, npm" + f"_{_LETTERS[:36]}",
    f'api_key = "{_LETTERS[:32]}", password: changeme, postgres://me:pa55word@db.example.org/x',
    "-----BEGIN PRIVATE" + f" KEY-----\n{_LETTERS}{_LETTERS}\n-----END PRIVATE" + " KEY-----",
)
