"""Questions as SPARQL: a model writes a query, the engine answers it, and each row leads to its facts.

The model is shown relations, types and entities of this store. A query counts once it can be parsed, only
reads, names only terms that exist, and returns something; else the model is told what is wrong, and corrects
it. The facts of a row are what the query's triple patterns become with its values.
"""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar, TypeAlias

from pydantic import Field
from pyoxigraph import Literal, NamedNode

from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.rdf.namespaces import PREFIXES, RAG, RDF, RDFS, SKOS, TG, prefixed
from graphrag_rdf.rdf.terms import Term, integer, local_name, node_of, one_label, text_of
from graphrag_rdf.reader_process.limited import LimitedQueries
from graphrag_rdf.sparql.render import with_prefixes
from graphrag_rdf.sparql.tokens import Token, may_call, tokens
from graphrag_rdf.steps.answer import SYNTHESIS, finish_answer, read_answer
from graphrag_rdf.steps.checking import SENTINEL, nothing_found
from graphrag_rdf.steps.exploration import SEED, Edge
from graphrag_rdf.steps.kinds import Few, Share, Some, StepKind, StepParameters, Way, register
from graphrag_rdf.steps.prompts import ask_model, complete
from graphrag_rdf.steps.search import QuestionSearch, label_of
from graphrag_rdf.steps.sources import attach_sources
from graphrag_rdf.steps.state import Context, Parameters, Selection, State, Triple
from graphrag_rdf.store.base import Row
from graphrag_rdf.trace.kinds import ItemKind, NodeKind, item, said
from graphrag_rdf.trace.lines import Lines
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.model import TraceStep
from graphrag_rdf.trace.recorder import Step

_FENCED = re.compile(r"```(?:sparql)?\s*\n(.*?)```", re.DOTALL | re.IGNORECASE)
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|^`\\]+\Z")
_NAMES = frozenset({RDFS.label, SKOS.altLabel, RDF.type})
_PREFIXES = frozenset({"rdf", "rdfs", "skos", "xsd"})
"""Those that the model is always shown."""
_TRIED = 2000  # rows in which the values of all variables are looked for
_FACTS = 12  # of a row: what a count rests on is cited in part
_HINTS = 5  # unknown terms that the model is told at once
_SHOWN = 8  # relations of an entity in the prompt
Pattern: TypeAlias = tuple[Any, Any, Any]
"""Subject, predicate and object: terms, or the names of variables as text."""


# --- in traces ------------------------------------------------------------------------------------------


@item
class Attempt:
    """A query that the model wrote.

    Attributes:
        problem: what was wrong with it; None of the one that counts.
        rows: that it returned.
    """

    JSON: ClassVar = ("iri", "query", "problem", "rows")

    query: str | None = said(TG.query, words=True)
    problem: str | None = said(RAG.reason, words=True, default=None)
    rows: int | None = said(RAG.rowCount, default=None)
    index: int | None = said(RAG.index, default=None)
    iri: NamedNode | None = None


ATTEMPT = ItemKind("attempt", "attempts", RAG.attempt, RAG.QueryAttempt, Attempt)


def _text(page: Lines, step: TraceStep, full: bool) -> None:
    attempts = step.items["attempts"]
    for attempt in attempts if full else attempts[-1:]:
        for line in (attempt.query or "(erased)").splitlines():
            page.line(f"      {line}")
        page.paragraph(attempt.problem or f"{attempt.rows} row(s)", "    ", "→ ")
    if not full and len(attempts) > 1:
        page.line(f"    {len(attempts) - 1} query(s) before that did not do")


QUERYING = NodeKind(
    "query",
    RAG.GraphQuery,
    "The question as a SPARQL query.",
    items=(ATTEMPT, SEED),
    text=_text,
)


# --- what the model is shown ----------------------------------------------------------------------------


class QueryParameters(StepParameters):
    """Of the step that writes the query."""

    relations: Some = Field(80, description="relations of the store that the model is shown")
    types: Some = Field(20, description="types of entities that the model is shown")
    entity_limit: Some = Field(12, description="entities of the question that the model is shown")
    seeds_per_concept: Some = Field(3, description="entities whose name is only similar to a concept")
    min_similarity: Share = Field(0.75, description="least similarity of such names")
    repairs: Few = Field(2, description="how often the model may correct its query")
    row_limit: Some = Field(200, description="maximum number of rows of the result")
    seconds: Some = Field(10, description="time limit of a query, in seconds")


@dataclass
class Result:
    """What a query returned.

    Attributes:
        query: without prefixes.
        facts: of each row.
    """

    query: str = ""
    variables: tuple[str, ...] = ()
    rows: list[Row] = field(default_factory=list)
    facts: list[list[Triple]] = field(default_factory=list)


def write_query(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Have the model write a query, and correct it while it does not do."""
    step = context.recorder.step(QUERYING)
    state.seeds = QuestionSearch(context, state, parameters, step).find_seeds()
    context.recorder.items(step, SEED, state.seeds)
    shown = _schema(context, state, step, parameters)
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
            attempt.problem = _problem(context, step, attempt.query or "")
            if attempt.problem is None:
                result, attempt.problem = _run(queries, attempt, parameters["row_limit"])
            if attempt.problem is None:
                break
    context.recorder.items(step, ATTEMPT, attempts)
    context.recorder.say(step, RAG.rowCount, integer(len(result.rows)))
    state.work.results = [result]
    state.empty = not result.rows
    if attempts[-1].problem is not None:
        state.warn("query_failed", f"no query did: {attempts[-1].problem}")
    if result.rows and not any(result.facts):
        state.warn("rows_uncited", "the facts behind the rows of this query cannot be told")
    yield context.recorder.finish(step)


def _schema(context: Context, state: State, step: Step, parameters: Parameters) -> dict[str, Any]:
    relations = context.select(step, "schema/properties", graphs=[], limit=parameters["relations"])
    types = context.select(step, "schema/classes", graphs=[], limit=parameters["types"])
    entities = [seed.entity for seed in state.seeds]
    near = context.select(step, "schema/relations-of", entities=entities) if entities else []
    listed = [row["property"] for row in relations] + [row["class"] for row in types]
    labels = _labels(context, step, state, [*listed, *(row["example"] for row in near)])
    used = {
        _written(node_of(node)).partition(":")[0] for node in (*listed, *(row["relation"] for row in near))
    }
    return {
        "prefixes": {name: iri for name, iri in PREFIXES.items() if name in used | _PREFIXES},
        "relations": [_counted(row["property"], row["triples"], labels) for row in relations],
        "types": [_counted(row["class"], row["entities"], labels) for row in types],
        "entities": [
            {
                "iri": _written(seed.entity),
                "name": seed.label,
                "relations": [_near(row, labels) for row in near if row["entity"] == seed.entity][:_SHOWN],
            }
            for seed in state.seeds
        ],
    }


def _counted(node: Term, count: Term, labels: Mapping[str, str]) -> dict[str, str]:
    return {"iri": _written(node_of(node)), "label": _called(node, labels), "count": text_of(count)}


def _near(row: Row, labels: Mapping[str, str]) -> dict[str, str]:
    return {
        "iri": _written(node_of(row["relation"])),
        "direction": text_of(row["direction"]),
        "count": text_of(row["count"]),
        "example": _called(row["example"], labels),
    }


def _written(node: NamedNode) -> str:
    """An IRI as it can stand in a query."""
    return prefixed(node) or f"<{node.value}>"


def _query_in(text: str) -> str:
    found = _FENCED.search(text)
    return (found[1] if found else text).strip()


# --- whether a query does -------------------------------------------------------------------------------


def _problem(context: Context, step: Step, query: str) -> str | None:
    """What is wrong with a query, for the model; None if it can run. The engine judges the syntax."""
    words = (token.text.upper() for token in tokens(query) if token.kind == "word")
    form = next((word for word in words if word not in ("PREFIX", "BASE") and ":" not in word), "")
    if form not in ("SELECT", "ASK"):
        return "it is neither a SELECT nor an ASK query"
    whole = with_prefixes(query)
    if may_call(whole):
        return "SERVICE is not allowed"
    iris = _named(whole)
    if relative := sorted(iri for iri in iris if not _ABSOLUTE.match(iri)):
        return f"not a whole IRI: {', '.join(relative[:_HINTS])}"
    named = [NamedNode(iri) for iri in sorted(iris)]
    rows = context.select(step, "schema/known", terms=named) if named else []
    known = {text_of(row["term"]) for row in rows}
    unknown = [node for node in named if node.value not in known and not _of_language(node)]
    return "the store does not know " + _hints(context, step, unknown[:_HINTS]) if unknown else None


def _of_language(node: NamedNode) -> bool:
    """Whether an IRI is a datatype or function of SPARQL, which no triple needs to name."""
    return node.value.startswith("http://www.w3.org/2001/XMLSchema#") or node in _NAMES


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


def _hints(context: Context, step: Step, unknown: Sequence[NamedNode]) -> str:
    """Unknown terms, with relations that are spelt alike."""
    rows = context.select(step, "schema/properties", graphs=[], limit=_TRIED)
    names = {local_name(text_of(row["property"])): node_of(row["property"]) for row in rows}
    hints = []
    for node in unknown:
        close = difflib.get_close_matches(local_name(node.value), names, n=3, cutoff=0.5)
        alike = ", ".join(_written(names[name]) for name in close)
        hints.append(_written(node) + (f" (it knows {alike})" if alike else ""))
    return "; ".join(hints)


def _run(queries: LimitedQueries, attempt: Attempt, limit: int) -> tuple[Result, str | None]:
    query = attempt.query or ""
    try:
        answer = queries.run(with_prefixes(query), limit)
    except GraphRagError as error:
        return Result(), str(error)
    rows: list[Row] = answer.rows or []
    if answer.boolean is not None:
        rows = [{"answer": Literal(answer.boolean)}]
    attempt.rows = len(rows)
    if not any(rows):
        return Result(), "it returns nothing"
    variables = answer.variables or ("answer",)
    return Result(query, variables, rows, _facts_of_rows(queries, query, variables, rows)), None


# --- the facts of a row ---------------------------------------------------------------------------------


def _facts_of_rows(
    queries: LimitedQueries, query: str, variables: Sequence[str], rows: Sequence[Row]
) -> list[list[Triple]]:
    """Of each row the facts that its values make of the query's triple patterns. Empty lists for a query that
    says nothing of facts, or that is too intricate to tell (RDF 1.2, property paths).
    """
    patterns = _patterns(with_prefixes(query))
    where = _where(query)
    if not patterns or where is None:
        return [[] for _ in rows]
    try:
        whole = with_prefixes(f"{_prologue_of(query)}SELECT * WHERE {where} LIMIT {_TRIED}")
        wide = queries.run(whole, _TRIED)
    except GraphRagError:
        return [[] for _ in rows]
    shared = [name for name in variables if name in wide.variables]
    by_values: defaultdict[tuple[Term | None, ...], list[Row]] = defaultdict(list)
    for values in wide.rows or ():
        by_values[tuple(values.get(name) for name in shared)].append(values)
    found = []
    for row in rows:
        matching = by_values[tuple(row.get(name) for name in shared)]
        facts = dict.fromkeys(fact for values in matching for fact in _filled(patterns, values))
        own = [fact for fact in facts if fact[1] not in _NAMES] or list(facts)
        found.append(own[:_FACTS])
    return found


def _patterns(query: str) -> list[Pattern]:
    """The triple patterns of a query outside of negations."""
    from rdflib.plugins.sparql import prepareQuery
    from rdflib.plugins.sparql.parserutils import CompValue

    try:
        algebra = prepareQuery(query).algebra
    except Exception:  # noqa: BLE001 - its parser has errors of many kinds, also for RDF 1.2
        return []
    found: list[Pattern] = []

    def walk(node: Any) -> None:
        if isinstance(node, CompValue):
            for triple in dict.get(node, "triples") or ():  # its own get() reads variables
                found.extend(_pattern(*triple))
            for key, value in node.items():
                if not (node.name == "Minus" and key == "p2") and key != "expr":
                    walk(value)
        elif isinstance(node, list | tuple):
            for part in node:
                walk(part)

    walk(algebra)
    return list(dict.fromkeys(found))


def _pattern(s: Any, p: Any, o: Any) -> Iterator[Pattern]:
    """A triple pattern; of a path of alternatives one for each, of other paths none."""
    from rdflib.paths import AlternativePath, InvPath, Path

    if isinstance(p, AlternativePath):
        for one in p.args:
            yield from _pattern(s, one, o)
    elif isinstance(p, InvPath):
        yield from _pattern(o, p.arg, s)
    elif not isinstance(p, Path):
        yield _term(s), _term(p), _term(o)


def _term(part: Any) -> Any:
    """A term of rdflib as one of ours; a variable as its name."""
    from rdflib import Literal as RdflibLiteral
    from rdflib import URIRef

    if isinstance(part, URIRef):
        return NamedNode(str(part))
    if not isinstance(part, RdflibLiteral):
        return str(part)
    if part.language:
        return Literal(str(part), language=part.language)
    return Literal(str(part), datatype=NamedNode(str(part.datatype)) if part.datatype else None)


def _where(query: str) -> str | None:
    """The group after WHERE, with its brackets."""
    depth, start = 0, None
    for token in tokens(query):
        if token.text == "{":
            start = token.offset if depth == 0 and start is None else start
            depth += 1
        elif token.text == "}":
            depth -= 1
            if depth == 0:
                return query[start : token.offset + 1]
    return None


def _prologue_of(query: str) -> str:
    """What a query declares before SELECT."""
    found = re.search(r"\b(?:SELECT|ASK)\b", query, re.IGNORECASE)
    return query[: found.start()] if found else ""


def _filled(patterns: Iterable[Pattern], values: Mapping[str, Term]) -> Iterator[Triple]:
    for pattern in patterns:
        s, p, o = (values.get(part) if isinstance(part, str) else part for part in pattern)
        if isinstance(s, NamedNode) and isinstance(p, NamedNode) and isinstance(o, NamedNode | Literal):
            yield s, p, o


# --- the answer -----------------------------------------------------------------------------------------


class RowsParameters(StepParameters):
    """Of the step that answers from rows."""

    rows: Some = Field(40, description="rows of the result that the model is shown")
    response_type: str = Field(
        "a short answer of a few sentences", description="what the answer should be like"
    )


def answer_rows(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """The answer from the rows; each cites its facts. Without rows, that nothing is known."""
    step = context.recorder.step(SYNTHESIS)
    result: Result = state.work.results[0]
    rows = result.rows[: parameters["rows"]]
    if not rows:
        state.answered = False
        state.answer = nothing_found(state.language)
    else:
        facts = (term for facts in result.facts for fact in facts for term in fact)
        labels = _labels(context, step, state, chain(facts, *(row.values() for row in result.rows)))
        state.selections = _selections(context, state, step, result, labels)
        state.completion = complete(
            context,
            step,
            "answer",
            prompt="rows",
            question=state.question,
            history=state.conversation,
            query=result.query,
            columns=result.variables,
            rows=[_cells(row, result.variables, labels) for row in rows],
            more=len(result.rows) - len(rows),
            response_type=parameters["response_type"],
            unknown=SENTINEL,
        )
        read_answer(state, {*range(1, len(rows) + 1)})
    yield context.recorder.text_chunk(state.answer)
    yield finish_answer(context, state, step)


def _labels(context: Context, step: Step, state: State, terms: Iterable[Term]) -> dict[str, str]:
    """What to call the IRIs among some terms."""
    things = sorted({term for term in terms if isinstance(term, NamedNode)}, key=str)
    found = context.select(step, "retrieval/labels", things=things) if things else []
    return {text_of(row["thing"]): text_of(row["label"]) for row in one_label(found, state.language)}


def _called(term: Term, labels: Mapping[str, str]) -> str:
    return labels.get(term.value) or label_of(None, term) if isinstance(term, NamedNode) else text_of(term)


def _cells(row: Row, variables: Sequence[str], labels: Mapping[str, str]) -> list[str]:
    return [_called(row[name], labels) if name in row else "" for name in variables]


def _selections(
    context: Context, state: State, step: Step, result: Result, labels: Mapping[str, str]
) -> list[Selection]:
    """The facts of each row, cited by its number, with their sources. Facts without any are left out."""
    found: list[Selection] = []
    by_fact: dict[Triple, Selection] = {}
    for number, facts in enumerate(result.facts, start=1):
        for fact in facts:
            s, p, o = (_called(term, labels) for term in fact)
            edge = Edge(fact, s, p, o, hop=0, direction="out", origin=fact[0])
            selection = Selection(score=1.0, edge=edge, marker=number)
            by_fact.setdefault(fact, selection)
            found.append(selection)
    attach_sources(context, state, step, list(by_fact.values()))
    for selection in found:
        assert selection.edge is not None  # noqa: S101
        selection.sources = by_fact[selection.edge.triple].sources
        selection.shown = selection.edge.text
    return [selection for selection in found if selection.sources]


_SCHEMA = ("schema/properties", "schema/classes", "schema/relations-of", "schema/known")
WRITE_QUERY = register(
    StepKind(
        "write_query",
        QUERYING,
        "Has the model write a SPARQL query, and runs it.",
        {
            "llm": Way(
                write_query,
                QueryParameters,
                needs_model=True,
                prompts={"query": "query.j2"},
                templates=(
                    "retrieval/entities-by-label",
                    "retrieval/canonical",
                    "retrieval/labels",
                    *_SCHEMA,
                ),
            )
        },
    )
)
ANSWER_ROWS = register(
    StepKind(
        "answer_rows",
        SYNTHESIS,
        "Answers from the rows of a query; each row cites its facts.",
        {
            "llm": Way(
                answer_rows,
                RowsParameters,
                needs_model=True,
                prompts={"rows": "rows.j2"},
                templates=(
                    "retrieval/labels",
                    "provenance/sources",
                    "provenance/containers",
                    "provenance/origins",
                    "documents/named-alike",
                ),
            )
        },
    )
)
