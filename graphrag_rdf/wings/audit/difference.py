"""What differs between two traces: how the same question came to another answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from graphrag_rdf.i18n import tr
from graphrag_rdf.trace.kinds import WARNING
from graphrag_rdf.trace.model import Trace


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that two traces do not have in common.

    Attributes:
        what: question, pipeline, model, parameter, entity, outcome, answer, or a kind of item that the steps
            compare: concept, seed, selection, warning …
        name: of a parameter: `step.parameter`; of a pipeline whose files are not the same: `files`; of
            entities that were wanted or not: `include`, `exclude`; else empty.
        before, after: what the first and the second trace have; None where it has nothing of the kind.
        run: of runs that steps started, the question of the run; None of the traces themselves.
    """

    what: str
    name: str
    before: str | None
    after: str | None
    run: str | None = None


def differences(first: Trace, second: Trace) -> list[Difference]:
    """What differs, from the question down to the answer; empty when they came to the same in the same way.

    Times and IRIs do not count. Runs that steps started are compared if they were read with the traces.
    """
    listed = [*_asked(first, second), *_found(first, second)]
    listed.sort(key=lambda difference: difference.what == "warning")
    for old, new in _pairs(first.runs.values(), second.runs.values()):
        if old is None or new is None:
            before, after = (None if run is None else run.question for run in (old, new))
            listed.append(Difference("run", "", before, after, before or after))
        else:
            below = (difference for difference in differences(old, new) if difference.what not in ASKED)
            listed += [replace(difference, run=difference.run or old.question) for difference in below]
    return listed


def _pairs(first: Iterable[Trace], second: Iterable[Trace]) -> Iterator[tuple[Trace | None, Trace | None]]:
    """Runs with the same question, as some run at the same time; then the others in their order."""
    unmatched, remaining = [], list(second)
    for old in first:
        same = next((new for new in remaining if new.question == old.question), None)
        if same is None:
            unmatched.append(old)
        else:
            remaining.remove(same)
            yield old, same
    yield from zip_longest(unmatched, remaining)


ASKED = frozenset({"question", "pipeline", "model", "parameter", "entity"})
"""What a run is asked with; all else is what it finds and answers."""


def _asked(first: Trace, second: Trace) -> Iterator[Difference]:
    yield from _value("question", first.question, second.question)
    yield from _value("pipeline", first.kind, second.kind)
    hashes = first.pipeline_hash, second.pipeline_hash
    if first.kind == second.kind and None not in hashes:
        yield from _value("pipeline", *hashes, name="files")
    yield from _value("model", first.model, second.model)
    old, new = _flat(first.parameters), _flat(second.parameters)
    for name in sorted(old | new):
        yield from _value("parameter", old.get(name), new.get(name), name=name)
    for name in ("include", "exclude"):
        for difference in _only("entity", getattr(first, name), getattr(second, name)):
            yield replace(difference, name=name)


def _found(first: Trace, second: Trace) -> Iterator[Difference]:
    yield from _value("steps", _shape(first), _shape(second))
    before, after = _fields(first), _fields(second)
    for kind, name in dict.fromkeys((*before, *after)):
        for difference in _only(kind, before.get((kind, name), ()), after.get((kind, name), ())):
            yield replace(difference, name=name)
    old, new = _items(first), _items(second)
    for key in dict.fromkeys((*old, *new)):
        yield from _only(key.removesuffix("s"), old.get(key, ()), new.get(key, ()))
    for what in ("outcome", "answer"):
        yield from _value(what, getattr(first, what), getattr(second, what))


def _shape(trace: Trace) -> str:
    """The steps by their distance from the question, so that the order of concurrent ones does not count.

    A step tells which it derives from if these are several.
    """
    names: dict[str, tuple[int, str]] = {}
    steps: list[tuple[int, str, str]] = []
    for step in trace.steps:
        before = sorted(names[iri] for iri in step.derived_from if iri in names)
        place = 1 + max((place for place, _ in before), default=0)
        names[step.iri] = (place, step.kind)
        after = ", ".join(f"{at} {kind}" for at, kind in before) if len(before) > 1 else ""
        steps.append((place, step.kind, tr(" (after {steps})").format(steps=after) if after else ""))
    return " → ".join(f"{place} {kind}{after}" for place, kind, after in sorted(steps))


def _fields(trace: Trace) -> dict[tuple[str, str], list[str]]:
    """The values of steps that are compared, by the kind of the step and the name of the field."""
    named: dict[tuple[str, str], list[str]] = {}
    for step in trace.steps:
        for field in step.declared.fields:
            value = step.values.get(field.key)
            if field.compared and value is not None:
                values = value if isinstance(value, list) else [value]
                named.setdefault((step.kind, field.key), []).extend(map(str, values))
    return named


def _items(trace: Trace) -> dict[str, list[str]]:
    """What the kinds of items call those that are compared, by the key of the kind."""
    named: dict[str, list[str]] = {}
    for step in trace.steps:
        compared = {kind.key: kind.compared for kind in (*step.declared.items, WARNING) if kind.compared}
        for key, name in compared.items():
            named.setdefault(key, []).extend(map(name, step.items[key]))
    return named


def _value(what: str, before: Any, after: Any, name: str = "") -> Iterator[Difference]:
    if before != after:
        yield Difference(what, name, _text(before), _text(after))


def _only(what: str, before: Iterable[str], after: Iterable[str]) -> list[Difference]:
    old, new = dict.fromkeys(before), dict.fromkeys(after)
    gone = [Difference(what, "", text, None) for text in old if text not in new]
    return gone + [Difference(what, "", None, text) for text in new if text not in old]


def _flat(parameters: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for step, values in parameters.items():
        for name, value in values.items() if isinstance(values, Mapping) else [("", values)]:
            out[f"{step}.{name}".rstrip(".")] = value
    return out


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
