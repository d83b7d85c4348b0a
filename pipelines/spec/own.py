"""The section ``[[transforms]]``: functions of the user's own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from lineage.fields import Fields

_FUNCTION = re.compile(r"[A-Za-z_]\w{0,99}:[A-Za-z_]\w{0,99}\Z", re.ASCII)
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}\Z")


@dataclass(frozen=True, slots=True)
class OwnSpec:
    """One function of the user.

    Attributes:
        name: stands in edits, and in the names of its signals.
        function: ``module:function``; the module is a file of the workspace's ``transforms``.
        parameters: what it is called with, as canonical JSON text of one object.
    """

    name: str
    function: str
    parameters: str = "{}"


def own_spec(table: object, where: str) -> OwnSpec:
    """Reads one table ``[[transforms]]``.

    Raises:
        ConfigError: an unknown key, a wrong type, or no ``module:function``.
    """
    fields = Fields(table, where, OwnSpec.__slots__)
    function = fields.text("function")
    if not _FUNCTION.match(function):
        fields.refuse("function", f"{function!r} is no module:function", "such as my_text:shorten")
    name = fields.text("name", function.partition(":")[2].lower())
    if not _NAME.match(name):
        hint = "names are lower-case letters, digits and underscores, 40 at most"
        fields.refuse("name", f"{name!r} is no name of a transform", hint)
    return OwnSpec(name, function, _parameters(fields))


def _parameters(fields: Fields) -> str:
    table = fields.value("parameters") if "parameters" in fields else {}
    if not isinstance(table, Mapping):
        fields.refuse("parameters", "a table was expected", "parameters = { limit = 10 }")
    try:
        return json.dumps(table, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError):
        fields.refuse("parameters", "dates and numbers without a value are no JSON")
