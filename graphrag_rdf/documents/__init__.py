"""Documents: finding them, reading them, and cutting them into chunks and sentences.

It knows no store and no model. The library for a format is imported when such a file is read.
"""

from graphrag_rdf.documents.chunk import chunk_text
from graphrag_rdf.documents.discover import Discovery, Source, discover
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
    "discover",
    "load_bytes",
    "pages_of",
    "read_bytes",
    "read_document",
    "split_sentences",
]
