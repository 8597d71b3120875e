"""What differs between two traces: how the same question came to another answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from graphrag_rdf.trace.items import Selected
from graphrag_rdf.trace.model import Trace


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that two traces do not have in common.

    Attributes:
        what: question, pipeline, model, parameter, entity, concept, seed, selection, outcome, answer or
            warning.
        name: of a parameter: `step.parameter`; of a pipeline whose files are not the same: `files`; of
            entities that were wanted or not: `include`, `exclude`; else empty.
        before, after: what the first and the second trace have; None where it has nothing of the kind.
    """

    what: str
    name: str
    before: str | None
    after: str | None


def differences(first: Trace, second: Trace) -> list[Difference]:
    """What differs, from the question down to the answer; empty when they came to the same in the same way.

    Times and IRIs do not count.
    """
    found: list[Difference] = []
    for what in ("question", "kind", "model", "outcome", "answer"):
        before, after = getattr(first, what), getattr(second, what)
        if before != after:
            found.append(Difference("pipeline" if what == "kind" else what, "", _text(before), _text(after)))
    hashes = first.pipeline_hash, second.pipeline_hash
    if first.kind == second.kind and None not in hashes and hashes[0] != hashes[1]:
        found.append(Difference("pipeline", "files", *hashes))
    for name in ("include", "exclude"):
        named = _only("entity", getattr(first, name), getattr(second, name))
        found += [replace(one, name=name) for one in named]
    old, new = _flat(first.parameters), _flat(second.parameters)
    found += [
        Difference("parameter", name, _text(old.get(name)), _text(new.get(name)))
        for name in sorted(old | new)
        if old.get(name) != new.get(name)
    ]
    found += _only("concept", _concepts(first), _concepts(second))
    found += _only("seed", _seeds(first), _seeds(second))
    found += _only("selection", map(_told, first.selections), map(_told, second.selections))
    warnings = ([f"{w.type}: {w.detail}" for w in trace.warnings] for trace in (first, second))
    found += _only("warning", *warnings)
    return sorted(found, key=lambda difference: _ORDER.index(difference.what))


FOUND = frozenset({"concept", "seed", "selection", "outcome", "answer", "warning"})
"""What a run finds and answers; all else is what it was asked with."""

_ORDER = (
    *("question", "pipeline", "model", "parameter", "entity", "concept", "seed", "selection"),
    *("outcome", "answer", "warning"),
)


def _only(what: str, before: Iterable[str], after: Iterable[str]) -> list[Difference]:
    old, new = dict.fromkeys(before), dict.fromkeys(after)
    gone = [Difference(what, "", text, None) for text in old if text not in new]
    return gone + [Difference(what, "", None, text) for text in new if text not in old]


def _concepts(trace: Trace) -> list[str]:
    return [concept.text or "" for step in trace.steps for concept in step.items.get("concepts", ())]


def _seeds(trace: Trace) -> list[str]:
    return [seed.label for step in trace.steps for seed in step.items.get("seeds", ())]


def _told(selection: Selected) -> str:
    """A selected fact in words; a sentence by its quotation, or its IRI where the words were erased."""
    if selection.fact is not None and selection.chunk is None:
        return f"{selection.fact.s_label} {selection.fact.p_label} {selection.fact.o_label}"
    if selection.whole and selection.sources:
        return f"{selection.sources[0].chunk_label} of {selection.sources[0].name}"
    quote = next((source.quote for source in selection.sources if source.quote), None)
    named = selection.sentence or selection.chunk
    return f"“{quote}”" if quote else named.value if named else "(erased)"


def _flat(parameters: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for step, values in parameters.items():
        for name, value in values.items() if isinstance(values, Mapping) else [("", values)]:
            out[f"{step}.{name}".rstrip(".")] = value
    return out


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
