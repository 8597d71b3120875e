"""Search by words and by meaning: derived data, rebuilt from the store alone at any time."""

from .embedders import Embedder, embedder_for
from .records import KINDS, Hit, Kind, Record, SyncReport
from .text import TextIndex
from .vectors import VectorIndex

__all__ = [
    "KINDS",
    "Embedder",
    "Hit",
    "Kind",
    "Record",
    "SyncReport",
    "TextIndex",
    "VectorIndex",
    "embedder_for",
]
