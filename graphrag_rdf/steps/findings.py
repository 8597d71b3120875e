"""Findings of reports of communities, and what they rest on.

A model sees a finding by a number. What cites that number cites what underlies the finding: the facts and
sentences that `communities/finding-evidence` lists. They are ordinary selections that share the number, so an
answer is shown, verified, exported and forgotten like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from pyoxigraph import NamedNode

from graphrag_rdf.documents.sentences import split_sentences
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.steps.exploration import Edge
from graphrag_rdf.steps.labels import labels_of
from graphrag_rdf.steps.search import fact_of
from graphrag_rdf.steps.sources import OF_FACTS, OF_SENTENCES, attach_sources, left_out, mentions_of
from graphrag_rdf.steps.state import Context, Selection, SentenceHit, State
from graphrag_rdf.store.base import Row, in_batches
from graphrag_rdf.trace.facts import label_of
from graphrag_rdf.trace.recorder import Step

TEMPLATES = (
    "communities/finding-texts",
    "communities/finding-evidence",
    "communities/naming-sentences",
    "communities/report-sources",
    "retrieval/labels",
    "retrieval/mentioned-entities",
    *OF_FACTS,
    *OF_SENTENCES,
)
"""What this module runs."""


_NAMED = 5  # facts without a quote that a finding's sentences are looked for
Known: TypeAlias = dict[object, Selection]
"""A fact, or the IRI of a sentence → its selection."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of a report.

    Attributes:
        index: its place in the report, from 0.
        label, explanation: its texts.
    """

    node: NamedNode
    report: NamedNode
    index: int
    label: str
    explanation: str

    @property
    def text(self) -> str:
        """It in words, on one line; the label only if the explanation does not begin with it."""
        return self._with_label(self.explanation)

    @property
    def short(self) -> str:
        """As `text`, with the first sentence of the explanation."""
        first = split_sentences(self.explanation)[:1]
        return self._with_label(
            "".join(self.explanation[one.offset : one.offset + one.length] for one in first)
        )

    def _with_label(self, explanation: str) -> str:
        label, explanation = (" ".join(text.split()) for text in (self.label, explanation))
        if explanation.casefold().startswith(label.rstrip(".!?:。！？").casefold()):
            return explanation
        between = "" if label.endswith((".", "!", "?", ":", "。", "！", "？")) else ":"
        return f"{label}{between} {explanation}"


def require_reports(context: Context) -> None:
    """Raise UsageError if the store has no reports of communities."""
    (row,) = context.store.select("index/report-count")
    if row["reports"] == 0:
        raise UsageError(
            tr("the store has no reports of communities"), hint=tr("run: graphrag-rdf communities build")
        )


def findings_of(context: Context, step: Step, reports: Sequence[NamedNode]) -> dict[NamedNode, list[Finding]]:
    """The findings of reports, in their order.

    Returns:
        report → findings, for each of the reports.
    """
    found: dict[NamedNode, list[Finding]] = {report: [] for report in reports}
    for batch in in_batches(reports):
        for row in context.select(step, "communities/finding-texts", reports=batch):
            report, node = row["report"], row["finding"]
            texts = row["label"], row["explanation"]
            found[report].append(Finding(node, report, row["index"], *texts))
    return found


def evidence_of(
    context: Context,
    state: State,
    step: Step,
    findings: Iterable[NamedNode],
    known: Known | None = None,
) -> dict[NamedNode, list[Selection]]:
    """What findings rest on, best first: facts and sentences with their sources. Facts without a quote count
    if nothing else does, by sentences that name their things.

    Sentences about entities that are excluded, and what has no source any more, are left out.

    Args:
        step: records the queries, of which the first decides.
        known: what earlier findings rest on; they share it, and it is added to.

    Returns:
        finding → selections, for each of the findings. Findings share those that they have in common.
    """
    wanted = list(dict.fromkeys(findings))
    found: dict[NamedNode, list[Selection]] = {finding: [] for finding in wanted}
    known = {} if known is None else known
    new: list[Selection] = []
    rows: list[Row] = []
    for batch in in_batches(wanted):
        rows += context.decide(step, "communities/finding-evidence", findings=batch)
    facts = [fact_of(row) for row in rows if row["s"] is not None]
    labels = labels_of(context, step, state, [term for fact in facts for term in fact])
    sentences = [row["sentence"].value for row in rows if row["sentence"] is not None]
    mentioned = mentions_of(context, state, step, sentences)
    for row in rows:
        key = fact_of(row) if row["s"] is not None else row["sentence"]
        if key not in known:
            known[key] = _selection(row, labels, mentioned)
            new.append(known[key])
        found[row["finding"]].append(known[key])
    attach_sources(context, state, step, new)
    quoted = {finding: [one for one in own if _is_quoted(one)] for finding, own in found.items()}
    unquoted = {finding: found[finding] for finding, own in quoted.items() if not own and found[finding]}
    quoted |= _naming_sentences(context, state, step, unquoted, known)
    return {finding: [one for one in own if _counts(state, one)] for finding, own in quoted.items()}


def _is_quoted(selection: Selection) -> bool:
    """Whether words of a text say it, or it is from no text."""
    return any(source.quote or source.chunk is None for source in selection.sources)


def _naming_sentences(
    context: Context,
    state: State,
    step: Step,
    unquoted: Mapping[NamedNode, Sequence[Selection]],
    known: Known,
) -> dict[NamedNode, list[Selection]]:
    """For findings that cite no words of a text, sentences that name what they cite."""
    named = []
    for finding, own in unquoted.items():
        edges = [one.edge for one in own if one.edge is not None][:_NAMED]
        for number, edge in enumerate(edges):
            ends = {end for end in (edge.triple[0], edge.triple[2]) if isinstance(end, NamedNode)}
            named += [(finding, number, end) for end in sorted(ends, key=str)]
    rows: list[Row] = []
    for batch in in_batches(named):
        rows += context.decide(step, "communities/naming-sentences", named=batch)
    mentioned = mentions_of(context, state, step, {row["sentence"].value for row in rows})
    found: dict[NamedNode, list[Selection]] = {finding: [] for finding in unquoted}
    new: list[Selection] = []
    for row in rows:
        sentence = row["sentence"]
        if sentence not in known:
            known[sentence] = Selection(hit=SentenceHit(sentence, mentioned[sentence.value]))
            new.append(known[sentence])
        if known[sentence] not in (own := found[row["finding"]]):
            own.append(known[sentence])
    attach_sources(context, state, step, new)
    return found


def _selection(
    row: Row, labels: Mapping[str, str], mentioned: Mapping[str, tuple[NamedNode, ...]]
) -> Selection:
    if row["s"] is None:
        sentence = row["sentence"]
        return Selection(hit=SentenceHit(sentence, mentioned[sentence.value]))
    fact = fact_of(row)
    s, p, o = (label_of(term, labels) for term in fact)
    unfound = bool(row["unfound"])
    ends = tuple(end for end in (fact[0], fact[2]) if isinstance(end, NamedNode))
    return Selection(edge=Edge(fact, s, p, o, 0, "out", fact[0], ends, unverified=unfound))


def _counts(state: State, selection: Selection) -> bool:
    if not selection.sources:
        return False
    if selection.hit is not None:
        return selection.hit.sentence.value not in state.set_aside and not left_out(
            state, selection.hit.entities
        )
    assert selection.edge is not None  # noqa: S101
    return state.exclude == () or {*selection.edge.triple}.isdisjoint(state.exclude)


def cite_findings(
    state: State,
    cited: Mapping[int, tuple[str, Sequence[Selection], float]],
) -> list[Selection]:
    """Let numbers lead to what findings rest on: the state's selections, in the order of numbers.

    Args:
        cited: number → what the prompt says under it, what that rests on, and its score.

    Returns:
        the selections that are new. One that several numbers lead to is there for each.
    """
    new = [
        replace(one, marker=number, score=score, shown=shown, reasoning=" ".join(shown.split()), iri=None)
        for number, (shown, selections, score) in sorted(cited.items())
        for one in {id(one): one for one in selections}.values()
    ]
    state.selections += new
    return new


def sources_of(context: Context, step: Step, reports: Sequence[NamedNode]) -> list[NamedNode]:
    """Which chunks and documents reports were written from, sorted."""
    found: set[NamedNode] = set()
    for batch in in_batches(reports):
        rows = context.select(step, "communities/report-sources", reports=batch)
        found.update(row["source"] for row in rows)
    return sorted(found, key=str)


def record_sources(context: Context, step: Step, reports: Sequence[NamedNode]) -> None:
    """Write which chunks and documents reports were written from, so that forgetting one of these finds the
    trace. Needed once in a run for each report whose words the trace, or a prompt, holds.
    """
    for source in sources_of(context, step, reports):
        context.recorder.say(step, RAG.readSource, source)
