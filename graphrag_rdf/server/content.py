"""The text or bytes behind an IRI: of a stored object, a chunk, page, document, step or answer."""

from __future__ import annotations

from pyoxigraph import NamedNode

from graphrag_rdf.engine import Engine
from graphrag_rdf.rdf.terms import text_of


def read_content(engine: Engine, thing: NamedNode) -> bytes | None:
    """The bytes behind an IRI; None without any."""
    if thing.value.startswith("urn:sha256:"):
        return engine.blobs.get(thing)
    for row in engine.store.select("server/content", thing=thing):
        if "text" in row:
            return text_of(row["text"]).encode()
        if "offset" not in row:
            return engine.blobs.get(text_of(row["stored"]))
        start, length = int(text_of(row["offset"])), int(text_of(row["length"]))
        whole = engine.blobs.text(text_of(row["stored"]))
        return None if whole is None else whole[start : start + length].encode()
    return None


def read_text(engine: Engine, thing: NamedNode) -> str | None:
    """The same as text; None also of what is no UTF-8, like the bytes of a PDF file."""
    data = read_content(engine, thing)
    try:
        return None if data is None else data.decode("utf-8")
    except UnicodeDecodeError:
        return None
