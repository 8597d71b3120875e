"""Traces as text, for `ask --explain` and `trace show`, and the words that the parts of all steps share.

Everything passes through `printable`. Lines are wrapped to the width, save for headings and IRIs, which are
never broken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyoxigraph import NamedNode

from graphrag_rdf.i18n import (
    ERASED,
    bracketed,
    later,
    listed,
    own_label,
    stored,
    tr,
)
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.store.base import Store
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.trace.documents import Source
from graphrag_rdf.trace.foreign import FORMS
from graphrag_rdf.trace.kinds import ERASED_QUESTION
from graphrag_rdf.trace.lines import Lines, one_line, printable
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.model import Call, Fact, Inference, Selected, Trace, TraceStep
from graphrag_rdf.trace.outcomes import outcome_words
from graphrag_rdf.trace.reader import read_trace
from graphrag_rdf.trace.sources import ChunkNode, FactSource, Premise, SourceTree
from graphrag_rdf.trace.values import as_written

_BELOW = "    │ "
_ITEMS = 10  # of each kind that are shown without `full`, where the kind does not say how


def render_trace(trace: Trace, *, width: int = 80, colour: bool = False, full: bool = False) -> str:
    """A whole trace.

    Args:
        width: cells per line (wide characters take two).
        colour: bold headings and dim details by escape sequences.
        full: also parameters, considered edges, activated entities and calls.
    """
    page = Lines(width, colour)
    _trace(page, trace, full)
    return page.text()


def _trace(page: Lines, trace: Trace, full: bool) -> None:
    """A trace; the runs that were read with it are indented below the steps that started them."""
    _session(page, trace, full)
    before = trace.question_iri or trace.iri
    for step in trace.steps:
        page.line()
        _step(page, step, full, before if step.kind != "question" else None)
        before = step.iri
        for run in step.sub_runs:
            if run.session in trace.runs:
                below = page.inset(_BELOW)
                _trace(below, trace.runs[run.session], full)
                page.line()
                page.add(below, _BELOW)


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
    trace = read_trace(store, owners[0]["session"], blobs)
    step = trace.step(message.explain_id)
    if step is None:
        _session(page, trace, full)
    else:
        shown = {**step.values, "answer": ""} if step.answer else step.values
        _step(page, replace(step, values=shown), full)
    return page.text()


# --- sections --------------------------------------------------------------------------------------


def _session(page: Lines, trace: Trace, full: bool) -> None:
    page.heading(tr("session"), trace.iri)
    facts = [
        trace.kind or tr("unknown pipeline"),
        trace.started.strftime("%Y-%m-%d %H:%M:%S UTC") if trace.started else "",
        "" if trace.ms is None else f"{trace.ms / 1000:.3f} s",
        tr(FORMS[trace.form]) if trace.form in FORMS else outcome_words(trace.outcome),
        tr("ended by {cause}").format(cause=trace.stopped_by) if trace.stopped_by else "",
        tr("model {model}").format(model=trace.model)
        if trace.model
        else ""
        if trace.form in FORMS
        else tr("no model"),
        "" if trace.commit is None else tr("commit {number}").format(number=trace.commit),
    ]
    page.paragraph(" · ".join(fact for fact in facts if fact), "    ")
    if trace.source_forgotten:
        when = bracketed(f"{trace.erased:%Y-%m-%d %H:%M}") if trace.erased else ""
        said = tr("Words of this trace were erased because a document was forgotten.")
        page.paragraph(said + when, "    ")
    if trace.continues:
        page.paragraph(trace.continues, "    ", tr("Goes on with: "))
    for mark in trace.marks:
        about = tr("{about} by {person}").format(about=mark.about, person=mark.by) if mark.by else mark.about
        page.paragraph(
            f"{about}: {mark.note}" if mark.note else about,
            "    ",
            tr("Marked {rating}: ").format(rating=mark.rating),
        )
    if full:
        for name, values in trace.parameters.items():
            shown = values.items() if isinstance(values, Mapping) else [("", values)]
            page.paragraph(" ".join(f"{key}={value}" for key, value in shown), "    ", f"{name}: ", dim=True)
    if not any(step.kind == "question" for step in trace.steps):
        page.prose(trace.question or tr(ERASED_QUESTION), "    ")


def _step(page: Lines, step: TraceStep, full: bool, before: str | None = None) -> None:
    page.heading(_kind_told(step.kind), step.iri)
    facts = [
        tr("by {way}").format(way=step.mode) if step.mode else "",
        "" if step.ms is None else f"{step.ms} ms",
        token_words(step.in_tokens, step.out_tokens),
        step.model or "",
    ]
    if any(facts):
        page.paragraph(" · ".join(fact for fact in facts if fact), "    ", dim=True)
    if before is not None and step.derived_from and step.derived_from != (before,):
        page.paragraph(", ".join(step.derived_from), "    ", tr("Derives from: "), dim=True)
    (step.declared.text or _generic)(page, step, full)
    for run in step.sub_runs:
        page.paragraph(f"{run.question or tr(ERASED_QUESTION)} · {run.session}", "    ", tr("Asked: "))
    for warning in step.warnings:
        page.paragraph(stored(warning.detail), "    ", tr("Warning: "))
    if full:
        for call in step.calls:
            write_call(page, call)


def _kind_told(kind: str) -> str:
    """The name of a kind of step; English has it as it is."""
    said = kind.capitalize()  # as on the pages
    told = tr(said)
    return kind if told == said else told


def _generic(page: Lines, step: TraceStep, full: bool) -> None:
    """A step whose kind says nothing of how it is shown: its values, then its items."""
    for key, value in step.values.items():
        for one in value if isinstance(value, list | tuple) else [value]:
            if one is not None:
                page.paragraph(str(to_json(one)), "    ", f"{key}: ")
    for key, items in step.items.items():
        if key in ("warnings", "calls") or not items:
            continue
        page.line(f"    {len(items)} {key}")
        for found in items if full else items[:_ITEMS]:
            page.paragraph(item_words(found), "      ", "- ")
        if not full and len(items) > _ITEMS:
            page.line(tr("      … and {number} more (--full)").format(number=len(items) - _ITEMS))


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
        words = tr("Page {number}{label} ({where})").format(number=sheet.number, label=label, where=where)
        inner = _branch(page, words, "", last=last)
        for chunk in sheet.chunks:
            _chunk(page, chunk, inner, last=chunk is sheet.chunks[-1])
    for chunk in tree.chunks:
        _chunk(page, chunk, "", last=chunk is tree.chunks[-1])
    return page.text()


def render_fact_sources(found: Sequence[FactSource], *, width: int = 80, colour: bool = False) -> str:
    """What supports facts: for each fact every place, with its quote."""
    page = Lines(width, colour)
    shown: Fact | None = None
    proved: Fact | None = None
    for item in found:
        if item.inferred != proved and item.inferred:
            proved = item.inferred
            write_inferences(page, item.inferences, "")
        if item.fact != shown:
            shown = item.fact
            quotes = [each.source.quote for each in found if each.fact == shown and each.source.quote]
            page.paragraph(fact_words(as_written(shown, quotes)), "")
            if item.removed:
                page.paragraph(f"{item.removed}", "  ", tr("Does not hold: "))
        where = place_words(item.source)
        if item.confidence is not None:
            where += " · " + tr("confidence {confidence:.2f}").format(confidence=item.confidence)
        page.paragraph(where, "  ", tr("Source: "))
        if item.source.quote:
            page.paragraph(f"“{item.source.quote}”", "    ")
    return page.text()


def render_premises(found: Sequence[Premise], *, width: int = 80, colour: bool = False) -> str:
    """The premises of a contradiction: each with its proof if it was inferred, and its sources."""
    page = Lines(width, colour)
    for one in found:
        page.paragraph(fact_words(one.fact), "  ", f"{one.held.capitalize()}: ")
        write_inferences(page, one.inferences, "    ")
        for item in one.sources:
            page.paragraph(place_words(item.source), "    ", tr("Source: "))
            if item.source.quote:
                page.paragraph(f"“{item.source.quote}”", "      ")
    return page.text()


def _chunk(page: Lines, chunk: ChunkNode, lead: str, *, last: bool) -> None:
    notes = [_span(chunk.char_offset, chunk.char_length)]
    if len(chunk.pages) > 1:
        notes.append(tr("also on page {pages}").format(pages=", ".join(map(str, chunk.pages[1:]))))
    if chunk.retired:
        notes.append(tr(STATES["retired"]))
    cut = "…" if len(chunk.text) < chunk.char_length else ""
    inner = _branch(
        page, f"{own_label(chunk.label)}{bracketed('; '.join(notes))} “{chunk.text}{cut}”", lead, last=last
    )
    for fact in chunk.facts:
        _branch(page, fact_words(fact), inner, last=fact is chunk.facts[-1])


def _branch(page: Lines, text: str, lead: str, *, last: bool) -> str:
    """Write a node of a tree; what its own branches begin with."""
    inner = lead + ("    " if last else "│   ")
    page.paragraph(text, lead + ("└── " if last else "├── "), hang=inner)
    return inner


def _span(offset: int, length: int) -> str:
    return tr("characters {start}–{end}").format(start=offset, end=offset + length)


__all__ = [
    "one_line",
    "printable",
    "render_fact_sources",
    "render_message",
    "render_premises",
    "render_session",
    "render_step",
    "render_trace",
    "render_tree",
]


STATES = {
    "retired": later("retired: the document was edited"),
    "forgotten": later("the source was forgotten"),
}


def fact_words(fact: Fact | None) -> str:
    """`(subject, predicate, object)`."""
    return f"({fact.s_label}, {fact.p_label}, {fact.o_words})" if fact else tr(ERASED)


def place_words(source: Source) -> str:
    """`Chunk 1 → Page 2 → Title (characters 10–25)`."""
    if source.state == "forgotten":
        return (source.chunk or source.document) + bracketed(tr(STATES["forgotten"]))
    page = f"Page {source.page_number}" if source.page_number is not None else ""
    label = f" “{source.page_label}”" if page and source.page_label not in (None, "", page) else ""
    parts = (own_label(source.chunk_label), own_label(page) + label, source.name)
    path = " → ".join(part for part in parts if part)
    notes = [tr("a fact, not a quotation")] if source.chunk is None else []
    if source.char_offset is not None and source.char_length is not None:
        notes.append(_span(source.char_offset, source.char_length))
    if source.quote and not source.verified:
        notes.append(tr("quote not found in the text"))
    if source.authority is not None:
        notes.append(tr("authority {authority:g}").format(authority=source.authority))
    if source.state != "current":
        notes.append(tr(STATES[source.state]))
    return path + bracketed("; ".join(notes)) if notes else path


def score_words(scored: Any) -> str:
    """A score and its parts."""
    parts = [
        (tr("words"), scored.lexical),
        (tr("meaning"), scored.vector),
        (tr("graph"), scored.graph),
        (tr("authority"), scored.authority),
    ]
    shown = listed(f"{name} {number_words(value)}" for name, value in parts if value is not None)
    return number_words(scored.score) + bracketed(shown) if shown else number_words(scored.score)


def number_words(value: float | None) -> str:
    """A number with three decimals."""
    return tr("unknown") if value is None else f"{value:.3f}"


def token_words(in_tokens: int | None, out_tokens: int | None) -> str:
    """Tokens read and written; empty when both are unknown."""
    if in_tokens is None and out_tokens is None:
        return ""
    known = ["?" if count is None else str(count) for count in (in_tokens, out_tokens)]
    return tr("tokens {read} in, {written} out").format(read=known[0], written=known[1])


def item_words(found: Any) -> str:
    """An item of any kind in one line: what it is JSON of."""
    shown = to_json(found)
    if not isinstance(shown, Mapping):
        return str(shown)
    values = shown.get("values")  # of a kind that nobody declared
    values = values if isinstance(values, Mapping) else shown
    told = [f"{key} {value}" for key, value in values.items() if value not in (None, "", []) and key != "iri"]
    return ", ".join(told) or str(values.get("iri"))


def write_sentences(page: Lines, selections: Iterable[Selected]) -> None:
    """Selected sentences, each with its reason, score and sources."""
    for selection in selections:
        quote = next((source.quote for source in selection.sources if source.quote), "")
        named = selection.sentence.value if selection.sentence else ""
        page.paragraph(f"“{quote}”" if quote else named, "      ", tr("Sentence: "))
        write_why(page, selection)


def write_why(page: Lines, selection: Selected) -> None:
    """Why something was selected, and where it stands."""
    if selection.removed:
        page.paragraph(f"{selection.removed}", "        ", tr("Holds no more: "))
    write_inferences(page, selection.inferences, "        ")
    for fact in selection.also_facts:
        page.paragraph(fact_words(fact), "        ", tr("The same fact: "))
    if selection.description:
        page.paragraph(selection.description, "        ", tr("Description: "))
    if selection.reasoning:
        page.paragraph(selection.reasoning, "        ", tr("Reason: "))
    if selection.concept:
        page.paragraph(selection.concept, "        ", tr("Concept: "))
    told = [score_words(selection)]
    if selection.hop is not None:
        told.append(tr("hop {number}").format(number=selection.hop))
    if selection.closest:
        told.append(tr("closest"))
    elif selection.marker is not None:
        told.append(tr("cited as {marker}").format(marker=selection.label))
    page.paragraph(" · ".join(told), "        ", tr("Score: "))
    for source in selection.sources:
        page.paragraph(place_words(source), "        ", tr("Source: "))
        if selection.chunk is None and source.quote:
            page.paragraph(f"“{source.quote}”", "          ")


def write_inferences(page: Lines, inferences: Sequence[Inference], indent: str) -> None:
    """The steps of a proof: the rule, what it infers, and from which premises."""
    for one in inferences:
        page.paragraph(
            tr("{fact} by {rule}, from").format(fact=fact_words(one.fact), rule=one.rule),
            indent,
            tr("Inferred: "),
        )
        for premise in one.premise_facts:
            page.paragraph(fact_words(premise), f"{indent}  ")


def write_call(page: Lines, call: Call) -> None:
    """A query or model call."""
    facts = [
        call.template or call.purpose or (call.endpoint.value if call.endpoint else ""),
        call.model or "",
        "" if call.rows is None else tr("{rows} row(s)").format(rows=call.rows),
        token_words(call.in_tokens, call.out_tokens),
        "" if call.ms is None else f"{call.ms} ms",
        tr("from cache") if call.cached else "",
    ]
    page.paragraph(
        " · ".join(fact for fact in facts if fact),
        "    ",
        tr("Call {kind}: ").format(kind=call.kind),
        dim=True,
    )
    for name in ("sparql", "prompt", "completion"):
        if kept := getattr(call, name):
            page.line(f"      {name}: {kept.value}")
