"""Local search: the entities nearest to a question, and what surrounds them.

Exactly `entities` entities are taken: those that the question names or that exploration reached, and those
whose name or definition is like the question. Around them are the reports of their communities, their
relations, claims about them, and the chunks that exploration ranked. Each kind has a share of the tokens;
what one leaves goes to the next. What had no room is in the trace, up to `considered_limit` of each kind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import Field
from pyoxigraph import Literal, NamedNode

from graphrag_rdf.documents.text import count_tokens
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import METADATA, RAG, RDF
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.steps.evidence import Point
from graphrag_rdf.steps.exploration import CONSIDERED, Edge, Seed
from graphrag_rdf.steps.findings import TEMPLATES as FINDINGS
from graphrag_rdf.steps.findings import Known, evidence_of, findings_of, record_sources
from graphrag_rdf.steps.kinds import Limit, Share, Some, StepKind, StepParameters, Way, Weight, register
from graphrag_rdf.steps.same_facts import as_one
from graphrag_rdf.steps.scores import best, fitting
from graphrag_rdf.steps.search import QuestionSearch, as_shares, fact_of
from graphrag_rdf.steps.selection import fit_chunks, record_chunks, record_selections, tokens_of
from graphrag_rdf.steps.sources import attach_sources, mentions_of, sentence_sources
from graphrag_rdf.steps.state import Context, Parameters, Selection, SentenceHit, State, Triple
from graphrag_rdf.store.base import Row, in_batches
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.model import ScoreShare
from graphrag_rdf.trace.recorder import Step
from graphrag_rdf.wings.communities.steps.local_items import (
    BUDGET,
    CLAIM,
    LOCAL_CONTEXT,
    NEAR_ENTITY,
    REPORT,
    Budget,
    ClaimTaken,
    NearEntity,
    ReportTaken,
)

_Taken = TypeVar("_Taken", ReportTaken, ClaimTaken)

_ALIKE = 50  # entities asked of each index
_EACH = 100  # facts of an entity, and direction
_RANKED = 200  # of each kind, that are ranked
_LOOKED_UP = 50  # ranked facts whose sources are looked up together
_LINE = 4  # tokens of a line's number
CLAIMS = "Claims that were read from the documents"
_STATUS = {"FALSE": " (denied)", "SUSPECTED": " (not proven)"}


class _Parameters(StepParameters):
    entities: Some = Field(10, description="entities whose surroundings are looked at")
    tokens: Some = Field(12_000, description="tokens of the whole context")
    report_share: Share = Field(0.15, description="share of the tokens for reports of communities")
    relation_share: Share = Field(0.25, description="share of the tokens for relations")
    min_rating: Weight = Field(0.0, description="reports with a lower rating are left out")
    summaries: bool = Field(False, description="take summaries of reports, without their findings")
    relation_limit: Limit = Field(100, description="relations at most")
    considered_limit: Limit = Field(
        30, description="reports, claims and relations without room that the trace keeps, of each"
    )


class LocalParameters(_Parameters):
    """Of what surrounds the nearest entities."""

    claim_share: Share = Field(0.1, description="share of the tokens for claims")
    community_level: Limit = Field(2, description="level of the smallest communities whose reports count")
    chunk_limit: Limit = Field(20, description="chunks at most")
    window_tokens: Some = Field(1200, description="tokens taken of a longer chunk, around its best sentence")
    named_weight: Weight = Field(1.0, description="how much it counts that the question names an entity")
    activation_weight: Weight = Field(1.0, description="how much the activation of an entity counts")
    words_weight: Weight = Field(0.5, description="weight of words that name and definition share with it")
    meaning_weight: Weight = Field(0.5, description="weight of their meaning, with an embedding model")


class OverviewParameters(_Parameters):
    """Of an overview, which looks at no chunks and claims."""

    report_limit: Some = Field(10, description="reports at most, of the largest communities")


def overview(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Select the entities with most facts and the largest communities, whatever is asked."""
    step = context.recorder.step(LOCAL_CONTEXT)
    context.recorder.say(step, RAG.mode, Literal("overview"))
    run = _Surroundings(context, state, parameters, step)
    run.main_entities()
    points = run.main_reports()
    run.hand_over(run.relations(), points)
    yield context.recorder.finish(step)


def local(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Select what surrounds the entities nearest to the question."""
    step = context.recorder.step(LOCAL_CONTEXT)
    context.recorder.say(step, RAG.mode, Literal("rank"))
    run = _Surroundings(context, state, parameters, step)
    run.find_entities()
    points = run.reports()
    relations = run.relations()
    points += run.claims()
    run.chunks()
    run.hand_over(relations, points)
    yield context.recorder.finish(step)


@dataclass(slots=True)
class _Room:
    """The tokens that are left of a context."""

    left: int = 0

    def share(self, tokens: int, share: float) -> int:
        """What a kind may take: its share, and what the kinds before it left."""
        self.left += round(tokens * share)
        return self.left


class _Surroundings:
    def __init__(self, context: Context, state: State, parameters: Parameters, step: Step) -> None:
        self._context, self._state, self._parameters, self._step = context, state, parameters, step
        self._search = QuestionSearch(context, state, parameters, step, searched=1)
        self._room = _Room()
        self._near: dict[str, float] = {}
        self._budgets: list[Budget] = []

    # --- entities ----------------------------------------------------------------------------------

    def find_entities(self) -> None:
        """Take the nearest entities."""
        found = {
            "named": [(seed.entity, seed.score) for seed in self._state.seeds],
            "activation": _shares((NamedNode(iri), value) for iri, value in self._state.activated.items()),
            "words": self._search.entities_with_words(_ALIKE),
            "meaning": self._search.similar_entities(_ALIKE),
        }
        parameters = self._parameters
        given = {
            "named": parameters["named_weight"],
            "activation": parameters["activation_weight"],
            "words": parameters["words_weight"],
            "meaning": parameters["meaning_weight"],
        }
        weights = as_shares(**{name: weight for name, weight in given.items() if found[name]})
        rows = self._search.decide(
            "selection/nearest-entities",
            found=[(name, node, near) for name, own in found.items() for node, near in own],
            weights=list(weights.items()),
            excluded=list(self._state.exclude),
            limit=parameters["entities"],
        )
        for rank, row in enumerate(rows, start=1):
            entity, score = row["entity"], row["score"]
            self._near[entity.value] = score
            shares = [ScoreShare(name, own, own * row[name]) for name, own in weights.items()]
            self._context.recorder.item(self._step, NEAR_ENTITY, NearEntity(entity, score, rank, shares))

    def main_entities(self) -> None:
        """Take the entities with most facts."""
        rows = self._search.decide("entities/list", text="", limit=self._parameters["entities"])
        rows = [row for row in rows if row["entity"] not in self._state.exclude]
        most = max((row["facts"] for row in rows), default=0.0) or 1.0
        for rank, row in enumerate(rows, start=1):
            entity, score = row["entity"], row["facts"] / most
            self._near[entity.value] = score
            name = row["name"]
            self._state.seeds.append(
                Seed(entity, name, score, "exact", name)
            )  # what to ask next is about them
            self._context.recorder.item(self._step, NEAR_ENTITY, NearEntity(entity, score, rank))

    def _entities(self) -> list[tuple[NamedNode, float]]:
        return [(NamedNode(iri), score) for iri, score in self._near.items()]

    # --- what surrounds them -----------------------------------------------------------------------

    def reports(self) -> list[Point]:
        """The reports of their communities: summaries and findings, as far as they fit."""
        parameters = self._parameters
        if self._state.only is not None:
            detail = tr("reports of communities are of all dates: none was read, because a period was given")
            self._state.warn("dates_ignored", detail)
            return self._take_reports([], [])
        rows = self._search.decide(
            "retrieval/entity-reports",
            entities=self._entities(),
            level=parameters["community_level"],
            min_rating=parameters["min_rating"],
            limit=_RANKED,
        )
        return self._take_reports(rows, [row["score"] for row in rows])

    def main_reports(self) -> list[Point]:
        """The reports of the largest communities, as far as they fit."""
        parameters = self._parameters
        rows = self._search.decide(
            "retrieval/main-reports", min_rating=parameters["min_rating"], limit=parameters["report_limit"]
        )
        members = [row["members"] for row in rows]
        return self._take_reports(rows, [number / (1 + number) for number in members])

    def _take_reports(self, rows: Sequence[Row], scores: Sequence[float]) -> list[Point]:
        """Summaries and findings of ranked reports, as far as they fit."""
        context, parameters, step = self._context, self._parameters, self._step
        if not rows and not self._has_reports():
            detail = tr("There are no reports of communities: run graphrag-rdf communities build")
            self._state.warn("no_reports", detail)
        reports = [
            ReportTaken(
                row["report"],
                row["title"],
                scores[rank - 1],
                row["rating"],
                rank,
            )
            for rank, row in enumerate(rows, start=1)
        ]
        summaries = [_line(row["summary"]) for row in rows]
        tokens = self._room.share(parameters["tokens"], parameters["report_share"])
        lines = self._lines(reports, summaries, tokens)
        costs = [point.tokens for *_, point in lines]
        taken = self._fit("reports", tokens, costs, len(reports))
        for report, is_finding, point in lines[:taken]:
            report.kept, report.findings = True, report.findings + is_finding
            report.tokens += point.tokens
        context.recorder.items(step, REPORT, self._shown(reports))
        self._count(sum(one.kept for one in reports))
        record_sources(context, step, [one.report for one in self._shown(reports)])
        return [point for *_, point in lines[:taken]]

    def _lines(
        self, reports: Sequence[ReportTaken], summaries: Sequence[str], tokens: int
    ) -> list[tuple[ReportTaken, bool, Point]]:
        """The lines of reports, and whether each is a finding. Only what rests on something is one: a finding
        on its evidence, a summary on the best evidence of each finding.

        Args:
            tokens: what lines may take: evidence is looked up until they take more.
        """
        context, step, whole = self._context, self._step, not self._parameters["summaries"]
        findings = findings_of(context, step, [one.report for one in reports])
        known: Known = {}
        lines: list[tuple[ReportTaken, bool, Point]] = []
        used, begin = 0, 0
        while begin < len(reports) and used <= tokens:
            end, expected = begin, used
            while end < len(reports) and expected <= tokens:
                texts = [one.text for one in findings[reports[end].report]] if whole else []
                expected += sum(Point("", text, ()).tokens for text in (summaries[end], *texts))
                end += 1
            nodes = [one.node for report in reports[begin:end] for one in findings[report.report]]
            evidence = evidence_of(context, self._state, step, nodes, known)
            for report, summary in zip(reports[begin:end], summaries[begin:end], strict=True):
                head = _line(report.title or "")
                own = [one for one in findings[report.report] if evidence[one.node]]
                best = {id(evidence[one.node][0]): evidence[one.node][0] for one in own}
                if best:
                    lines.append((report, False, Point(head, summary, [*best.values()])))
                if whole:
                    lines += [
                        (report, True, Point(head, one.text, evidence[one.node], _line(one.explanation)))
                        for one in own
                    ]
            used, begin = sum(point.tokens for *_, point in lines), end
        return lines

    def _has_reports(self) -> bool:
        rows = self._search.rows("index/report-count")
        return bool(rows[0]["reports"])

    def relations(self) -> list[Selection]:
        """Their facts, those between two of them first, as far as they fit."""
        parameters, step = self._parameters, self._step
        edges = self._rank_edges() if self._near else []
        tokens = self._room.share(parameters["tokens"], parameters["relation_share"])
        selections: list[Selection] = []
        said: set[str] = set()
        costs: list[int] = []
        for batch in in_batches(edges, _LOOKED_UP):
            known = len(fitting(costs[: parameters["relation_limit"]], int, tokens))
            if len(costs) >= known + max(1, parameters["considered_limit"]):
                break  # those that fit are known, and those that come next
            for one in self._supported(batch):
                quotes = {source.quote for source in one.sources[:1]} - said
                said |= quotes
                assert one.edge is not None  # noqa: S101
                costs.append(sum(map(count_tokens, [one.edge.text, *quotes])) + _LINE)
                selections.append(one)
        taken = self._fit("relations", tokens, costs[: parameters["relation_limit"]], len(edges))
        self._count(taken)
        left = [one.edge for one in selections[taken:] if one.edge]
        for rank, edge in enumerate(left[: parameters["considered_limit"]], start=taken + 1):
            edge.rank, edge.edge_id = rank, edge.label_hash
            self._context.recorder.item(step, CONSIDERED, edge)
        return selections[:taken]

    def _supported(self, edges: Sequence[Edge]) -> list[Selection]:
        """Those facts that have a source, with their sources and the sentences that they were quoted from."""
        quoted: dict[Triple, list[NamedNode]] = {}
        facts = {edge.triple: [edge.triple, *edge.also] for edge in edges}
        every = [fact for own in facts.values() for fact in own]
        for row in self._search.rows("retrieval/evidence-sentences", edges=every):
            quoted.setdefault(fact_of(row), []).append(row["sentence"])
        for edge in edges:
            said = {sentence for fact in facts[edge.triple] for sentence in quoted.get(fact, ())}
            edge.sentences = tuple(sorted(said, key=str))
        if self._state.only is not None:
            edges = [edge for edge in edges if edge.sentences]
        selections = [Selection(score=edge.score, edge=edge) for edge in edges]
        attach_sources(self._context, self._state, self._step, selections)
        return [
            one
            for one in selections
            if any(source.verified or not source.chunk for source in one.sources)
            or (one.sources and one.edge and one.edge.description)
        ]

    def _rank_edges(self) -> list[Edge]:
        """Facts about the entities, those between two of them first; then by how many of them the other end
        is related to, how near these are, and how much of the question a fact says.
        """
        nodes = [node for node, _ in self._entities()]
        rows = self._search.rows("retrieval/edges", entities=nodes, limit=_EACH)
        self._search.describe(nodes, _EACH)
        origins: dict[Triple, list[NamedNode]] = {}
        for row in rows:
            if row["p"] != RDF.type and {row["s"], row["o"]}.isdisjoint(self._state.exclude):
                origins.setdefault(fact_of(row), []).append(row["from"])
        names = self._search.names(origins)
        found = [self._search.edge(fact, names) for fact in sorted(origins, key=str)]
        edges = as_one(self._search.rows, found)
        edges = [edge for edge in edges if edge.triple[1] not in METADATA or edge.asked]
        ends = [  # of each edge its ends among the entities, each with the other end
            {
                near.value: next((end.value for end in edge.ends if end != near), text_of(edge.triple[2]))
                for fact in (edge.triple, *edge.also)
                for near in origins[fact]
            }
            for edge in edges
        ]
        links: dict[str, set[str]] = defaultdict(set)
        for pairs in ends:
            for near, far in pairs.items():
                links[far].add(near)
        inside: set[Triple] = set()
        for edge, pairs in zip(edges, ends, strict=True):
            likeness = self._search.words.coverage(edge.text, edge.asked)
            edge.score = max(
                _nearness(len(links[far]) * self._near[near], likeness) for near, far in pairs.items()
            )
            if not self._near.keys().isdisjoint(pairs.values()):
                inside.add(edge.triple)
        ranked = best(edges, lambda edge: edge.score)
        return sorted(ranked, key=lambda edge: edge.triple not in inside)[:_RANKED]

    def claims(self) -> list[Point]:
        """What is claimed of them, as far as it fits."""
        step = self._step
        rows = self._search.rows("retrieval/entity-claims", entities=self._entities(), limit=_RANKED)
        found = {row["claim"]: row for row in rows}
        quoted: dict[NamedNode, list[NamedNode]] = {}
        if found:
            for row in self._search.rows("retrieval/claim-sentences", claims=list(found)):
                quoted.setdefault(row["claim"], []).append(row["sentence"])
        texts = {claim: _claim_words(row) for claim, row in found.items() if claim in quoted}
        scores = {
            claim: _nearness(found[claim]["near"], self._search.words.coverage(text))
            for claim, text in sorted(texts.items(), key=str)
        }
        claims = [
            ClaimTaken(claim, texts[claim], scores[claim], rank)
            for rank, claim in enumerate(best(scores, scores.__getitem__, _RANKED), start=1)
        ]
        tokens = self._room.share(self._parameters["tokens"], self._parameters["claim_share"])
        costs = [Point(CLAIMS, claim.text or "", ()).tokens for claim in claims]
        taken = self._fit("claims", tokens, costs, len(claims))
        for claim in claims[:taken]:
            claim.kept = True
        self._context.recorder.items(self._step, CLAIM, self._shown(claims))
        self._count(taken)
        for chunk in sorted({found[one.claim]["chunk"] for one in self._shown(claims)}, key=str):
            self._context.recorder.say(step, RAG.readSource, chunk)
        return self._quoted_points(claims[:taken], quoted)

    def _quoted_points(
        self, claims: Sequence[ClaimTaken], quoted: Mapping[NamedNode, Sequence[NamedNode]]
    ) -> list[Point]:
        wanted = {one.value for claim in claims for one in quoted[claim.claim]}
        mentioned = mentions_of(self._context, self._state, self._step, wanted)
        sources = sentence_sources(self._context, self._state, self._step, wanted)
        points = []
        for claim in claims:
            rests = [
                Selection(
                    score=claim.score, hit=SentenceHit(one, mentioned[one.value]), sources=sources[one.value]
                )
                for one in quoted[claim.claim]
                if one.value in sources and one.value not in self._state.set_aside
            ]
            points.append(Point(CLAIMS, claim.text or "", rests))
        return points

    def chunks(self) -> None:
        """The chunks that exploration ranked, as far as they fit."""
        state, parameters, step = self._state, self._parameters, self._step
        shares = parameters["report_share"] + parameters["relation_share"] + parameters["claim_share"]
        tokens = self._room.share(parameters["tokens"], max(0.0, 1.0 - shares))
        ranked = state.passages[:_RANKED]
        state.chunks = fit_chunks(self._context, state, step, ranked, parameters, tokens, whole=0)
        state.well_ranked = [hit.chunk for hit in ranked[: parameters["chunk_limit"]]]
        used = sum(tokens_of(state, chunk) for chunk in state.chunks)
        self._budgets.append(Budget("chunks", tokens, used, len(ranked), len(state.chunks)))

    # --- the context -------------------------------------------------------------------------------

    def _fit(self, kind: str, tokens: int, costs: Sequence[int], candidates: int) -> int:
        """How many of ranked lines fit; what is left goes to the next kind.

        Args:
            tokens: what they may take.
            costs: the tokens of each line.
            candidates: reports, relations or claims that they are of.
        """
        taken = fitting(costs, int, tokens)
        used = sum(taken)
        self._room.left -= used
        self._budgets.append(Budget(kind, tokens, used, candidates, len(taken)))
        return len(taken)

    def _count(self, taken: int) -> None:
        """Set how many things of a kind are in the context: lines are not."""
        self._budgets[-1].taken = taken

    def _shown(self, things: Sequence[_Taken]) -> list[_Taken]:
        """Those that the trace keeps: what is in the context, and what comes next."""
        left = [one for one in things if not one.kept]
        return [one for one in things if one.kept] + left[: self._parameters["considered_limit"]]

    def hand_over(self, relations: list[Selection], points: list[Point]) -> None:
        """Record the context, and leave it to the answer."""
        context, state, step = self._context, self._state, self._step
        context.recorder.items(step, BUDGET, self._budgets)
        state.selections, state.points = relations, points
        record_selections(context, step, relations)
        record_chunks(context, state, step, len(relations))
        state.empty = not (relations or points or state.chunks)


def _shares(found: Iterable[tuple[NamedNode, float]]) -> list[tuple[NamedNode, float]]:
    """Values as shares of the greatest."""
    listed = [*found]
    best = max((value for _, value in listed), default=0.0)
    return [(node, value / best) for node, value in listed] if best > 0 else []


def _nearness(near: float, likeness: float) -> float:
    """The score of what is said of entities, below 1.

    Args:
        near: how near they are to the question.
        likeness: the share of the question's words in it.
    """
    found = near * (0.25 + likeness)
    return found / (1 + found)


def _line(text: str) -> str:
    return " ".join(text.split())


def _claim_words(row: Row) -> str:
    """A claim in a line: who, what kind, whether it is so, when, and what."""
    about = " – ".join(_line(row[name]) for name in ("subject", "object") if row[name])
    when = "–".join(dict.fromkeys(_line(row[name]) for name in ("start", "end") if row[name]))
    kind = f"{_line(row['type'])}{_STATUS.get(row['status'], '')}"
    return f"{about}, {kind}{f', {when}' if when else ''}: {_line(row['text'])}"


_SHARED = (
    "facts/text-wrong",
    "index/report-count",
    *FINDINGS,
    "derived/fact-descriptions",
    "retrieval/edges",
    "retrieval/names",
    "retrieval/relation-names",
    "retrieval/same-facts",
    "retrieval/evidence-sentences",
)
_LOCAL = (
    *_SHARED,
    "selection/nearest-entities",
    "retrieval/entity-reports",
    "retrieval/entity-claims",
    "retrieval/claim-sentences",
    "retrieval/chunks",
    "retrieval/passage-sentences",
)

LOCAL = register(
    StepKind(
        "local_context",
        LOCAL_CONTEXT,
        "Selects what surrounds the entities nearest to the question: reports, relations, claims and chunks.",
        {
            "rank": Way(local, LocalParameters, templates=_LOCAL),
            "overview": Way(
                overview,
                OverviewParameters,
                templates=(*_SHARED, "entities/list", "retrieval/main-reports"),
            ),
        },
    )
)
