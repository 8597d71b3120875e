"""`/facts`: facts, their sources, and manual corrections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.ingest.fact_decisions import Edited
from graphrag_rdf.lists.facts import FACTS
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.server.http.access import may, require
from graphrag_rdf.server.http.body import Parameters, is_form, read_form
from graphrag_rdf.server.http.problems import Problem, hint_of
from graphrag_rdf.server.http.questions import read_json, read_request
from graphrag_rdf.server.pages.lists import history_page, links_of
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.representations import Forms, listed, parameter, represent, truth
from graphrag_rdf.server.routes.lists import list_response
from graphrag_rdf.server.service import COMMIT, Service, service_of
from graphrag_rdf.trace.facts import Edge, facts_called, label_of, read_labels
from graphrag_rdf.trace.model import Fact
from graphrag_rdf.trace.sources import FactSource, source_fact
from graphrag_rdf.trace.values import all_as_written

_BODY = 1 << 16
_Term = Annotated[str, StringConstraints(min_length=1, max_length=4000)]


class Instead(BaseModel):
    """The changed terms of a corrected fact; terms or labels."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    subject: _Term | None = None
    predicate: _Term | None = None
    object: _Term | None = None


class FactRequest(BaseModel):
    """The body of a decision about a fact, whose terms are labels or as in N-Triples.

    Attributes:
        instead: the correction; None removes the fact.
        by, reason: the person, and the reason.
        with_sentences: the text itself is wrong: questions leave out its sentences too.
        dry_run: only report what would be done.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    subject: _Term
    predicate: _Term
    object: _Term
    instead: Instead | None = None
    by: Annotated[str, StringConstraints(max_length=200)] | None = None
    reason: Annotated[str, StringConstraints(max_length=4000)] | None = None
    with_sentences: bool = Field(default=False, description="leave out its sentences too")
    dry_run: bool = False


async def fact_list(request: Request) -> Response:
    """Facts, those in which a name or value holds `match` (`limit`, `offset`).

    With `subject`, `predicate` and `object` the sources of that fact, as `source fact --format json`.
    """
    fact = [parameter(request, name) for name in ("subject", "predicate", "object")]
    if any(fact):
        return await _sources(request, *fact)
    return await list_response(request, FACTS)


async def _sources(request: Request, s: str | None, p: str | None, o: str | None) -> Response:
    if not (s and p and o):
        raise Problem(400, tr("name a fact by subject, predicate and object"))

    def forms(service: Service) -> Forms:
        store = service.engine.store
        edges: list[Edge] = []
        try:
            edges = facts_called(store, s, p, o)
            sources = source_fact(store, s, p, o)
        except UsageError as error:
            if len(edges) != 1 or not store.ask("server/is-fact", **dict(zip("spo", edges[0], strict=True))):
                raise Problem(404, error.message, **hint_of(error)) from None
            sources = []  # stated, but without a source
        return Forms(
            json=lambda: listed(to_json(sources)),
            html=lambda: fact_page(service, request, edges, sources),
        )

    return await represent(request, forms)


async def decide(request: Request) -> Response:
    """Remove or correct a fact, as `facts remove|correct --format json`; a form redirects to its page."""
    if is_form(request):
        return await _decide_by_form(request)
    require(request, "write")
    asked = await read_json(request, FactRequest, _BODY)
    return await _done(request, _decision(service_of(request), asked))


def _decision(service: Service, asked: FactRequest) -> Callable[[], Edited]:
    facts = service.engine.facts
    fact = asked.subject, asked.predicate, asked.object
    how: dict[str, Any] = asked.model_dump(include={"by", "reason", "with_sentences", "dry_run"})
    instead = asked.instead
    if instead is None:
        return lambda: facts.remove(*fact, **how)
    if instead == Instead() and not asked.with_sentences:
        raise Problem(422, tr("instead: give subject, predicate or object"))
    how |= instead.model_dump()
    return lambda: facts.correct(*fact, **how)


async def _decide_by_form(request: Request) -> Response:
    """The form of a fact's page: `act` is remove, correct (changed terms in `to_…`) or undo."""
    form = await read_form(request)
    require(request, "write")
    act, fact = form.one("act"), {name: form.one(name) or "" for name in ("subject", "predicate", "object")}
    instead = {name: text for name in fact if (text := (form.one(f"to_{name}") or "").strip())}
    if act not in ("remove", "correct", "undo"):
        raise Problem(422, tr("act: remove, correct or undo"))
    if instead and act != "correct":
        raise Problem(
            422,
            tr("the form has a correction, but asks to remove the fact"),
            hint=tr("press “Correct it”, or leave “Instead of” empty; nothing was changed"),
        )
    author_fields = {name: text for name in ("by", "reason") if (text := (form.one(name) or "").strip())}
    wrong = {"with_sentences": form.one("with_sentences") is not None}
    asked = read_request(
        FactRequest, fact | author_fields | wrong | ({"instead": instead} if act == "correct" else {})
    )
    facts = service_of(request).engine.facts
    named = asked.subject, asked.predicate, asked.object
    _, commit = await _write(
        request,
        (lambda: facts.undo_about(*named)) if act == "undo" else _decision(service_of(request), asked),
    )
    headers = {COMMIT: str(commit), "Cache-Control": "no-store"}
    return RedirectResponse(f"/facts?{urlencode(fact)}", 303, headers)


async def undo(request: Request) -> Response:
    """Undo decisions by their IRIs (`decision`), or those about a fact (`subject`, `predicate`, `object`), as
    `facts undo --format json`; with `dry_run=true` only report.
    """
    require(request, "write")
    parameters = Parameters.of_query_string(request.scope["query_string"])
    names, fact = (
        parameters.all("decision"),
        [parameters.one(name) for name in ("subject", "predicate", "object")],
    )
    dry_run = truth(request, "dry_run")
    facts = service_of(request).engine.facts
    if names and all(names) and not any(fact):
        return await _done(request, lambda: facts.undo(names, dry_run=dry_run))
    s, p, o = fact
    if names or not (s and p and o):
        raise Problem(
            400, tr("name decisions by their IRIs (decision), or a fact by subject, predicate and object")
        )
    return await _done(request, lambda: facts.undo_about(s, p, o, dry_run=dry_run))


async def _done(request: Request, work: Callable[[], Edited]) -> Response:
    done, commit = await _write(request, work)
    return JSONResponse(done, headers={COMMIT: str(commit), "Cache-Control": "no-store"})


async def _write(request: Request, work: Callable[[], Edited]) -> tuple[dict[str, Any], int]:
    """The result, and its commit."""
    service: Service = service_of(request)
    service.require_writable()
    done: dict[str, Any] = {}

    def write() -> int:
        with service.engine.keeping_indexes():
            done.update(service.engine.facts.as_json(work()))
        return service.engine.store.commit_number()

    commit = await service.writes.run(write, long=True)  # after an ingest, not between its chunks
    service.wrote(request, commit)
    return done, commit


# --- pages ---------------------------------------------------------------------------------------------

_ANSWERS = 50
"""Answers on the page of a fact."""


def fact_page(
    service: Service, connection: HTTPConnection, edges: Sequence[Edge], sources: Sequence[FactSource]
) -> str:
    """A fact, or all facts with these labels, with their sources, if any."""
    store = service.engine.store
    labels = read_labels(store, [term for edge in edges for term in edge])
    asked = [Fact(*edge, *(label_of(term, labels) for term in edge)) for edge in edges]
    by_fact: dict[Fact, list[FactSource]] = {fact: [] for fact in all_as_written(store, asked)}
    for source in sources:
        by_fact.setdefault(source.inferred or source.fact, []).append(source)
    answers = {fact: _answers(service, fact) for fact in by_fact}
    return render(
        "fact",
        "/facts",
        facts=by_fact,
        histories={
            fact: history_page(service, entity=text_of(fact.s), relation=text_of(fact.p)) for fact in by_fact
        },
        answers=answers,
        most=_ANSWERS,
        links=links_of(service),
        deciding=not service.read_only and len(by_fact) == 1,
        token=not may(connection, "write"),
    )


def _answers(service: Service, fact: Fact) -> list[dict[str, object]]:
    """The newest answers for which a fact was selected."""
    rows = service.engine.store.select("server/answers-of-fact", s=fact.s, p=fact.p, o=fact.o, limit=_ANSWERS)
    return [
        {
            "session": row["session"],
            "time": row["time"],
            "question": row["question"],
            "marker": row["marker"],
        }
        for row in rows
    ]
