"""Documents: finding them, reading them, and cutting them into chunks and sentences.

It knows no store and no model. The library for a format is imported when such a file is read, and the readers
when one of the names below is used: questions need none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphrag_rdf.documents.chunk import chunk_text
    from graphrag_rdf.documents.discover import Discovery, Source
    from graphrag_rdf.documents.language import detect_language
    from graphrag_rdf.documents.model import Chunk, Page, ParsedDocument, Sentence, Table, pages_of
    from graphrag_rdf.documents.readers import (
        MAX_BYTES,
        SUPPORTED,
        load_bytes,
        read_bytes,
        read_document,
    )
    from graphrag_rdf.documents.sentences import split_sentences
    from graphrag_rdf.documents.text import count_tokens

__all__ = [
    "MAX_BYTES",
    "SUPPORTED",
    "Chunk",
    "Discovery",
    "Page",
    "ParsedDocument",
    "Sentence",
    "Source",
    "Table",
    "chunk_text",
    "count_tokens",
    "detect_language",
    "load_bytes",
    "pages_of",
    "read_bytes",
    "read_document",
    "split_sentences",
]

_IN = {
    "chunk": ("chunk_text",),
    "discover": ("Discovery", "Source"),
    "language": ("detect_language",),
    "model": ("Chunk", "Page", "ParsedDocument", "Sentence", "Table", "pages_of"),
    "readers": ("MAX_BYTES", "SUPPORTED", "load_bytes", "read_bytes", "read_document"),
    "sentences": ("split_sentences",),
    "text": ("count_tokens",),
}
"""Module → names of it."""
_MODULES = {name: module for module, names in _IN.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
