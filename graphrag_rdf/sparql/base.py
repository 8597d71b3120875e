"""An external base IRI for a query or update (RFC 3986 §5.1.2)."""

from __future__ import annotations

import re

from graphrag_rdf.sparql.tokens import tokens

_ABSOLUTE = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*:")


def with_base(text: str, base: str | None) -> str:
    """A query or update with a BASE before it, where it has relative IRIs; its own, if it has one, wins.

    It stands on the first line, so that line numbers in messages stay the writer's.
    """
    if base is None or all(_ABSOLUTE.match(token.text) for token in tokens(text) if token.kind == "iri"):
        return text
    return f"BASE <{base}> {text}"
