"""Search by words and by meaning: derived data, rebuilt from the store alone at any time."""

from .model import KINDS, Hit, Kind, Record, SyncReport
from .text import TextIndex

__all__ = ["KINDS", "Hit", "Kind", "Record", "SyncReport", "TextIndex"]
