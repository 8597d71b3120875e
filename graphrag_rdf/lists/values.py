"""Values of lists: from rows of a query to JSON, and from JSON to texts for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyoxigraph import Literal

from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.rdf.terms import to_python
from graphrag_rdf.trace.lines import human_size


def plain(value: Any) -> Any:
    """A cell of a row as JSON; numbers and truths stay what they are."""
    return to_json(to_python(value) if isinstance(value, Literal) else value)


SHOWN: Mapping[str, Callable[[Any], str]] = {
    "text": str,
    "path": str,
    "count": "{:,}".format,
    "size": human_size,
    "share": "{:.0%}".format,
    "seconds": "{:.2f}".format,
    "date": lambda text: text[:10],
    "moment": lambda text: f"{text[:10]} {text[11:19]} UTC",  # all moments of a store are in UTC
    "truth": lambda value: tr("yes") if value else tr("no"),
}
"""Kind of a column → how it shows a value of JSON. A path that is too long is cut at its beginning."""

NUMBERS = frozenset({"count", "size", "share", "seconds"})
"""Kinds that are aligned to the right."""

WHOLE = NUMBERS | {"date", "truth"}
"""Kinds that are never cut."""
