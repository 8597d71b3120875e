"""`pack verify --against`: what changed in a store since a pack was made from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyoxigraph import NamedNode

from graphrag_rdf.i18n import later, tr
from graphrag_rdf.store.base import Store
from graphrag_rdf.trace.facts import decided_against, label_of, read_labels
from graphrag_rdf.trace.kinds import Statement
from graphrag_rdf.trace.model import Trace
from graphrag_rdf.trace.text import fact_words
from graphrag_rdf.wings.audit.pack_answer import all_runs
from graphrag_rdf.wings.audit.verify import Check


def changes(store: Store, included: Store, trace: Trace) -> Iterator[Check]:
    """What the answer of a packed trace rests on and is not as it was: documents, facts, entities.

    Args:
        included: the RDF of the pack.
        trace: in it.
    """
    selections = [selection for run in all_runs(trace) for selection in run.selections]
    documents = {source.document for each in selections for source in each.sources if source.chunk}
    own = [each for each in selections if each.endpoint is None]  # other servers are not asked again
    facts = {each.triple: fact_words(each.fact) for each in own if each.triple and each.fact}
    yield from _documents(store, included, [NamedNode(document) for document in sorted(documents)])
    if facts:
        yield from _facts(store, facts)
        yield from _entities(store, included, facts)


def _documents(store: Store, included: Store, documents: list[NamedNode]) -> Iterator[Check]:
    if not documents:
        return
    current = {row["document"]: row["hash"] for row in store.select("audit/versions", documents=documents)}
    for row in included.select("audit/versions", documents=documents):
        if row["document"] not in current:
            yield _changed(later("document"), tr("“{title}” is not in the store").format(title=row["title"]))
        elif current[row["document"]] != row["hash"]:
            yield _changed(later("document"), tr("“{title}” was edited").format(title=row["title"]))


def _facts(store: Store, facts: Mapping[Statement, str]) -> Iterator[Check]:
    rows = store.select("facts/asserted", edges=list(facts))
    gone = sorted(facts.keys() - {(row["s"], row["p"], row["o"]) for row in rows}, key=str)
    notes = decided_against(store, gone)
    for fact in gone:
        message = tr("{fact} is no longer asserted").format(fact=facts[fact])
        yield _changed(later("fact"), f"{message}: {notes[fact]}" if fact in notes else message)


def _entities(store: Store, included: Store, facts: Mapping[Statement, str]) -> Iterator[Check]:
    entities = sorted({end for s, _, o in facts for end in (s, o) if isinstance(end, NamedNode)}, key=str)
    before, after = (
        {row["entity"]: row["canonical"] for row in each.select("retrieval/canonical", entities=entities)}
        for each in (included, store)
    )
    labels = read_labels(store, [*entities, *after.values()])
    for entity in entities:
        if after.get(entity, before.get(entity)) != before.get(entity):
            message = (
                tr("“{name}” is an entity of its own again")
                if after[entity] == entity
                else tr("“{name}” is one with “{other}” now")
            )
            names = {"name": label_of(entity, labels), "other": label_of(after[entity], labels)}
            yield _changed(later("entity"), message.format(**names))


def _changed(what: str, detail: str) -> Check:
    return Check(what, None, detail, changed=True)
