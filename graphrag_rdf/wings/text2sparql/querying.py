"""Questions as SPARQL: a model writes a query, or the program fills a template of the cookbook.

A model is shown relations, types and entities of this store, and queries that answer similar questions. Its
query counts once it can be parsed, only reads, names only terms that exist, and returns something; else the
model is told what is wrong, and corrects it. Without a model, the program tries the templates that fit the
words of the question, the best first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

from pydantic import Field
from pyoxigraph import Literal, NamedNode

from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.i18n import ERASED, in_english, later, tr
from graphrag_rdf.rdf.namespaces import RAG, RDF, RDFS, SKOS, TG
from graphrag_rdf.rdf.terms import integer, text_of
from graphrag_rdf.reader_process.limited import LimitedQueries
from graphrag_rdf.sparql.render import with_prefixes
from graphrag_rdf.sparql.tokens import Token, may_call, tokens
from graphrag_rdf.steps.exploration import SEED
from graphrag_rdf.steps.kinds import Few, Some, StepKind, StepParameters, Way, register
from graphrag_rdf.steps.prompts import ask_model
from graphrag_rdf.steps.search import QuestionSearch
from graphrag_rdf.steps.state import Context, Parameters, State
from graphrag_rdf.store.base import Row
from graphrag_rdf.trace.kinds import ItemKind, NodeKind, item, said
from graphrag_rdf.trace.lines import Lines
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.model import TraceStep
from graphrag_rdf.trace.recorder import Step
from graphrag_rdf.wings.text2sparql.aggregates import empty_aggregates, ungrouped
from graphrag_rdf.wings.text2sparql.endpoints import listed_endpoints, service_example, shown_endpoint
from graphrag_rdf.wings.text2sparql.matching import Match, Vocabulary
from graphrag_rdf.wings.text2sparql.row_facts import Called, Result
from graphrag_rdf.wings.text2sparql.schema import (
    ALL,
    TEMPLATES,
    alike,
    query_of,
    recipes_of,
    shown_schema,
    vocabulary_of,
)
from graphrag_rdf.wings.text2sparql.services import Services, blocks_of, without

_FENCED = re.compile(r"```(?:sparql)?\s*\n(.*?)```", re.DOTALL | re.IGNORECASE)
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|^`\\]+\Z")
_OF_LANGUAGE = frozenset({RDFS.label, SKOS.altLabel, RDF.type})
_SHOWN = 5  # relative IRIs that the model is told at once
_NO_FIT = later(
    "no query of the cookbook fits this question. Ask as docs/cookbook.md shows, name a model with --model, "
    "or ask without --pipeline sparql"
)


# --- in traces ------------------------------------------------------------------------------------------


@item
class Attempt:
    """A query that was tried.

    Attributes:
        problem: what was wrong with it; None of the one that counts, unless that counts 0.
        rows: that it returned.
        template: that it was made from; None of one that a model wrote.
        values: of the template's parameters, as JSON.
    """

    JSON: ClassVar = ("iri", "query", "problem", "rows", "template", "values")

    query: str | None = said(TG.query, words=True)
    problem: str | None = said(RAG.reason, words=True, default=None)
    rows: int | None = said(RAG.rowCount, default=None)
    template: str | None = said(RAG.template, default=None)
    values: str | None = said(RAG.parameters, words=True, default=None)
    index: int | None = said(RAG.index, default=None)
    iri: NamedNode | None = None


ATTEMPT = ItemKind("attempt", "attempts", RAG.attempt, RAG.QueryAttempt, Attempt)


def _text(page: Lines, step: TraceStep, full: bool) -> None:
    attempts = step.items["attempts"]
    for attempt in attempts if full else attempts[-1:]:
        if attempt.template:
            page.paragraph(f"{attempt.template} {attempt.values or tr(ERASED)}", "    ", tr("Template "))
        for line in (attempt.query or tr(ERASED)).splitlines():
            page.line(f"      {line}")
        page.paragraph(attempt.problem or tr("{rows} row(s)").format(rows=attempt.rows), "    ", "→ ")
    for call in step.calls:
        if call.endpoint is not None:
            returned = tr("no answer") if call.rows is None else tr("{rows} row(s)").format(rows=call.rows)
            page.paragraph(f"{call.endpoint.value}: {returned}, {call.ms} ms", "    ", tr("Endpoint "))
    if not full and len(attempts) > 1:
        page.line(tr("    {number} query(s) before that did not do").format(number=len(attempts) - 1))


QUERYING = NodeKind(
    "query",
    RAG.GraphQuery,
    "The question as a SPARQL query.",
    items=(ATTEMPT, SEED),
    text=_text,
)


# --- the two ways ---------------------------------------------------------------------------------------


SIMILARITY = 0.75
"""Below which a name is not an entity of the question."""


class MatchParameters(StepParameters):
    """Of both ways."""

    entity_limit: Some = Field(12, description="entities of the question")
    repairs: Few = Field(2, description="how many further queries may be tried after one that failed")
    row_limit: Some = Field(200, description="maximum number of rows of the result")
    seconds: Some = Field(10, description="time limit of a query, in seconds")


class QueryParameters(MatchParameters):
    """Of the query that a model writes."""

    relations: Some = Field(80, description="relations of the store, and of each endpoint, that are shown")
    types: Some = Field(20, description="types of entities, likewise")
    examples: Few = Field(3, description="example queries, likewise")
    example_tokens: Some = Field(900, description="maximum length of the examples, in tokens")
    service_rows: Some = Field(2000, description="maximum number of rows of an endpoint that SERVICE calls")
    service_seconds: Some = Field(30, description="time limit of such an endpoint, in seconds")


def write_query(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Have the model write a query, and correct it while it fails."""
    step = _begun(context, state, parameters)
    endpoints = listed_endpoints(context, state)
    services = Services(endpoints, parameters["service_seconds"], parameters["service_rows"])
    shown = shown_schema(context, state, step, parameters)
    shown["endpoints"] = [shown_endpoint(*entry, state, parameters) for entry in endpoints.values()]
    shown["service_example"] = next(filter(None, map(service_example, shown["endpoints"])), None)
    attempts: list[Attempt] = []
    result = Result()
    with LimitedQueries(context.store, parameters["seconds"]) as queries:
        for _ in range(parameters["repairs"] + 1):
            text = ask_model(
                context,
                step,
                "query",
                prompt="query",
                question=state.question,
                history=state.conversation,
                attempts=[{"query": one.query, "problem": one.problem} for one in attempts],
                **shown,
            )
            attempt = Attempt(_query_in(text))
            attempts.append(attempt)
            attempt.problem = _problem(context, step, attempt.query or "", services)
            run = partial(services.run, context, step)
            valid = attempt.problem is None
            result = _run(queries, attempt, parameters["row_limit"], run) if valid else Result()
            again = result.rows and attempt.query in [earlier.query for earlier in attempts[:-1]]
            if attempt.problem is None or again:
                break
    for name, cause in dict.fromkeys(services.failed):
        state.warn("endpoint_failed", tr("the endpoint {name}: {cause}").format(name=name, cause=cause))
    yield _finish(context, state, step, attempts, result)


def match_query(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Fill the templates that fit the question, until one returns something."""
    step = _begun(context, state, parameters)
    vocabulary = vocabulary_of(context, state, step)
    matches = recipes_of(context, state, step).matches(state.question, vocabulary)
    attempts: list[Attempt] = []
    result = Result()
    with LimitedQueries(context.store, parameters["seconds"]) as queries:
        for match in matches[: parameters["repairs"] + 1]:
            query = query_of(context, match)
            attempt = Attempt(query, _unfit(query), template=match.recipe.name, values=_values_of(match))
            attempts.append(attempt)
            if attempt.problem is None:
                result = _run(queries, attempt, parameters["row_limit"])
            if attempt.problem is not None:  # also of a 0: nobody knows whether the question was meant so
                result = Result()
            else:
                result.values = _in_words(match, vocabulary)
                if match.ignored:
                    state.warn(
                        "words_ignored",
                        tr("the query does not use: {names}").format(names=", ".join(match.ignored)),
                    )
                break
    if not attempts:
        state.warn("no_query_fits", tr(_NO_FIT))
    yield _finish(context, state, step, attempts, result)


def _begun(context: Context, state: State, parameters: Parameters) -> Step:
    """The step, with the entities of the question."""
    step = context.recorder.step(QUERYING)
    state.seeds = QuestionSearch(context, state, parameters, step, similarity=SIMILARITY).find_seeds()
    context.recorder.items(step, SEED, state.seeds)
    return step


def _finish(
    context: Context, state: State, step: Step, attempts: Sequence[Attempt], result: Result
) -> GraphRagResponse:
    """Record what was tried, and pass the rows on."""
    context.recorder.items(step, ATTEMPT, attempts)
    context.recorder.say(step, RAG.rowCount, integer(len(result.rows)))
    state.work.results = [result]
    state.empty = not result.rows
    if attempts and attempts[-1].problem is not None and result.rows:
        state.warn("nothing_counted", tr("the query counts 0, because nothing matches it"))
    elif attempts and attempts[-1].problem is not None:
        state.warn(
            "query_failed",
            tr("no query succeeded; the last one: {problem}").format(problem=attempts[-1].problem),
        )
    elif result.rows and not any(result.facts) and not result.denied and not result.called:
        state.warn("rows_uncited", tr("the facts behind the rows of this query cannot be told"))
    return context.recorder.finish(step)


def _values_of(match: Match) -> str:
    """The values of a template's parameters, as JSON."""
    return json.dumps(match.values, default=text_of, ensure_ascii=False)


def _in_words(match: Match, vocabulary: Vocabulary) -> dict[str, list[str]]:
    """The values of a template's parameters by their labels."""
    named = {seed.entity.value: seed.label for seed in vocabulary.seeds}
    labels = {**vocabulary.relations, **vocabulary.types, **named}
    return {
        name: [labels.get(one, one) for one in map(_text_of, given if isinstance(given, list) else [given])]
        for name, given in match.values.items()
    }


def _text_of(value: Any) -> str:
    return value.value if isinstance(value, NamedNode) else str(value)


def _query_in(text: str) -> str:
    found = _FENCED.search(text)
    return (found[1] if found else text).strip()


# --- whether a query does -------------------------------------------------------------------------------


def _problem(context: Context, step: Step, query: str, services: Services) -> str | None:
    """What is wrong with a query, for the model; None if it can run. The engine judges the syntax."""
    problem = _unfit(query, services.endpoints) or ungrouped(query) or services.problem(query)
    if problem is not None:
        return problem
    query = without(query, blocks_of(query))
    iris = _named(with_prefixes(query))
    if relative := sorted(iri for iri in iris if not _ABSOLUTE.match(iri)):
        return f"not a whole IRI: {', '.join(relative[:_SHOWN])}"
    named = [NamedNode(iri) for iri in sorted(iris)]
    rows = context.select(step, "schema/known", terms=named) if named else []
    known = {row["term"] for row in rows}
    unknown = [node for node in named if node.value not in known and not _of_language(node)]
    if not unknown:
        return None
    properties = context.select(step, "schema/properties", graphs=[], limit=ALL)
    return "the store does not know " + alike(
        unknown, [row["property"] for row in properties], services.elsewhere
    )


def _unfit(query: str, endpoints: Collection[str] = ()) -> str | None:
    """Why a query may not run at all; None if it may.

    Args:
        endpoints: addresses that SERVICE may call.
    """
    words = (token.text.upper() for token in tokens(query) if token.kind == "word")
    form = next((word for word in words if word not in ("PREFIX", "BASE") and ":" not in word), "")
    if form not in ("SELECT", "ASK"):
        return "it is neither a SELECT nor an ASK query"
    if not may_call(with_prefixes(query), endpoints):
        return None
    listed = ", ".join(f"<{address}>" for address in endpoints)
    return "SERVICE is not allowed" + (f", except with these addresses, in full: {listed}" if listed else "")


def _of_language(node: NamedNode) -> bool:
    """Whether an IRI is a datatype or function of SPARQL, which no triple needs to name."""
    return node.value.startswith("http://www.w3.org/2001/XMLSchema#") or node in _OF_LANGUAGE


def _named(query: str) -> set[str]:
    """The IRIs in a query, beside those that its prefixes stand for."""
    prefixes: dict[str, str] = {}
    found: set[str] = set()
    before: list[Token] = []
    for token in tokens(query):
        declared = len(before) > 1 and before[-2].text.upper() == "PREFIX"
        if declared and token.kind == "iri":
            prefixes[before[-1].text.removesuffix(":")] = token.text[1:-1]
        elif token.kind == "iri":
            found.add(token.text[1:-1])
        elif token.kind == "word" and ":" in token.text and not token.text.endswith(":"):
            prefix, _, local = token.text.partition(":")
            if prefix in prefixes:
                found.add(prefixes[prefix] + local)
        before = [*before[-1:], token]
    return found


def _run(
    queries: LimitedQueries,
    attempt: Attempt,
    limit: int,
    with_rows: Callable[[str], tuple[str, Sequence[Called]]] = lambda query: (query, ()),
) -> Result:
    """What a query returns. Empty, and a problem of the attempt, if it fails or returns nothing. A COUNT of
    no solutions is a problem and a result: it may be right.

    Args:
        with_rows: puts the rows of other endpoints into a query.
    """
    query = attempt.query or ""
    try:
        with in_english():  # the model is told of errors
            whole, called = with_rows(query)
            answer = queries.run(with_prefixes(whole), limit)
    except GraphRagError as error:
        attempt.problem = str(error)
        return Result()
    rows: list[Row] = answer.rows or []
    if answer.boolean is not None:
        rows = [{"answer": Literal(answer.boolean)}]
    attempt.rows = len(rows)
    single = len(rows) == 1 and answer.boolean is None
    empty = empty_aggregates(queries, whole) if single else frozenset()
    if empty or not any(rows):
        attempt.problem = _nothing(empty, called)
    if not any(rows) or empty - {"COUNT"}:
        return Result()
    variables = answer.variables or ("answer",)
    result = Result(query, attempt.template, variables=variables, rows=rows, called=called)
    own = without(query, blocks_of(query)) if called else query
    result.add_facts(queries, whole, own)
    return result


def _nothing(empty: Collection[str], called: Sequence[Called]) -> str:
    """That a query returns nothing, and why that may be."""
    problem = "it returns nothing"
    if empty:
        problem += f": nothing matches its WHERE, which makes {' and '.join(sorted(empty))} meaningless"
    if empty == {"COUNT"}:
        problem += ". If 0 is the answer, write the same query again"
    if called:
        counts = ", ".join(f"{entry.name} returned {entry.rows} row(s)" for entry in called)
        problem += (
            f". {counts}. If the blocks have rows, the join fails: names here have a language tag (@en), "
            "others may have none or other case. Compare LCASE(STR(?a)) = LCASE(STR(?b))"
        )
    return problem


_TEMPLATES = (
    "retrieval/entities-by-label",
    "documents/languages",
    "retrieval/canonical",
    "selection/seeds",
    *TEMPLATES,
)
WRITE_QUERY = register(
    StepKind(
        "write_query",
        QUERYING,
        "Has the model write a SPARQL query, or fills one of the cookbook, and runs it.",
        {
            "templates": Way(match_query, MatchParameters, templates=_TEMPLATES),
            "llm": Way(
                write_query,
                QueryParameters,
                needs_model=True,
                prompts={"query": "query.j2"},
                templates=(*_TEMPLATES, "schema/known", "schema/described"),
            ),
        },
        auto=("templates", "llm"),
    )
)
