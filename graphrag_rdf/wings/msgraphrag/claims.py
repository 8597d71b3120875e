"""Claims of the tables as claims of chunks."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.extract.names import fold, is_placeholder, match_key
from graphrag_rdf.extract.numbers import typed_literal
from graphrag_rdf.ingest.model_stage import QuoteFinder
from graphrag_rdf.rdf import claims as build
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.model_calls import ModelCall
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF
from graphrag_rdf.rdf.prov import source
from graphrag_rdf.rdf.terms import now
from graphrag_rdf.store.base import Changes, Store, in_batches
from graphrag_rdf.wings.communities.extract.claims import STATUSES
from graphrag_rdf.wings.msgraphrag.extraction import COMPONENT, FAMILY, VERSION
from graphrag_rdf.wings.msgraphrag.found import Found
from graphrag_rdf.wings.msgraphrag.report import TablesReport
from graphrag_rdf.wings.msgraphrag.rows import CovariateRow
from graphrag_rdf.wings.msgraphrag.tables import Tables

_TIME = re.compile(r"(?<=\d\d\d\d-\d\d-\d\d)[T ]\d\d:\d\d.*", re.ASCII)
_DATES = ("date", "gYearMonth", "gYear")
_CHUNKS = 50  # in a transaction


def write_claims(
    store: Store, tables: Tables, found: Found, report: TablesReport
) -> tuple[int, Mapping[int, Mapping[NamedNode, NamedNode]]]:
    """Write the claims of chunks whose rows have changed since the last import.

    Returns:
        (how many chunks were written, number of a row → its claims, with their chunks).
    """
    rows = _of_chunks(tables, found, report)
    wanted = {chunk: f"{FAMILY}-claims/{VERSION};{_digest(own)}" for chunk, own in rows.items()}
    before: dict[NamedNode, dict[NamedNode, str]] = defaultdict(dict)
    for row in store.select("claims/journal", agent=iris.agent(COMPONENT)):
        if (chunk := row["chunk"]) in found.texts:
            before[chunk][row["activity"]] = row["key"]
    changed = [
        chunk for chunk in {**rows, **before} if [*before[chunk].values()] != _listed(wanted.get(chunk))
    ]
    for batch in in_batches(changed, _CHUNKS):
        changes = Changes(content=False)
        if gone := [activity for chunk in batch for activity in before[chunk]]:
            changes.updates.append(("claims/retract", {"activities": gone}))
        for chunk in batch:
            if chunk in rows:
                finder = QuoteFinder(store, {chunk: found.texts[chunk]})
                changes.add += _claims(chunk, wanted[chunk], rows[chunk], finder)
        store.commit(changes)
    numbered: dict[int, dict[NamedNode, NamedNode]] = defaultdict(dict)
    for chunk, own in rows.items():
        for covariate, facts in own:
            if covariate.number is not None:
                numbered[covariate.number][iris.claim(chunk, *facts.key)] = chunk
    return len(changed), numbered


def _listed(key: str | None) -> list[str]:
    return [] if key is None else [key]


Rows = list[tuple[CovariateRow, build.ClaimFacts]]


def _of_chunks(tables: Tables, found: Found, report: TablesReport) -> dict[NamedNode, Rows]:
    """Chunk → the claims of its text unit that can be imported."""
    out: dict[NamedNode, Rows] = defaultdict(list)
    imported = 0
    for row in tables.covariates:
        chunks = found.chunks.get(row.text_unit_id, ())
        if fault := _fault(row, chunks):
            report.note("covariates", row.name, fault, row.description)
            continue
        facts = _facts(row, report)
        if all(any(facts.key == known.key for _, known in out[chunk]) for chunk in chunks):
            report.note("covariates", row.name, "duplicate", row.description)
            continue
        imported += 1
        for chunk in chunks:
            out[chunk].append((row, facts))
    if "covariates" in report.tables:
        report.tables["covariates"].imported = imported
    return dict(out)


def _fault(row: CovariateRow, chunks: Sequence[NamedNode]) -> str | None:
    faults = (
        (row.covariate_type not in (None, "claim"), "not_a_claim"),
        (not chunks, "no_text_unit"),
        ((row.status or "").upper() not in STATUSES, "status_not_listed"),
        (_given(row.quote) is None, "no_quote"),
        (not fold(row.subject), "name"),
    )
    return next((reason for holds, reason in faults if holds), None)


def _given(text: str | None) -> str | None:
    """A value that is one: models write NONE where there is none."""
    return None if text is None or not fold(text) or is_placeholder(text) else text


def _facts(row: CovariateRow, report: TablesReport) -> build.ClaimFacts:
    start, end = (_date(row, text, report) for text in (row.start, row.end))
    object_ = _given(row.object)
    kind = " ".join(row.type.replace("_", " ").lower().split())
    return build.ClaimFacts(
        key=(match_key(row.subject), match_key(object_ or ""), kind, fold(row.description)),
        subject=row.subject,
        object=object_,
        type=kind,
        status=(row.status or "").upper(),
        start=start,
        end=end,
        description=row.description,
    )


def _date(row: CovariateRow, text: str | None, report: TablesReport) -> Literal | None:
    if (given := _given(text)) is None:
        return None
    lexical, datatype, fits = typed_literal(_TIME.sub("", given), "date")
    if not fits or datatype is None or not datatype.endswith(_DATES):
        report.note("covariates", row.name, "invalid_date", given)
        return None
    return Literal(lexical, datatype=NamedNode(datatype))


def _digest(rows: Rows) -> str:
    said = "\n".join(repr((facts, row.quote)) for row, facts in rows)
    return hashlib.sha256(said.encode()).hexdigest()


def _claims(
    chunk: NamedNode, key: str, rows: Iterable[tuple[CovariateRow, build.ClaimFacts]], finder: QuoteFinder
) -> Iterator[Quad]:
    """The claims of a chunk, and the activity that imported them. The tables do not name the model."""
    call = ModelCall(iris.claims_activity(chunk, key), (chunk,), COMPONENT, key, now(), "", "")
    yield source(call.activity, RDF.type, PROV.Activity)
    yield source(call.activity, RDF.type, RAG.Import)
    yield source(call.activity, PROV.used, chunk)
    yield source(call.activity, PROV.wasAssociatedWith, iris.agent(COMPONENT))
    yield source(call.activity, RAG.extractor, Literal(key))
    for row, facts in rows:
        yield from build.claim(call, facts, [finder.find(row.quote or "")])
