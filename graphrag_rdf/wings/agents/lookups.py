"""Look-ups in the graph for agents: what is known of an entity, and where a fact stands.

Both return text for a model, and number the facts in it, so that an answer can cite them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from pyoxigraph import NamedNode

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import RDF
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.steps.exploration import Edge
from graphrag_rdf.steps.labels import labels_of
from graphrag_rdf.steps.search import entities_meant, fact_of
from graphrag_rdf.steps.selection import cite
from graphrag_rdf.steps.sources import OF_FACTS, attach_sources
from graphrag_rdf.steps.state import Context, Selection, State, Triple
from graphrag_rdf.trace.documents import Source
from graphrag_rdf.trace.facts import facts_called, label_of, names_like
from graphrag_rdf.trace.recorder import Step

TEMPLATES = (
    "entities/list",
    "server/members",
    "server/entity-names",
    "server/entity-facts",
    "schema/relations-of",
    "retrieval/labels",
    *OF_FACTS,
)
"""The templates that look-ups run, besides those that find what a name means."""
_ENTITIES = 5
_RELATIONS = 25
_NAMES = 8
_EXAMPLES = 3  # facts of a relation
_READ = 500  # facts among which examples are looked for
_FACTS = 10
_PLACES = 8
_COUNTED = 1000  # entities whose name holds a text


def shortened(items: Sequence[str], most: int, joint: str = ", ", total: int | None = None) -> str:
    """A list, cut to its first items; the end says how many there are.

    Args:
        total: by default the number of items.
    """
    total = len(items) if total is None else total
    shown = items[:most]
    rest = [f"… ({len(shown)} of {total:,})"] if total > len(shown) else []
    return joint.join([*shown, *rest])


# --- entities -------------------------------------------------------------------------------------------


def look_up_entity(context: Context, state: State, step: Step, name: str) -> str:
    """The entities of a name: types, other names, and relations, with the number of facts of each.

    Args:
        name: a label or IRI; where nothing is called so, a part of names.

    Raises:
        UsageError: when no name has it in it.
    """
    entities, intro = _entities_called(context, state, step, name)
    told = [_told_entity(context, state, step, entity) for entity in entities[:_ENTITIES]]
    if len(entities) > _ENTITIES:
        more = " or more" if len(entities) == _COUNTED else ""
        told.append(f"… ({_ENTITIES} of {len(entities):,}{more} entities; give a longer name)")
    return "\n\n".join([*intro, *told])


def _entities_called(
    context: Context, state: State, step: Step, name: str
) -> tuple[list[NamedNode], list[str]]:
    try:
        found = entities_meant([name], context.store, context.text_index, state.language)
    except UsageError as nothing:
        rows = context.select(step, "entities/list", text=name, every=True, limit=_COUNTED)
        if not rows:
            near = names_like(context.store, name)
            hint = f"did you mean {' or '.join(near)}?" if near else None
            raise UsageError(nothing.message, hint=hint) from None
        about = f"Nothing is called {name!r}. Names that contain it:"
        return [row["entity"] for row in rows], [about]
    return list(dict.fromkeys(found)), []


@dataclass
class _Relation:
    """A relation of an entity: the number of its facts, and some of them."""

    predicate: NamedNode
    count: int
    facts: list[Triple]


def _told_entity(context: Context, state: State, step: Step, entity: NamedNode) -> str:
    rows = context.select(step, "server/members", entity=entity)
    members = [row["member"] for row in rows] or [entity]
    relations = _relations_of(context, step, members)
    shown = relations[:_RELATIONS]
    properties = context.select(step, "server/entity-names", members=members)
    types = [row["value"] for row in properties if row["property"] == RDF.type]
    labels = labels_of(
        context, step, state, [entity, *types, *chain(*(fact for one in shown for fact in one.facts))]
    )
    name = label_of(entity, labels)
    others = {text_of(row["value"]): None for row in properties if row["property"] != RDF.type}
    others.pop(name, None)
    cited = _cited(context, state, step, [fact for one in shown for fact in one.facts], labels)
    lines = [
        f"{name} <{entity.value}>",
        f"Types: {shortened([label_of(one, labels) for one in types], _NAMES) or 'none'}",
        *([f"Other names: {shortened(list(others), _NAMES)}"] if others else []),
        f"{sum(one.count for one in relations):,} fact(s), {len(relations):,} relation(s):",
    ]
    for one in shown:
        relation = label_of(one.predicate, labels)
        facts = shortened([cited[fact][0] for fact in one.facts], _EXAMPLES, "; ", one.count)
        lines.append(f"- {relation} ({one.count:,}): {facts}")
    if len(relations) > len(shown):
        lines.append(f"… ({len(shown)} of {len(relations):,} relations)")
    return "\n".join(lines)


def _relations_of(context: Context, step: Step, members: Sequence[NamedNode]) -> list[_Relation]:
    """The relations of what is one entity, those with most facts first."""
    found: dict[tuple[bool, NamedNode], _Relation] = {}
    for row in context.select(step, "schema/relations-of", entities=members):
        relation, out = row["relation"], row["direction"] == "out"
        if not (out and relation == RDF.type):
            known = found.setdefault((out, relation), _Relation(relation, 0, []))
            known.count += row["count"]
    for row in context.select(step, "server/entity-facts", members=members, limit=_READ, offset=0):
        relation_of = found.get((row["out"], row["p"]))
        if relation_of is not None and len(relation_of.facts) < _EXAMPLES:
            relation_of.facts.append(fact_of(row))
    return sorted(found.values(), key=lambda one: (-one.count, one.predicate.value))


# --- facts ----------------------------------------------------------------------------------------------


def source_of_fact(
    context: Context,
    state: State,
    step: Step,
    *,
    number: int | None,
    fact: tuple[str, str, str] | None,
) -> str:
    """Where a fact stands: documents, pages and quotes.

    Args:
        number: of something that the run can cite.
        fact: subject, relation and object, as labels or terms; counts where there is no number.

    Raises:
        UsageError: when nothing has the number, or there is no such fact.
    """
    if number is not None:
        held = [one for one in state.selections if one.marker == number]
        if not held:
            numbers = [str(one) for one in sorted(state.markers)]
            hint = f"numbers so far: {shortened(numbers, _COUNTED) or 'none'}"
            raise UsageError(tr("nothing has the number {number}").format(number=number), hint=hint)
        told = [_placed(f"{one.edge.text if one.edge else ''} [{number}]", one.sources) for one in held]
    else:
        assert fact is not None  # noqa: S101 - one of both is given
        facts: list[Triple] = list(facts_called(context.store, *fact))
        labels = labels_of(context, step, state, [term for one in facts[:_FACTS] for term in one])
        cited = _cited(context, state, step, facts[:_FACTS], labels)
        told = [_placed(*one) for one in cited.values()]
        if len(facts) > _FACTS:
            told.append(f"… ({_FACTS} of {len(facts):,} facts)")
    return "\n\n".join(told)


def _placed(words: str, sources: Sequence[Source]) -> str:
    places = [f"- {_place(source)}" for source in sources]
    return f"{words.strip()}\n{shortened(places, _PLACES, chr(10)) or '- no document states it'}"


def _place(source: Source) -> str:
    if source.chunk is None:
        return f"{source.title or source.uri} (not read from a text)"
    page = f", page {source.page_number}" if source.page_number is not None else ""
    state = "" if source.verified else " (the quote was not found in the document)"
    return f"{source.title}{page}: “{' '.join(source.quote.split())}”{state}"


def _cited(
    context: Context, state: State, step: Step, facts: Sequence[Triple], labels: Mapping[str, str]
) -> dict[Triple, tuple[str, tuple[Source, ...]]]:
    """Each fact in words, with the number to cite it by if it has a source, and its sources."""
    found: dict[Triple, Selection] = {}
    for fact in facts:
        s, p, o = (label_of(term, labels) for term in fact)
        edge = Edge(fact, s, p, o, hop=0, direction="out", origin=fact[0])
        found[fact] = Selection(score=1.0, edge=edge, shown=edge.text)
    attach_sources(context, state, step, list(found.values()))
    return {
        fact: (f"{one.shown} [{cite(state, one)}]" if one.sources else one.shown, one.sources)
        for fact, one in found.items()
    }
