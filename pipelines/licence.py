"""Licences of sources, as SPDX expressions in their canonical spelling."""

from __future__ import annotations

import re
from functools import cache

from license_expression import ExpressionError, LicenseExpression, Licensing, get_spdx_licensing

from lineage.errors import ConfigError

_OWN_NAME = re.compile(r"(DocumentRef-[A-Za-z0-9.-]+:)?LicenseRef-[A-Za-z0-9.-]+\Z")
_HINT = "write an SPDX expression such as CC-BY-SA-4.0, or LicenseRef-NAME for one of your own"


def canonical_licence(expression: str) -> str:
    """The canonical spelling of an SPDX expression: ``mit or apache-2.0`` → ``MIT OR Apache-2.0``.

    Raises:
        ConfigError: no SPDX expression, or a licence that neither SPDX nor the
            ``LicenseRef-`` form knows.
    """
    parsed = parsed_licence(expression)
    for name in _licensing().unknown_license_keys(parsed):
        if not _OWN_NAME.match(name):
            raise ConfigError(f"licence {name!r} is not in the SPDX list", _HINT)
    return str(parsed)


def parsed_licence(expression: str) -> LicenseExpression:
    """The tree of an SPDX expression: ``args`` and ``operator``, or one licence.

    Raises:
        ConfigError: no SPDX expression.
    """
    try:
        parsed = _licensing().parse(expression, strict=True)
    except (ExpressionError, TypeError):
        raise ConfigError(f"licence {expression!r} is no SPDX expression", _HINT) from None
    if parsed is None:
        raise ConfigError("the licence is empty", _HINT)
    return parsed


@cache
def _licensing() -> Licensing:
    return get_spdx_licensing()
