"""The text or bytes behind an IRI: of a stored object, a chunk, page, document, step or answer."""

from __future__ import annotations

from pyoxigraph import NamedNode

from graphrag_rdf.engine import Engine


def read_content(engine: Engine, thing: NamedNode) -> bytes | None:
    """The bytes behind an IRI; None without any."""
    if thing.value.startswith("urn:sha256:"):
        return engine.blobs.get(thing)
    for row in engine.store.select("server/content", thing=thing):
        text: str | None = row["text"]
        if text is not None:
            return text.encode()
        if row["offset"] is None:
            return engine.blobs.get(row["stored"])
        start, length = row["offset"], row["length"]
        text = engine.blobs.text(row["stored"])
        return None if text is None else text[start : start + length].encode()
    return None


def read_text(engine: Engine, thing: NamedNode) -> str | None:
    """The same as text; None also of what is no UTF-8, like the bytes of a PDF file."""
    data = read_content(engine, thing)
    try:
        return None if data is None else data.decode("utf-8")
    except UnicodeDecodeError:
        return None
