"""Post-processing of an answer: markers to sources, warnings, the answer as people script against it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.documents.sentences import split_sentences
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.labels import one_label
from graphrag_rdf.rdf.namespaces import RAG, RDF, TG
from graphrag_rdf.rdf.terms import Term, integer, local_name, text_of
from graphrag_rdf.steps.figures import Figure, figures, known_figures
from graphrag_rdf.steps.state import Context, Edge, Selection, SourceQuote, State
from graphrag_rdf.trace.documents import names_of
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.recorder import INLINE_LIMIT, Step
from graphrag_rdf.trace.reuse import KeptAnswer, keep_answer

_MARKER = re.compile(r"\[(S?\d{1,4}(?:\s*[,;]\s*S?\d{1,4})*)\]")  # [1], the seeds' [S1], and models' [1, 2]
_GENERAL = "[general knowledge]"


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence of the answer.

    Attributes:
        offset, length: in the answer's text, markers included.
        selections: what it cites, in order.
    """

    text: str
    offset: int
    length: int
    selections: tuple[Selection, ...]


def compose(state: State) -> list[CitedSentence]:
    """Resolve the markers of the answer, warn of what is wrong with them, and fill `state.final`."""
    by_marker = {selection.marker: selection for selection in state.selections if selection.marker}
    sentences: list[CitedSentence] = []
    invalid: list[str] = []
    for offset, length in _sentences(state.answer, state.language):
        text = state.answer[offset : offset + length]
        if _GENERAL in text:  # such a sentence rests on nothing of ours, whatever it claims to cite
            sentences.append(CitedSentence(text, offset, length, ()))
            continue
        numbers = [int(n) for marker in _MARKER.findall(text) for n in re.findall(r"\d+", marker)]
        invalid += [f"[{number}]" for number in numbers if number not in by_marker]
        cited = tuple(dict.fromkeys(number for number in numbers if number in by_marker))
        selections = tuple(by_marker[number] for number in cited)
        sentences.append(CitedSentence(text, offset, length, selections))
    if invalid:
        state.warn("invalid_citation", f"no statement has the number {', '.join(dict.fromkeys(invalid))}")
    _check_numbers(state, sentences)
    _fill(state, sentences)
    return sentences


def _sentences(answer: str, language: str | None) -> list[tuple[int, int]]:
    """(offset, length) of the answer's sentences; markers after a full stop belong to what stands before."""
    spans: list[tuple[int, int]] = []
    for sentence in split_sentences(answer, language):
        offset, end = sentence.offset, sentence.offset + sentence.length
        text = answer[offset:end]
        lead = re.match(r"(?:\[[^\]\n]{1,20}\]\s*)+", text)
        if lead and spans:
            before, _ = spans[-1]
            spans[-1] = (before, offset + len(lead[0].rstrip()) - before)
            offset += lead.end()
        if answer[offset:end].strip():
            spans.append((offset, end - offset))
    return spans


def _check_numbers(state: State, sentences: Sequence[CitedSentence]) -> None:
    for sentence in sentences:
        text = sentence.text
        claimed = figures(_MARKER.sub("", text), state.language)
        if not claimed or _GENERAL in text:
            continue
        if not sentence.selections:
            state.warn("unreferenced_numeric", f"cites nothing: {_listed(claimed)} in “{text[:120]}”")
            continue
        cited = [_cited_text(selection) for selection in sentence.selections]
        if not all(cited):  # a whole chunk, whose text is not at hand: nothing can be said
            continue
        known = known_figures("\n".join(cited))
        missing = [figure for figure in claimed if not known.supports(figure)]
        if missing:
            state.warn("unsupported_numeric", f"not in what is cited: {_listed(missing)} in “{text[:120]}”")


def _listed(claimed: Sequence[Figure]) -> str:
    return ", ".join(figure.text for figure in claimed)


def _cited_text(selection: Selection) -> str:
    parts = [source.quote for source in selection.sources]
    if selection.edge:
        parts.append(selection.edge.text)
    return " ".join(parts)


def _fill(state: State, sentences: Sequence[CitedSentence]) -> None:
    sources: dict[str, dict[str, Any]] = {}
    citations: list[dict[str, Any]] = []
    references: list[dict[str, str]] = []
    used: set[int] = set()
    for sentence in sentences:
        for selection in sentence.selections:
            used.add(id(selection))
            label = f"[{selection.marker}]"
            citations.append(_citation(state, selection, label, sentence.text))
            for source in selection.sources:
                text = _told(selection) if source.chunk is None else source.quote
                known = sources.setdefault(
                    source.chunk or f"{source.document} {text}",
                    {
                        "id": f"S{len(sources) + 1}",
                        "document": source.document,
                        "title": source.title,
                        "name": state.document_names.get(source.document, source.title),
                        "uri": source.uri,
                        "chunk": source.chunk,
                        "text": text,
                    },
                )
                reference = {"label": label, "source_id": str(known["id"])}
                if reference not in references:
                    references.append(reference)
    offered = [s for s in state.selections if s.marker]
    unused = [s for s in offered if id(s) not in used]
    if unused and used:
        named = ", ".join(f"[{s.marker}]" for s in unused[:20])
        state.warn("unused_sources", f"{len(unused)} of {len(offered)} statements are not cited: {named}")
    state.final = {
        "answer": state.answer,
        "answered": state.answered,
        "closest": [_source(state, source) for source in state.closest],
        "citations": citations,
        "sources": list(sources.values()),
        "references": references,
        "entities": _entities(state) if state.answered else [],
        "warnings": state.warnings,
        "suggestions": [],
    }


def _citation(state: State, selection: Selection, marker: str, sentence: str) -> dict[str, Any]:
    out: dict[str, Any] = {"marker": marker, "sentence": sentence, "score": round(selection.score, 6)}
    if selection.edge:
        out["edge"] = edge_json(selection.edge)
    else:
        out["chunk"] = selection.sources[0].chunk
    out["reasoning"] = selection.reasoning
    out["sources"] = [_source(state, source) for source in selection.sources]
    return out


def _source(state: State, source: SourceQuote) -> dict[str, Any]:
    return {**source.as_json(), "name": state.document_names.get(source.document, source.title)}


def _told(selection: Selection) -> str:
    """A fact that was read from no text, in words."""
    return selection.edge.text if selection.edge else ""


def edge_json(edge: Edge) -> dict[str, str]:
    """The keys of `citations[].edge`: terms in N-Triples' values and labels."""
    s, p, o = edge.triple
    return {
        "s": s.value,
        "p": p.value,
        "o": text_of(o),
        "s_label": edge.s_label,
        "p_label": edge.p_label,
        "o_label": edge.o_label,
    }


def _entities(state: State) -> list[dict[str, Any]]:
    """The entities of the selected facts and sentences, most frequent first."""
    counts: Counter[str] = Counter()
    names = {seed.entity.value: seed.label for seed in state.seeds}
    names |= state.entity_names
    for selection in state.selections:
        if selection.hit is not None:
            counts.update({entity.value for entity in selection.hit.entities})
        if selection.edge is None:
            continue
        s, _, o = selection.edge.triple
        for term, label in ((s, selection.edge.s_label), (o, selection.edge.o_label)):
            if isinstance(term, NamedNode):
                counts[term.value] += 1
                names[term.value] = label
    ranked = sorted(counts, key=lambda iri: (-counts[iri], iri))
    return [{"iri": iri, "name": names.get(iri, local_name(iri)), "freq": counts[iri]} for iri in ranked]


def name_entities(context: Context, state: State, step: Step) -> None:
    """Look up how the entities are called that only selected sentences mention."""
    called: set[Term] = {seed.entity for seed in state.seeds}
    called |= {term for s in state.selections if s.edge for term in (s.edge.triple[0], s.edge.triple[2])}
    mentioned = {entity for s in state.selections if s.hit for entity in s.hit.entities}
    unknown = sorted(mentioned - called, key=str)
    if unknown:
        run = context.store.run("retrieval/labels", things=unknown)
        context.recorder.queried(step, run)
        state.entity_names = {
            text_of(row["thing"]): text_of(row["label"]) for row in one_label(run.rows, state.language)
        }


def name_documents(context: Context, state: State, step: Step) -> None:
    """Look up which of the sources share their title with other documents, so that they are told apart."""
    documents = sorted({source.document for s in state.selections for source in s.sources})
    if documents:
        run = context.store.run("documents/named-alike", documents=[NamedNode(iri) for iri in documents])
        context.recorder.queried(step, run)
        state.document_names = names_of(run.rows)


def give_again(context: Context, state: State, kept: KeptAnswer) -> Iterator[GraphRagResponse]:
    """Give an answer that was given before; the step says which, and on which chunks it rests."""
    recorder = context.recorder
    state.final = kept.answer
    state.answer = str(kept.answer["answer"])
    state.answered = bool(kept.answer.get("answered", True))
    step = recorder.step("synthesis", TG.Synthesis, TG.Answer)
    recorder.say(step, RAG.mode, Literal("cached"))
    recorder.say(step, RAG.reusesAnswer, kept.step)
    recorder.say(step, TG.document, iris.answer_document(recorder.run))
    recorder.say(step, RAG.storedText, recorder.keep_text(state.answer))
    if len(state.answer) <= INLINE_LIMIT:
        recorder.say(step, TG.content, Literal(state.answer))
    for chunk in sorted({source["chunk"] for source in kept.answer["sources"] if source["chunk"]}):
        recorder.say(step, RAG.usedChunk, NamedNode(chunk))
    yield recorder.text_chunk(state.answer)
    yield recorder.finish(step)


def record_answer(context: Context, state: State, step: Step, sentences: Sequence[CitedSentence]) -> None:
    """Write the answer's text, its sentences with what each cites, and the warnings."""
    recorder = context.recorder
    recorder.say(step, RAG.storedText, recorder.keep_text(state.answer))
    if len(state.answer) <= INLINE_LIMIT:
        recorder.say(step, TG.content, Literal(state.answer))
    for index, sentence in enumerate(sentences):
        node = recorder.item(
            step,
            RAG.sentence,
            "sentence",
            index,
            (RDF.type, RAG.AnswerSentence),
            (RAG.index, integer(index)),
            (TG.charOffset, integer(sentence.offset)),
            (TG.charLength, integer(sentence.length)),
            (TG.content, Literal(sentence.text)),
        )
        for selection in sentence.selections:
            if selection.node is not None:
                step.quads.append(recorder.quad(node, RAG.cites, selection.node))
    for selection in state.selections:
        if selection.marker and selection.node is not None:
            step.quads.append(recorder.quad(selection.node, RAG.marker, integer(selection.marker)))
    for index, warning in enumerate(state.warnings):
        facts: list[tuple[NamedNode, Term | None]] = [
            (RDF.type, RAG.Warning),
            (RAG.warningType, Literal(warning["type"])),
            (RAG.detail, Literal(warning["detail"])),
            (RAG.index, integer(index)),
        ]
        recorder.item(step, RAG.warning, "warning", index, *facts)
    if context.reuse is not None:
        keep_answer(context.store, recorder, step, context.reuse, state.final)
