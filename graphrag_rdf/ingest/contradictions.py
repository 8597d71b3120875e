"""Contradictions with the ontologies that the facts of a run make, if inferences are kept (`reasoning.auto`).

The updates of the inferences during a run note what is new. At its end, what contradicts an ontology is
looked for among all facts, and counts if a premise is new. Where an update began from scratch, all count.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphrag_rdf.i18n import ngettext, tr
from graphrag_rdf.ingest.report import ContradictionCounts, IngestReport
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.schema.reasoning import Inconsistency, NewTriples, find_inconsistencies
from graphrag_rdf.store.base import Store
from graphrag_rdf.trace.sources import Contradiction, contradictions
from graphrag_rdf.trace.text import fact_words

_MOST = 10_000
"""Contradictions of each rule that are looked at."""
_FIRST = 3
"""Those that a report shows."""


def new_contradictions(store: Store, noted: NewTriples) -> list[Inconsistency]:
    """What contradicts the ontologies by something new."""
    if not (noted.triples or noted.is_unknown):
        return []
    found = find_inconsistencies(store, _MOST)
    return [one for one in found if noted.is_unknown or not noted.triples.isdisjoint(one.premises)]


def report_contradictions(store: Store, noted: NewTriples, report: IngestReport) -> None:
    """Add contradictions to the report of a run, with the first ones in a warning."""
    found = new_contradictions(store, noted)
    if not found:
        return
    first = contradictions(store, found[:_FIRST])
    report.contradictions = ContradictionCounts(len(found), to_json(first))
    told = (
        ngettext(
            "{count:,} contradiction with the ontologies, old ones included: {first}. {hint}",
            "{count:,} contradictions with the ontologies, old ones included: {first}. {hint}",
            len(found),
        )
        if noted.is_unknown
        else ngettext(
            "{count:,} new contradiction with the ontologies: {first}. {hint}",
            "{count:,} new contradictions with the ontologies: {first}. {hint}",
            len(found),
        )
    )
    hint = tr("graphrag-rdf refresh inferences lists all, with their justification")
    detail = told.format(count=len(found), first=_words(first), hint=hint)
    report.warn("contradictions", detail)


def _words(found: Sequence[Contradiction]) -> str:
    """`(Gannet, is a, Town) and (Gannet, is a, Ship) (Loss of the Gannet)`, of each."""
    said = []
    for one in found:
        facts = [fact_words(each.fact) for each in one.premises if each.held != "ontology"]
        sources = [source.source for each in one.premises for source in each.sources]
        names = dict.fromkeys(str(source.title or source.name) for source in sources)
        documents = f" ({', '.join(names)})" if names else ""
        said.append(tr(" and ").join(facts) + documents)
    return "; ".join(said)
