"""Values with their XSD datatypes: as models name them, and as they stand in the cells of tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime

from .numbers import XSD, find_literals, month_words


def _form(pattern: str, read: Callable[[str], object] = str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.ASCII)

    def fits(text: str) -> bool:
        if compiled.fullmatch(text) is None:
            return False
        try:
            read(text)
        except ValueError:
            return False
        return True

    return fits


# the lexical forms of XSD 1.1 part 2 (dates without time zones); days also have to be in the calendar
_FORMS: dict[str, Callable[[str], bool]] = {
    "dateTime": _form(
        r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|[+-]\d{2}:\d{2})?", datetime.fromisoformat
    ),
    "date": _form(r"\d{4}-\d{2}-\d{2}", date.fromisoformat),
    "gYearMonth": _form(r"-?\d{4}-(0[1-9]|1[0-2])"),
    "gYear": _form(r"-?\d{4}"),
    "integer": _form(r"[+-]?\d+"),
    "decimal": _form(r"[+-]?(\d+(\.\d*)?|\.\d+)"),
    "boolean": _form("true|false"),
}

# a name that a model gives -> XSD types to try, the first that fits; none for a string
_TYPES: dict[str, tuple[str, ...]] = {
    "string": (),
    "text": (),
    "": (),
    **dict.fromkeys(
        ("date", "datetime", "gyearmonth", "gyear", "year"), ("date", "gYearMonth", "gYear", "dateTime")
    ),
    **dict.fromkeys(("integer", "int", "long", "nonnegativeinteger", "positiveinteger"), ("integer",)),
    **dict.fromkeys(("decimal", "number", "float", "double"), ("integer", "decimal")),
    **dict.fromkeys(("boolean", "bool"), ("boolean",)),
}


_BESIDE = frozenset(("on", "in", "the", "of", "am", "im", "den", "vom", "op", "de", "le", "el", "il", "em"))
"""Words that may stand beside a date that is the whole of a value."""


def read_date(text: str) -> tuple[str, str] | None:
    """(lexical form, XSD IRI) of a value that is a date, a month or a year in words or digits; else None.

    Args:
        text: such as "Monday, 13 December 1967", "December 1967", "1967年12月13日", "1967".
    """
    found = find_literals(text)
    if len(found) != 1 or (one := found[0]).datatype is None or one.kind == "number":
        return None
    beside = re.findall(r"\w+", f"{text[: one.offset]} {text[one.offset + one.length :]}".lower())
    whole = (_BESIDE | month_words() - {"bc", "bce"}).issuperset(beside)
    return (one.lexical, str(one.datatype)) if whole else None


def typed_literal(text: str, datatype: str | None) -> tuple[str, str | None, bool]:
    """A value in the form of its datatype.

    Args:
        text: as the model wrote it.
        datatype: as the model named it: a short name, with `xsd:` or as an IRI.

    Returns:
        (lexical form, absolute XSD IRI or None for a string, whether the value has the datatype asked
        for). A value that does not have it is a string.
    """
    name = re.split(r"[#:/]", datatype or "")[-1].strip().lower()
    wanted = _TYPES.get(name)
    found = read_date(text) if not wanted or "date" in wanted else None
    if found and (wanted or found[1] != XSD + "gYear"):  # four digits alone may count something
        return *found, True
    if not wanted:
        return text, None, wanted is not None
    value = text.lower() if wanted == ("boolean",) else text
    for kind in wanted:
        if _FORMS[kind](value):
            return value, XSD + kind, True
    return text, None, False
