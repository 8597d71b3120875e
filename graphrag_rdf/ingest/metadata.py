"""Metadata of documents as facts: author, publisher and dates of the thing that the title names.

They are contained in a subgraph that derives from the document itself. They have no quote, because its text
need not state them. An author or publisher is an entity if that is a plain name, else a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from pyoxigraph import NamedNode, Triple

from graphrag_rdf.documents.model import ParsedDocument
from graphrag_rdf.extract.model import RelationCandidate
from graphrag_rdf.extract.name_filter import topic_of
from graphrag_rdf.extract.names import fold
from graphrag_rdf.extract.numbers import typed_literal
from graphrag_rdf.ingest.entity_decisions import read_groups
from graphrag_rdf.ingest.fact_decisions import read_withheld
from graphrag_rdf.ingest.facts import FactSettings, FactWriter, Written, literal_of
from graphrag_rdf.ingest.names import KnownNames, unsettled
from graphrag_rdf.ingest.retract import retract_subgraphs
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.metadata import METADATA, METADATA_KEY
from graphrag_rdf.rdf.namespaces import DCTERMS
from graphrag_rdf.rdf.terms import now
from graphrag_rdf.store.base import Changes, Store

_COMPONENT = "graphrag-rdf-metadata"
_VERSION = "1"
_RELATIONS = {label: relation for relation, label in METADATA.items()}
_MOST_WORDS = 6  # of a plain name
_LONGEST_WORD = 8  # of a name that is written without spaces
_ADDRESS = re.compile(r"\s*<[^<>]*@[^<>]*>$")
_BETWEEN = re.compile(r",\s*(?:and\s+)?|\s+(?:and|und|en|et|y|e|&)\s+")
_WORD = re.compile(r"[^\W\d_][\w.'’-]*")
_SMALL = frozenset(
    "al bin da de del della den der di do dos du el ibn la le van von y zu zum zur".split()  # noqa: SIM905
)
_OF_BODIES = frozenset({"for", "of", "the"})  # "Ministry of Fish and Game" is one
# names that programs write by default
_NOBODY = frozenset(
    {
        "admin", "administrator", "anonymous", "author", "default user", "microsoft office user", "openpyxl",
        "owner", "python-docx", "root", "unknown", "unknown author", "user", "windows user",
    }
)  # fmt: skip


def write_metadata(
    store: Store, settings: FactSettings, document: NamedNode, parsed: ParsedDocument, changes: Changes
) -> Written:
    """Add to a transaction what changes among the facts that the metadata of a document give.

    Returns:
        what was written; nothing if the facts are contained already.
    """
    subgraph = iris.subgraph(document, METADATA_KEY)
    names = KnownNames(store)
    written = Written(subgraph)
    if stated := list(statements_of(parsed)):
        refused = store.refused(filter(None, map(literal_of, stated)))
        stated = [replace(each, datatype=None) if literal_of(each) in refused else each for each in stated]
        writer = FactWriter(names, settings, read_groups(store), read_withheld(store))
        written = writer.metadata(subgraph, stated, _RELATIONS)
    rows = store.select("ingest/contained-in-subgraphs", subgraphs=[subgraph])
    before = {(row["s"], row["p"], row["o"]) for row in rows}
    wanted = [quad.object for quad in written.quads if isinstance(quad.object, Triple)]
    if before == {(fact.subject, fact.predicate, fact.object) for fact in wanted}:
        return Written(subgraph)
    if before:
        retract_subgraphs(store, [subgraph], changes)
    if wanted:
        changes.add += prov.agent(_COMPONENT, _VERSION)
        changes.add += prov.metadata_subgraph(subgraph, document, _COMPONENT, now())
        changes.add += written.quads
        changes.add += unsettled(names.take_contested())
    return written


def statements_of(parsed: ParsedDocument) -> Iterator[RelationCandidate]:
    """The statements in the metadata of a document about its topic; predicates are labels of `METADATA`.

    A document without a title has its file's name as title, which counts only if it has an author: the date
    of "Scan 0001" is of no use.
    """
    given = [(NamedNode(iri), value) for iri, value in parsed.metadata]
    named = (who for relation, value in given if relation == DCTERMS.creator for who in _who(value))
    if not parsed.titled and not any(named):
        return
    title = topic_of(parsed.title, (), given=True) or parsed.title
    for relation, value in given:
        if relation not in METADATA:
            continue
        said = _who(value) if relation in (DCTERMS.creator, DCTERMS.publisher) else [_when(value)]
        for text, is_entity, datatype in said:
            yield RelationCandidate(
                subject=title,
                predicate=METADATA[relation],
                object=text,
                object_is_entity=is_entity,
                datatype=datatype,
                quote=None,
                confidence=None,
                span=None,
            )


def _when(value: str) -> tuple[str, bool, str | None]:
    """A date without its time, which is when the file was saved; a text if it is not a date."""
    text, datatype, _ = typed_literal(value[:10] if value[10:11] in ("T", " ") else value, "date")
    return text, False, datatype


def _who(value: str) -> Iterator[tuple[str, bool, None]]:
    """The people or bodies of a value, and whether that is a plain name."""
    for part in filter(None, map(str.strip, value.split(";"))):
        several = _BETWEEN.split(part)
        for name in several if all(map(_is_one_of_several, several)) else [part]:
            called = _ADDRESS.sub("", name)
            if fold(called) not in _NOBODY:
                yield called, is_plain_name(called), None


def _is_one_of_several(name: str) -> bool:
    """Whether it is a name by itself, of two words at least, unlike "Venn" in "Venn, Ada"."""
    words = name.split()
    return len(words) > 1 and is_plain_name(name) and _OF_BODIES.isdisjoint(words)


def is_plain_name(text: str) -> bool:
    """Whether a text is a name and nothing else: some words with capitals, small ones ("van") between or
    before them, or one word of a script that has neither capitals nor spaces.
    """
    words = text.split()
    if not all(map(_WORD.fullmatch, words)):
        return False
    if len(words) == 1:
        return text.lower() == text.upper() and len(text) <= _LONGEST_WORD
    named = [word for word in words if word not in _SMALL | _OF_BODIES]
    return 0 < len(words) <= _MOST_WORDS and words[-1] in named and not any(w[0].islower() for w in named)
