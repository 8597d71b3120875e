"""The extraction of a chunk from the tables: the entities and relationships of its text unit.

Titles are in capitals. Where the chunk has a title in another spelling, this is the entity's name there, and
the title another name. A relationship has no type, so its predicate is `RELATED`. A sentence that names both
ends is its evidence. Descriptions and weights were made from all text units of a row: see `elements`.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from graphrag_rdf.documents.model import Sentence
from graphrag_rdf.extract.model import EntityCandidate, Extraction, RelationCandidate
from graphrag_rdf.extract.names import fold
from graphrag_rdf.ingest.extractors import ChunkExtractor, Extracted
from graphrag_rdf.ingest.facts import CandidateFilter
from graphrag_rdf.wings.msgraphrag.rows import EntityRow, RelationshipRow
from graphrag_rdf.wings.msgraphrag.tables import Tables
from graphrag_rdf.wings.msgraphrag.texts import GivenText

COMPONENT = "graphrag-rdf-ms-graphrag"
VERSION = "1"
FAMILY = "ms-graphrag"
RELATED = "related to"
"""The predicate of relationships."""


def table_extractor(tables: Tables, texts: Sequence[GivenText], min_length: int) -> ChunkExtractor:
    """An extractor that returns what the tables say of a chunk.

    Args:
        min_length: code points of a name.
    """
    entities: Mapping[str, list[EntityRow]] = _by_unit(tables.entities)
    relationships: Mapping[str, list[RelationshipRow]] = _by_unit(tables.relationships)
    fit = CandidateFilter(min_length)
    units: dict[str, dict[str, None]] = defaultdict(dict)
    for each in texts:
        for chunk in each.chunks:
            units[each.text_of(chunk)].update(dict.fromkeys(chunk.units))

    def extract(text: str, sentences: Sequence[Sentence], **_: Any) -> Extracted:
        del sentences
        own = units.get(text, {})
        named = {row.title for unit in own for row in entities[unit]}
        named.update(end for unit in own for row in relationships[unit] for end in (row.source, row.target))
        names = {title: spelled(title, text, fit) for title in sorted(named)}
        found = [
            EntityCandidate(
                names[row.title], row.type.lower() if row.type else None, None, (row.title,), None
            )
            for unit in own
            for row in entities[unit]
        ]
        titles = {row.title for unit in own for row in entities[unit]}
        found += [  # ends of relationships keep their titles, too
            EntityCandidate(name, None, None, (title,), None)
            for title, name in names.items()
            if title not in titles and title != name
        ]
        related = [
            RelationCandidate(names[row.source], RELATED, names[row.target], True, None, None, None, None)
            for unit in own
            for row in relationships[unit]
        ]
        return Extracted(Extraction(tuple(found), tuple(related), (), (), None))

    return ChunkExtractor(COMPONENT, VERSION, f"{FAMILY}/{VERSION};tables={_digest(tables)}", extract)


def spelled(title: str, text: str, fit: CandidateFilter) -> str:
    """The most frequent spelling of a title in a text; the title itself if the text does not have it."""
    found = Counter(" ".join(each.split()) for each in _pattern(title).findall(text))
    own = [form for form in found if fold(form) == fold(title) and fit.unfit(form) is None]
    return max(own, key=lambda form: (found[form], form != title, form), default=title)


@lru_cache(maxsize=20_000)
def _pattern(title: str) -> re.Pattern[str]:
    words = r"\s+".join(map(re.escape, title.split()))
    return re.compile(rf"(?<![^\W_]){words}(?![^\W_])", re.IGNORECASE)


R = TypeVar("R", EntityRow, RelationshipRow)


def _by_unit(rows: Iterable[R]) -> Mapping[str, list[R]]:
    found: dict[str, list[R]] = defaultdict(list)
    for row in rows:
        for unit in row.text_unit_ids:
            found[unit].append(row)
    return found


def _digest(tables: Tables) -> str:
    """A hash of everything that extractions depend on."""
    said = [repr((row.title, row.type, row.text_unit_ids)) for row in tables.entities]
    said += [repr((each.source, each.target, each.text_unit_ids)) for each in tables.relationships]
    return hashlib.sha256("\n".join(said).encode()).hexdigest()
