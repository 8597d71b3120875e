"""Facts, sources, scores and selections in words, for `trace show`: what the parts of all steps share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.trace.items import Call, Fact, Selected, Source
from graphrag_rdf.trace.lines import Lines

STATES = {"retired": "retired: the document was edited", "forgotten": "the source was forgotten"}


def fact_words(fact: Fact | None) -> str:
    """`(subject, predicate, object)`."""
    return f"({fact.s_label}, {fact.p_label}, {fact.o_label})" if fact else "(erased)"


def place_words(source: Source) -> str:
    """`Chunk 1 → Page 2 → Title (characters 10–25)`."""
    if source.state == "forgotten":
        return f"{source.chunk or source.document} ({STATES['forgotten']})"
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
        notes.append(STATES[source.state])
    return f"{path} ({'; '.join(notes)})" if notes else path


def score_words(scored: Any) -> str:
    """A score and its parts."""
    parts = [("words", scored.lexical), ("meaning", scored.vector), ("graph", scored.graph)]
    shown = ", ".join(f"{name} {number_words(value)}" for name, value in parts if value is not None)
    return f"{number_words(scored.score)} ({shown})" if shown else number_words(scored.score)


def number_words(value: float | None) -> str:
    """A number with four decimals."""
    return "unknown" if value is None else f"{value:.4f}"


def token_words(in_tokens: int | None, out_tokens: int | None) -> str:
    """Tokens read and written; empty when both are unknown."""
    if in_tokens is None and out_tokens is None:
        return ""
    known = ["?" if count is None else str(count) for count in (in_tokens, out_tokens)]
    return f"tokens {known[0]} in, {known[1]} out"


def item_words(found: Any) -> str:
    """An item of any kind in one line: what it is JSON of."""
    shown = to_json(found)
    if not isinstance(shown, Mapping):
        return str(shown)
    values = shown.get("values", shown)
    return ", ".join(
        f"{key} {value}" for key, value in values.items() if value not in (None, "", []) and key != "iri"
    )


def write_sentences(page: Lines, selections: Iterable[Selected]) -> None:
    """Selected sentences, each with its reason, score and sources."""
    for selection in selections:
        quote = next((source.quote for source in selection.sources if source.quote), "")
        named = selection.sentence.value if selection.sentence else ""
        page.paragraph(f"“{quote}”" if quote else named, "      ", "Sentence: ")
        write_why(page, selection)


def write_why(page: Lines, selection: Selected) -> None:
    """Why something was selected, and where it stands."""
    if selection.removed:
        page.paragraph(f"{selection.removed}", "        ", "Holds no more: ")
    if selection.reasoning:
        page.paragraph(selection.reasoning, "        ", "Reason: ")
    if selection.concept:
        page.paragraph(selection.concept, "        ", "Concept: ")
    hop = f" · hop {selection.hop}" if selection.hop is not None else ""
    cited = f" · cited as [{selection.marker}]" if selection.marker is not None else ""
    cited = " · closest" if selection.closest else cited
    page.paragraph(f"{score_words(selection)}{hop}{cited}", "        ", "Score: ")
    for source in selection.sources:
        page.paragraph(place_words(source), "        ", "Source: ")
        if selection.chunk is None and source.quote:
            page.paragraph(f"“{source.quote}”", "          ")


def write_call(page: Lines, call: Call) -> None:
    """A query or model call."""
    facts = [
        call.template or call.purpose or "",
        call.model or "",
        "" if call.rows is None else f"{call.rows} row(s)",
        token_words(call.in_tokens, call.out_tokens),
        "" if call.ms is None else f"{call.ms} ms",
        "from cache" if call.cached else "",
    ]
    page.paragraph(" · ".join(fact for fact in facts if fact), "    ", f"Call {call.kind}: ", dim=True)
    for name in ("sparql", "prompt", "completion"):
        if kept := getattr(call, name):
            page.line(f"      {name}: {kept.value}")
