"""What a store has: its relations, types, example queries, and the entities of a question with their facts.

A model that writes a query is shown it, and questions are matched with it.
"""

from __future__ import annotations

import difflib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pyoxigraph import NamedNode

from graphrag_rdf.llm.model import estimate_tokens
from graphrag_rdf.rdf.namespaces import PREFIXES, RDFS, XSD, Graphs, prefixed
from graphrag_rdf.rdf.terms import Term, local_name
from graphrag_rdf.sparql.tokens import tokens
from graphrag_rdf.steps.kept import keep
from graphrag_rdf.steps.labels import labels_of
from graphrag_rdf.steps.state import Context, Parameters, State
from graphrag_rdf.store.base import Row
from graphrag_rdf.trace.facts import label_of
from graphrag_rdf.trace.recorder import Step
from graphrag_rdf.wings.text2sparql.matching import Match, Recipe, Recipes, Vocabulary

TEMPLATES = (
    "schema/properties",
    "schema/classes",
    "schema/ends",
    "schema/relations-of",
    "predicates/merged",
    "schema/executables",
    "retrieval/labels",
)
"""What this module runs."""
ALL = 2000
"""Relations and types by whose labels questions are read."""
_PREFIXES = frozenset({"rdf", "rdfs", "skos", "xsd"})  # a model is always shown these
_SHOWN = 8  # relations of an entity in the prompt
_THING = "thing"
_PLAIN = {RDFS.Resource: _THING, XSD.string: "text"}
_KINDS = 2  # types of subjects, and of objects, of a relation in the prompt
_STORED = 200  # example queries that the store keeps
_HINTS = 5  # unknown terms that the model is told at once
_EXAMPLE = 300  # tokens of a query of the cookbook that can be an example
_NEAR = 0.15  # likeness of the question and such a query
_LIKE = 0.4  # likeness of the question and one that reads traces, versions or provenance
_WORDS = 60  # characters of an example value


def written(node: NamedNode) -> str:
    """An IRI as it can stand in a query."""
    return prefixed(node) or f"<{node.value}>"


def alike(
    unknown: Sequence[NamedNode], terms: Iterable[NamedNode], elsewhere: Callable[[NamedNode], str]
) -> str:
    """Unknown terms, the first few, with known ones that are spelt alike, or with what `elsewhere` says."""
    names = {local_name(node.value): node for node in terms}
    hints = []
    for node in unknown[:_HINTS]:
        close = difflib.get_close_matches(local_name(node.value), names, n=3, cutoff=0.5)
        listed = ", ".join(written(names[name]) for name in close)
        hints.append(written(node) + (elsewhere(node) or (f" (it knows {listed})" if listed else "")))
    return "; ".join(hints)


# --- for questions that are matched with queries --------------------------------------------------------


def vocabulary_of(context: Context, state: State, step: Step) -> Vocabulary:
    """What the words of the question can stand for."""
    relations = [row["property"] for row in _read(context, step, "schema/properties", graphs=[], limit=ALL)]
    relations += [row["relation"] for row in _near(context, state, step)]
    types = [row["class"] for row in _read(context, step, "schema/classes", graphs=[], limit=ALL)]
    labels = labels_of(context, step, state, [*relations, *types])
    return Vocabulary(
        state.seeds,
        {node.value: label_of(node, labels) for node in relations},
        {node.value: label_of(node, labels) for node in types},
        _Merged(context, step).groups,
    )


def recipes_of(context: Context, state: State, step: Step) -> Recipes:
    """The cookbook, the templates of the user's own folder, and the queries that the store keeps."""
    library = context.store.templates
    found = [Recipe.of(library[name]) for name in library.for_people]
    found += [
        Recipe(row["executable"], row["about"], query=row["query"])
        for row in context.select(step, "schema/executables", limit=_STORED)
    ]
    return Recipes(found, state.language)


# --- for a model ----------------------------------------------------------------------------------------


def shown_schema(context: Context, state: State, step: Step, parameters: Parameters) -> dict[str, Any]:
    """The values of the prompt: relations, types, entities of the question, examples, and prefixes of all."""
    merged = _Merged(context, step)
    counts: Counter[NamedNode] = Counter()
    for row in _read(context, step, "schema/properties", graphs=[], limit=ALL):
        counts[merged.one(row["property"])] += row["triples"]
    relations = counts.most_common(parameters["relations"])
    types = _read(context, step, "schema/classes", graphs=[], limit=ALL)[: parameters["types"]]
    shown = [member for relation, _ in relations for member in merged.members(relation)]
    ends = _read(context, step, "schema/ends", properties=shown) if shown else []
    near = _near(context, state, step)
    listed = [*shown, *(row["class"] for row in types)]
    examples = [row["example"] for row in (*near, *ends)]
    labels = labels_of(context, step, state, [*listed, *(row["type"] for row in ends), *examples])
    recipes = _examples(context, state, step, parameters)
    used = {written(node).partition(":")[0] for node in (*listed, *(row["relation"] for row in near))}
    used |= {token.text.partition(":")[0] for one in recipes for token in tokens(one["query"])}
    by_relation: defaultdict[NamedNode, list[Row]] = defaultdict(list)
    for row in ends:
        by_relation[merged.one(row["property"])].append(row)
    around: defaultdict[Term, dict[object, dict[str, str]]] = defaultdict(dict)
    for row in near:
        relation = merged.one(row["relation"])
        told = around[row["entity"]].setdefault((row["direction"], relation), _relation(row, labels))
        if told["iri"] == written(row["relation"]):
            told["iri"] = merged.path(relation)
        else:  # of relations that are one, the facts of all
            told["count"] = str(int(told["count"]) + row["count"])
    return {
        "prefixes": {name: iri for name, iri in PREFIXES.items() if name in used | _PREFIXES},
        "relations": [
            {"iri": merged.path(relation), "label": label_of(relation, labels), "count": str(count)}
            | _ends_of(by_relation[relation], labels)
            for relation, count in relations
        ],
        "types": [_counted(row["class"], row["entities"], labels) for row in types],
        "entities": [
            {
                "iri": written(seed.entity),
                "name": seed.label,
                "relations": list(around[seed.entity].values())[:_SHOWN],
                "more": len(around[seed.entity]) - min(_SHOWN, len(around[seed.entity])),
            }
            for seed in state.seeds
        ],
        "examples": recipes,
    }


class _Merged:
    """The relations that are one or inverse by decisions: in a query each stands for all."""

    def __init__(self, context: Context, step: Step) -> None:
        self._canonical: dict[NamedNode, NamedNode] = {}
        self._members: defaultdict[NamedNode, list[NamedNode]] = defaultdict(list)
        self._inverse: dict[NamedNode, NamedNode] = {}
        template, commit = "predicates/merged", context.store.knowledge_commit()
        for row in keep(context, step, template, commit, lambda: context.select(step, template)):
            relation, canonical = row["relation"], row["canonical"]
            self._canonical[relation] = canonical
            self._members[canonical].append(relation)
            if row["inverse"] is not None:
                self._inverse[canonical] = row["inverse"]

    @property
    def groups(self) -> dict[str, list[str]]:
        """Relation → all that are one with it."""
        return {
            relation.value: [member.value for member in self._members[canonical]]
            for relation, canonical in self._canonical.items()
        }

    def one(self, relation: NamedNode) -> NamedNode:
        """The relation that stands for this one."""
        return self._canonical.get(relation, relation)

    def members(self, canonical: NamedNode) -> list[NamedNode]:
        """The relations for which it stands, itself first."""
        return [canonical, *(one for one in self._members.get(canonical, ()) if one != canonical)]

    def path(self, canonical: NamedNode) -> str:
        """All of them and their inverses, as a path of one step."""
        back = self.members(self._inverse[canonical]) if canonical in self._inverse else []
        return "|".join([*map(written, self.members(canonical)), *(f"^{written(one)}" for one in back)])


def _near(context: Context, state: State, step: Step) -> list[Row]:
    entities = [seed.entity for seed in state.seeds]
    return context.select(step, "schema/relations-of", entities=entities) if entities else []


def _read(context: Context, step: Step, template: str, **values: Any) -> list[Row]:
    """The rows of a template that reads all facts. A process keeps them until the store's content changes."""
    depends_on = context.store.content_commit(), values
    return keep(context, step, template, depends_on, lambda: context.select(step, template, **values))


def _counted(node: NamedNode, count: int, labels: Mapping[str, str]) -> dict[str, str]:
    return {"iri": written(node), "label": label_of(node, labels), "count": str(count)}


def _ends_of(rows: Sequence[Row], labels: Mapping[str, str]) -> dict[str, str]:
    """Domain, range, and an object of a relation; the types that most facts have."""
    kinds: dict[str, dict[str, int]] = {"subject": {}, "object": {}}
    example = ""
    for row in rows:
        kind, end = row["type"], row["end"]
        example = example or (label_of(row["example"], labels) if end == "object" else "")
        name = _PLAIN.get(kind) or _type(kind, labels)
        kinds[end][name] = kinds[end].get(name, 0) + row["facts"]
    objects = kinds["object"]
    if sum(objects.values()) > 2 * objects.get(_THING, 0):  # those that have a type are things, too
        objects.pop(_THING, None)
    typed = {end: sorted(found, key=lambda kind: -found[kind]) for end, found in kinds.items()}
    return {
        "domain": " or ".join(typed["subject"][:_KINDS]),
        "range": " or ".join(typed["object"][:_KINDS]),
        "example": example[:_WORDS],
    }


def _type(kind: NamedNode, labels: Mapping[str, str]) -> str:
    name = prefixed(kind)
    return name if name is not None and name.startswith("xsd:") else label_of(kind, labels)


def _relation(row: Row, labels: Mapping[str, str]) -> dict[str, str]:
    return {
        "iri": written(row["relation"]),
        "direction": row["direction"],
        "count": str(row["count"]),
        "example": label_of(row["example"], labels)[:_WORDS],
    }


def _examples(context: Context, state: State, step: Step, parameters: Parameters) -> list[dict[str, str]]:
    """The example queries that are most like the question, as long as they fit."""
    recipes, vocabulary = recipes_of(context, state, step), vocabulary_of(context, state, step)
    left = parameters["example_tokens"]
    shown: list[dict[str, str]] = []
    for match in recipes.like(state.question, vocabulary, ALL):
        query = query_of(context, match)
        size = estimate_tokens([{"role": "user", "content": query}])
        if len(shown) < parameters["examples"] and size <= left and _serves(match, query, size):
            shown.append({"about": match.recipe.about, "query": query})
            left -= size
    return shown


def _serves(match: Match, query: str, size: int) -> bool:
    """Whether a query can be an example. Those of the cookbook only if they are short, and like the question:
    the more if they read other graphs than the facts.
    """
    if not match.recipe.name.startswith("cookbook/"):
        return True
    graphs = {token.text for token in tokens(query) if token.text.startswith("<urn:graph:")}
    wanted = _NEAR if graphs <= {str(Graphs.DERIVED)} else _LIKE
    return size <= _EXAMPLE and match.score >= wanted


def query_of(context: Context, match: Match) -> str:
    """The query of a recipe, without the prefixes that are added to every query."""
    query = match.recipe.render(context.store.renderer, match.values or None).strip()
    added = {f"PREFIX {prefix}: <{iri}>" for prefix, iri in PREFIXES.items()}
    return "\n".join(line for line in query.splitlines() if line not in added)
