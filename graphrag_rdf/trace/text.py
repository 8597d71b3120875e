"""Traces as text, for `ask --explain` and `trace show`.

Everything passes through `printable`. Lines are wrapped to the width, save for headings and IRIs, which are
never broken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from pyoxigraph import NamedNode

from graphrag_rdf.store.base import Store
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.trace.catalogue import TraceSummary
from graphrag_rdf.trace.items import Call, Fact, Score, Selection, Source
from graphrag_rdf.trace.lines import Lines, one_line, printable
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.model import Trace, TraceStep
from graphrag_rdf.trace.outcomes import outcome_told
from graphrag_rdf.trace.reader import read_trace
from graphrag_rdf.trace.rows import node
from graphrag_rdf.trace.sources import ChunkNode, FactSource, SourceTree

_DECISIONS = 8  # of a filter, that are shown without `full`
_PASSAGES = 3  # ranked passages that are shown without `full`
_ERASED = "(a question that was erased)"
_STATES = {"retired": "retired: the document was edited", "forgotten": "the source was forgotten"}


def render_trace(trace: Trace, *, width: int = 80, colour: bool = False, full: bool = False) -> str:
    """A whole trace.

    Args:
        width: cells per line (wide characters take two).
        colour: bold headings and dim details by escape sequences.
        full: also parameters, considered edges, activated entities and calls.
    """
    page = Lines(width, colour)
    _session(page, trace, full)
    for step in trace.steps:
        page.line()
        _step(page, step, full)
    return page.text()


def render_session(trace: Trace, *, width: int = 80, colour: bool = False) -> str:
    """The head of a trace."""
    page = Lines(width, colour)
    _session(page, trace, full=False)
    return page.text()


def render_step(step: TraceStep, *, width: int = 80, colour: bool = False, full: bool = False) -> str:
    """One step of a trace."""
    page = Lines(width, colour)
    _step(page, step, full)
    return page.text()


def render_message(
    store: Store,
    blobs: BlobStore,
    message: GraphRagResponse,
    *,
    width: int = 80,
    colour: bool = False,
    full: bool = False,
) -> str:
    """What an explain message is about, read back from the store, in which it is before it is seen.

    Messages of other types give an empty text, steps of a trace that is not stored a bare heading. The text
    of the answer is left out: its chunks were seen before.
    """
    if message.message_type != "explain" or message.explain_id is None:
        return ""
    page = Lines(width, colour)
    owners = store.select("trace/session-of", node=NamedNode(message.explain_id))
    if not owners:
        page.heading(message.kind, message.explain_id)
        return page.text()
    trace = read_trace(store, node(owners[0], "session"), blobs)
    step = trace.step(message.explain_id)
    if step is None:
        _session(page, trace, full)
    else:
        _step(page, replace(step, answer=step.answer and ""), full)
    return page.text()


def render_list(summaries: Iterable[TraceSummary], *, width: int = 80, colour: bool = False) -> str:
    """A table of traces, sub-traces indented under their parents."""
    page = Lines(width, colour)
    depths: dict[str, int] = {}
    for summary in summaries:
        depth = depths[summary.iri] = depths.get(summary.parent or "", -1) + 1
        when = summary.time.strftime("%Y-%m-%d %H:%M:%S") if summary.time else "?" * 19
        took = "" if summary.seconds is None else f" · {summary.seconds:.2f} s"
        uuid = summary.iri.rsplit(":", 1)[-1]
        indent = "  " * depth
        page.line(f"{indent}{when}  {uuid}  {summary.kind or '?'}", bold=True)
        page.paragraph(
            f"{outcome_told(summary.outcome)} · {summary.steps} steps{took} · {summary.question or _ERASED}",
            f"{indent}  ",
        )
    return page.text()


# --- sections --------------------------------------------------------------------------------------


def _session(page: Lines, trace: Trace, full: bool) -> None:
    page.heading("session", trace.iri)
    facts = [
        trace.kind or "unknown pipeline",
        trace.started.strftime("%Y-%m-%d %H:%M:%S UTC") if trace.started else "",
        "" if trace.ms is None else f"{trace.ms / 1000:.3f} s",
        outcome_told(trace.outcome),
        f"model {trace.model}" if trace.model else "no model",
        "" if trace.commit is None else f"commit {trace.commit}",
    ]
    page.paragraph(" · ".join(fact for fact in facts if fact), "    ")
    if trace.forgotten:
        page.paragraph("Words of this trace were erased because a document was forgotten.", "    ")
    if trace.continues:
        page.paragraph(trace.continues, "    ", "Goes on with: ")
    for mark in trace.marks:
        by, note = f" by {mark.by}" if mark.by else "", f": {mark.note}" if mark.note else ""
        page.paragraph(f"{mark.about}{by}{note}", "    ", f"Marked {mark.rating}: ")
    if full:
        for name, values in trace.parameters.items():
            shown = values.items() if isinstance(values, Mapping) else [("", values)]
            page.paragraph(" ".join(f"{key}={value}" for key, value in shown), "    ", f"{name}: ", dim=True)
    if not any(step.kind == "question" for step in trace.steps):
        page.prose(trace.question or _ERASED, "    ")


def _step(page: Lines, step: TraceStep, full: bool) -> None:
    page.heading(step.kind, step.iri)
    facts = [
        f"by {step.mode}" if step.mode else "",
        "" if step.ms is None else f"{step.ms} ms",
        _tokens(step.in_tokens, step.out_tokens),
        step.model or "",
    ]
    if any(facts):
        page.paragraph(" · ".join(fact for fact in facts if fact), "    ", dim=True)
    section = _SECTIONS.get(step.kind)
    if section:
        section(page, step, full)
    for warning in step.warnings:
        page.paragraph(warning["detail"], "    ", "Warning: ")
    if full:
        for call in step.calls:
            _call(page, call)


def _question(page: Lines, step: TraceStep, full: bool) -> None:  # noqa: ARG001
    page.prose(step.query or _ERASED, "    ")


def _grounding(page: Lines, step: TraceStep, full: bool) -> None:  # noqa: ARG001
    page.line(f"    {len(step.concepts)} concept(s)")
    for concept in step.concepts:
        page.paragraph(concept, "      ", "- ")


def _exploration(page: Lines, step: TraceStep, full: bool) -> None:
    if step.candidates is not None:
        page.line(f"    Met {step.candidates} edge(s), kept {step.edges or 0}")
    page.line(f"    {len(step.seeds)} seed entit{'y' if len(step.seeds) == 1 else 'ies'}")
    for seed in step.seeds:
        how = f" ({seed.matched_by}, {_number(seed.score)}: {seed.matched_text})" if seed.matched_by else ""
        page.paragraph(f"{seed.label}{how}", "      ", "- ")
    for passage in step.passages[: None if full else _PASSAGES]:
        told = [(share.label, share.share) for share in passage.shares]
        told = sorted([*told, *passage.own.items()], key=lambda part: -part[1])[: None if full else 3]
        rest = passage.score - sum(share for _, share in told)
        parts = [f"{name} {share:.3f}" for name, share in told] + (
            [f"others {rest:.3f}"] if rest > 5e-4 else []
        )
        made_of = f" = {' + '.join(parts)}" if told else ""
        before = f" (was {passage.rank_before}. · {passage.score_before:.3f})" if passage.rank_before else ""
        about = f"{passage.rank}. {passage.name or passage.chunk} · {passage.score:.3f}{made_of}{before}"
        page.paragraph(about, "      ", "Passage: ")
        for relation in passage.relations if full else passage.relations[:2]:
            near = f", named near {relation.near}" if relation.near else ""
            words = f"{relation.share:.3f} {relation.signal}: {relation.label}{near}"
            page.paragraph(words, "        ", "Relation: ", dim=True)
    if not full:
        return
    for active in step.activated:
        strength = f"round {active.round}, activation {_number(active.activation)}"
        if active.similarity is not None:
            strength += f", carrier's similarity {_number(active.similarity)}"
        page.paragraph(f"{active.label} ({strength})", "      ", "Activated: ", dim=True)
    for edge in step.considered:
        mark = "*" if edge.selected else " "
        about = f"{mark} {edge.rank}. {_fact(edge.fact)} · {_score(edge.score)} · hop {edge.hop}"
        page.paragraph(about, "      ", "Considered: ", dim=True)


def _focus(page: Lines, step: TraceStep, full: bool) -> None:
    _filter(page, step, full)
    edges = [selection for selection in step.selections if selection.chunk is None]
    sentences = [selection for selection in step.selections if selection.sentence is not None]
    chunks = [selection for selection in step.selections if selection.whole]
    page.line(f"    Selected {len(edges)} edge(s)")
    for selection in edges:
        page.paragraph(_fact(selection.fact), "      ", "Edge: ")
        _why(page, selection)
    if sentences:
        page.line(f"    Selected {len(sentences)} sentence(s)")
    _sentences(page, sentences)
    if chunks:
        page.line(f"    Selected {len(chunks)} chunk(s); {step.left_out} more had no room")
    for look_up in step.look_ups:
        found = f"{len(look_up.selections)} chunk(s) by {look_up.queries} queries"
        page.paragraph(f"{look_up.text or '(erased)'} · {found}", "      ", "Looked up: ")
    for selection in chunks if full else chunks[:_PASSAGES]:
        places = "; ".join(_place(source) for source in selection.sources) or str(selection.chunk)
        page.paragraph(f"{places} · {_number(selection.score.total)}", "      ", "Chunk: ")
        if full and selection.reasoning:
            page.paragraph(selection.reasoning, "        ", "Reason: ")
    if not full and len(chunks) > _PASSAGES:
        page.line(f"      … and {len(chunks) - _PASSAGES} more (--full)")


def _sentences(page: Lines, sentences: Iterable[Selection]) -> None:
    for selection in sentences:
        quote = next((source.quote for source in selection.sources if source.quote), "")
        page.paragraph(f"“{quote}”" if quote else str(selection.sentence), "      ", "Sentence: ")
        _why(page, selection)


def _filter(page: Lines, step: TraceStep, full: bool) -> None:
    """What a filter decided: first what it dropped, of which the trace tells nothing else."""
    if not step.decisions:
        return
    kept = sum(decision.kept for decision in step.decisions)
    way = step.decisions[0].filter
    page.line(f"    The filter ({way}) kept {kept} of {len(step.decisions)} candidate(s)")
    shown = sorted(step.decisions, key=lambda decision: decision.kept)
    for decision in shown if full else shown[:_DECISIONS]:
        words = f"“{decision.text}”" if decision.text else decision.sentence
        score = "" if decision.rerank is None else f" · reranker {_number(decision.rerank)}"
        reason = f": {decision.reasoning}" if decision.reasoning else ""
        about = f"{_fact(decision.fact) if decision.sentence is None else words}{score}{reason}"
        page.paragraph(about, "      ", "Kept: " if decision.kept else "Dropped: ", dim=True)
    if not full and len(shown) > _DECISIONS:
        page.line(f"      … and {len(shown) - _DECISIONS} more (--full)")


def _why(page: Lines, selection: Selection) -> None:
    if selection.removed:
        page.paragraph(f"{selection.removed}", "        ", "Holds no more: ")
    if selection.reasoning:
        page.paragraph(selection.reasoning, "        ", "Reason: ")
    if selection.concept:
        page.paragraph(selection.concept, "        ", "Concept: ")
    hop = f" · hop {selection.hop}" if selection.hop is not None else ""
    cited = f" · cited as [{selection.marker}]" if selection.marker is not None else ""
    cited = " · closest" if selection.closest else cited
    page.paragraph(f"{_score(selection.score)}{hop}{cited}", "        ", "Score: ")
    for source in selection.sources:
        page.paragraph(_place(source), "        ", "Source: ")
        if selection.chunk is None and source.quote:
            page.paragraph(f"“{source.quote}”", "          ")


def _synthesis(page: Lines, step: TraceStep, full: bool) -> None:  # noqa: ARG001
    if step.evidence_tokens is not None:
        left = f"; {step.left_out} selection(s) left out, in part or as a whole" if step.left_out else ""
        page.line(f"    Evidence of about {step.evidence_tokens} tokens{left}")
    if step.draft:
        page.line(f"    Corrected; the first draft is kept as {step.draft}")
    further = [selection for selection in step.selections if selection.sentence is not None]
    if further:
        page.line(f"    Selected {len(further)} more sentence(s)")
        _sentences(page, further)
    if step.answer:
        page.line()
        page.prose(step.answer, "")
    if step.answer is None:
        kept = f"the text is kept as {step.stored}" if step.stored else "the text was erased"
        page.paragraph(f"({kept})", "    ")
    if step.reuses:
        page.line()
        page.paragraph(step.reuses, "    ", "Given before: ")
    if step.suggestions:
        page.line()
        for suggestion in step.suggestions:
            how = "from the graph" if suggestion.by == "graph" else "by the model"
            page.paragraph(f"{suggestion.text or '(erased)'} ({how})", "    ", "To ask next: ")
    if step.answer and step.warnings:
        page.line()


def _error(page: Lines, step: TraceStep, full: bool) -> None:  # noqa: ARG001
    page.paragraph(step.reason or "unknown", "    ", f"{step.stage or 'Error'}: ")


_SECTIONS: dict[str, Callable[[Lines, TraceStep, bool], None]] = {
    "question": _question,
    "grounding": _grounding,
    "exploration": _exploration,
    "focus": _focus,
    "synthesis": _synthesis,
    "error": _error,
}


def _call(page: Lines, call: Call) -> None:
    facts = [
        call.template or call.purpose or "",
        call.model or "",
        "" if call.rows is None else f"{call.rows} row(s)",
        _tokens(call.in_tokens, call.out_tokens),
        "" if call.ms is None else f"{call.ms} ms",
        "from cache" if call.cached else "",
    ]
    page.paragraph(" · ".join(fact for fact in facts if fact), "    ", f"Call {call.kind}: ", dim=True)
    for name in ("sparql", "prompt", "completion"):
        if kept := getattr(call, name):
            page.line(f"      {name}: {kept}")


def _fact(fact: Fact | None) -> str:
    return f"({fact.s_label}, {fact.p_label}, {fact.o_label})" if fact else "(erased)"


def _place(source: Source) -> str:
    """`Chunk 1 → Page 2 → Title (characters 10–25)`."""
    if source.state == "forgotten":
        return f"{source.chunk or source.document} ({_STATES['forgotten']})"
    page = f"Page {source.page_number}" if source.page_number is not None else ""
    if page and source.page_label and source.page_label != page:
        page += f" “{source.page_label}”"
    path = " → ".join(part for part in (source.chunk_label, page, source.name) if part)
    notes = ["a fact, not a quotation"] if source.chunk is None else []
    if source.char_offset is not None and source.char_length is not None:
        notes.append(f"characters {source.char_offset}–{source.char_offset + source.char_length}")
    if source.quote and not source.verified:
        notes.append("quote not found in the text")
    if source.state != "current":
        notes.append(_STATES[source.state])
    return f"{path} ({'; '.join(notes)})" if notes else path


def _score(score: Score) -> str:
    parts = [("words", score.lexical), ("meaning", score.vector), ("graph", score.graph)]
    shown = ", ".join(f"{name} {_number(value)}" for name, value in parts if value is not None)
    return f"{_number(score.total)} ({shown})" if shown else _number(score.total)


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4f}"


def _tokens(in_tokens: int | None, out_tokens: int | None) -> str:
    if in_tokens is None and out_tokens is None:
        return ""
    known = ["?" if count is None else str(count) for count in (in_tokens, out_tokens)]
    return f"tokens {known[0]} in, {known[1]} out"


# --- sources ---------------------------------------------------------------------------------------


def render_tree(tree: SourceTree, *, width: int = 80, colour: bool = False) -> str:
    """A document with its pages, chunks and facts as a tree."""
    page = Lines(width, colour)
    page.line(tree.title, bold=True)
    about = [tree.identity, tree.media_type, tree.language, tree.location]
    page.paragraph(" · ".join(part for part in about if part), "", dim=True)
    for sheet in tree.pages:
        label = f" “{sheet.label}”" if sheet.label and sheet.label != f"Page {sheet.number}" else ""
        where = _span(sheet.char_offset, sheet.char_length)
        last = sheet is tree.pages[-1] and not tree.chunks
        inner = _branch(page, f"Page {sheet.number}{label} ({where})", "", last=last)
        for chunk in sheet.chunks:
            _chunk(page, chunk, inner, last=chunk is sheet.chunks[-1])
    for chunk in tree.chunks:
        _chunk(page, chunk, "", last=chunk is tree.chunks[-1])
    return page.text()


def render_fact_sources(found: Sequence[FactSource], *, width: int = 80, colour: bool = False) -> str:
    """What supports facts: for each fact every place, with its quote."""
    page = Lines(width, colour)
    shown: Fact | None = None
    for item in found:
        if item.fact != shown:
            shown = item.fact
            page.paragraph(_fact(shown), "")
            if item.removed:
                page.paragraph(f"{item.removed}", "  ", "Does not hold: ")
        confidence = "" if item.confidence is None else f" · confidence {item.confidence:.2f}"
        page.paragraph(f"{_place(item.source)}{confidence}", "  ", "Source: ")
        if item.source.quote:
            page.paragraph(f"“{item.source.quote}”", "    ")
    return page.text()


def _chunk(page: Lines, chunk: ChunkNode, lead: str, *, last: bool) -> None:
    notes = [_span(chunk.char_offset, chunk.char_length)]
    if len(chunk.pages) > 1:
        notes.append(f"also on page {', '.join(map(str, chunk.pages[1:]))}")
    if chunk.retired:
        notes.append(_STATES["retired"])
    cut = "…" if len(chunk.text) < chunk.char_length else ""
    inner = _branch(page, f"{chunk.label} ({'; '.join(notes)}) “{chunk.text}{cut}”", lead, last=last)
    for fact in chunk.facts:
        _branch(page, _fact(fact), inner, last=fact is chunk.facts[-1])


def _branch(page: Lines, text: str, lead: str, *, last: bool) -> str:
    """Write a node of a tree; what its own branches begin with."""
    inner = lead + ("    " if last else "│   ")
    page.paragraph(text, lead + ("└── " if last else "├── "), hang=inner)
    return inner


def _span(offset: int, length: int) -> str:
    return f"characters {offset}–{offset + length}"


__all__ = [
    "one_line",
    "printable",
    "render_fact_sources",
    "render_list",
    "render_message",
    "render_session",
    "render_step",
    "render_trace",
    "render_tree",
]
