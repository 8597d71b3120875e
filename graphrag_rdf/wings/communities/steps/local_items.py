"""What local search writes into traces: entities, reports and claims that it looked at, and how tokens were
shared out. Facts and chunks are selections as those of every other step.
"""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from pyoxigraph import NamedNode

from graphrag_rdf.i18n import ERASED, counted, later, tr
from graphrag_rdf.rdf.namespaces import RAG, RDFS, TG
from graphrag_rdf.steps.exploration import CONSIDERED, label_entities
from graphrag_rdf.trace.kinds import ItemKind, NodeKind, StepField, item, said
from graphrag_rdf.trace.lines import Lines
from graphrag_rdf.trace.model import SELECTIONS, ScoreShare, TraceStep
from graphrag_rdf.trace.text import fact_words, number_words

_LISTED = 5  # entities, reports, claims and facts that `trace show` lists without --full


@item
class NearEntity:
    """An entity whose surroundings are looked at.

    Attributes:
        score: how near it is to the question, 0 to 1: the sum of `shares`.
    """

    JSON: ClassVar = ("entity", "label", "score", "rank", "shares=parts")

    entity: NamedNode = said(TG.entity)
    score: float = said(TG.score)
    rank: int | None = said(RAG.rank, default=None)
    shares: list[ScoreShare] = field(default_factory=list)
    label: str = ""
    iri: NamedNode | None = None

    @property
    def parts(self) -> dict[str, float]:
        """What the score is the sum of, by the name of the signal."""
        return {share.signal: share.share for share in self.shares if share.share > 0}


@item
class ReportTaken:
    """A report of a community that one of the entities is a member of.

    Attributes:
        score: how near its entities are, x/(1 + x) of their sum x.
        rating: by the model that wrote it.
        tokens: that it takes in the context; 0 if it is left out.
        findings: how many of its findings are in the context.
        kept: whether it is in the context, at least in part.
    """

    JSON: ClassVar = ("report", "title", "score", "rating", "rank", "tokens", "findings", "kept")

    report: NamedNode = said(RAG.report)
    title: str | None = said(RDFS.label, words=True)
    score: float = said(TG.score)
    rating: float | None = said(RAG.rating, default=None)
    rank: int | None = said(RAG.rank, default=None)
    tokens: int = said(RAG.tokenCount, default=0)
    findings: int = said(RAG.findingCount, default=0)
    kept: bool = said(RAG.kept, default=False)
    iri: NamedNode | None = None


@item
class ClaimTaken:
    """A claim about one of the entities."""

    JSON: ClassVar = ("claim", "text", "score", "rank", "kept")

    claim: NamedNode = said(RAG.claim)
    text: str | None = said(TG.content, words=True)
    score: float = said(TG.score)
    rank: int | None = said(RAG.rank, default=None)
    kept: bool = said(RAG.kept, default=False)
    iri: NamedNode | None = None


@item
class Budget:
    """The tokens that things of one kind may take in the context.

    Attributes:
        kind: reports, relations, claims or chunks.
        tokens: its share, and what the kinds before it left.
        used: what was selected of it takes.
        candidates, taken: how many there were, and how many were selected.
    """

    JSON: ClassVar = ("kind", "tokens", "used", "candidates", "taken")

    kind: str = said(RAG.contextKind)
    tokens: int = said(RAG.tokenLimit)
    used: int = said(RAG.tokenCount)
    candidates: int = said(RAG.candidateCount)
    taken: int = said(RAG.takenCount)
    index: int | None = said(RAG.index, default=None)
    iri: NamedNode | None = None


NEAR_ENTITY = ItemKind(
    "near-entity",
    "entities",
    RAG.nearEntity,
    RAG.NearEntity,
    NearEntity,
    parts={"shares": ItemKind("share", "shares", RAG.scoreShare, RAG.ScoreShare, ScoreShare)},
    complete=label_entities,
    compared=lambda entity: entity.label,
)
REPORT = ItemKind(
    "near-report",
    "reports",
    RAG.nearReport,
    RAG.NearReport,
    ReportTaken,
    compared=lambda report: report.title or report.report.value,
)
CLAIM = ItemKind(
    "near-claim",
    "claims",
    RAG.nearClaim,
    RAG.NearClaim,
    ClaimTaken,
    compared=lambda claim: claim.text or claim.claim.value,
)
BUDGET = ItemKind("budget", "budgets", RAG.budget, RAG.Budget, Budget)


_OMITTED = later("omitted")


def _text(page: Lines, step: TraceStep, full: bool) -> None:
    listed = None if full else _LISTED
    for budget in step.items["budgets"]:
        of = tr("{taken} of {candidates}, {used:,} of {tokens:,} tokens").format(
            taken=budget.taken, candidates=budget.candidates, used=budget.used, tokens=budget.tokens
        )
        page.line(f"    {tr(budget.kind.capitalize())}: {of}")
    for entity in step.items["entities"][:listed]:
        page.paragraph(f"{entity.label} · {number_words(entity.score)}", "      ", tr("Entity: "))
    for report in step.items["reports"][:listed]:
        taken = (
            counted("{count} finding", "{count} findings", report.findings) if report.kept else tr(_OMITTED)
        )
        page.paragraph(
            f"{report.title or tr(ERASED)} · {taken}", "      ", tr("Report: "), dim=not report.kept
        )
    facts = [selection for selection in step.selections if selection.chunk is None]
    for fact in facts[:listed]:
        page.paragraph(fact_words(fact.fact), "      ", tr("Fact: "))
    for claim in step.items["claims"][:listed]:
        taken = "" if claim.kept else f" · {tr(_OMITTED)}"
        page.paragraph(f"{claim.text or tr(ERASED)}{taken}", "      ", tr("Claim: "), dim=not claim.kept)
    if full:
        for edge in step.items["considered"]:
            page.paragraph(fact_words(edge.fact), "      ", tr("Left out: "), dim=True)


LOCAL_CONTEXT = NodeKind(
    "context",
    RAG.LocalContext,
    "What surrounds the entities nearest to the question.",
    fields=(StepField("left_out", RAG.leftOut, read=len),),
    items=(NEAR_ENTITY, BUDGET, REPORT, CLAIM, CONSIDERED, *SELECTIONS),
    text=_text,
)
