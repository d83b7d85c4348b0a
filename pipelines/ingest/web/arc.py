"""ARC records: one header line, then so many bytes.

Source: the ARC 1.0 description of the Internet Archive (Burner, Kahle, 1996); version 2
puts five more fields in front of the length.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

# URL, IP address, date, type, (result, check sum, location, offset, file name,) length.
ARC_LINE = (
    rb"([A-Za-z][\w+.-]{1,20}:[^\r\n]{0,8192}?) [\w.:-]{0,45} \d{8,18} "
    rb"([^ \r\n]{1,200})(?: [^ \r\n]{1,1000}){0,5} (\d{1,15})\r?\n"
)
_LINE = re.compile(ARC_LINE)


def arc_header(line: bytes) -> Mapping[str, str] | None:
    """The names that WARC has for the fields of a header line; None for any other line."""
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    url = match[1].decode("utf-8", "replace")
    return {
        "warc-type": "arcinfo" if url.startswith("filedesc:") else "response",
        "warc-target-uri": url,
        "content-type": match[2].decode("latin-1"),
        "content-length": match[3].decode("ascii"),
    }
