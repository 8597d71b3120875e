"""Questions to ask next: from a model, else from facts beside what the answer speaks of.

A fact is suggested that touches an entity of the answer, or of the question where there is no answer, and
that the answer was not given with. It becomes a question by a form of words: one that names the relation,
where that reads as a verb, else one that fits any relation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pyoxigraph import Literal, NamedNode
from pyoxigraph import Triple as TripleTerm

from graphrag_rdf.errors import LlmError
from graphrag_rdf.extract.lexicon import base_language
from graphrag_rdf.index.irregular import IRREGULAR
from graphrag_rdf.rdf.labels import one_label
from graphrag_rdf.rdf.namespaces import RAG, RDF, SKOS, TG
from graphrag_rdf.rdf.terms import integer
from graphrag_rdf.steps.models import ask_model
from graphrag_rdf.steps.search import label_of, node_of
from graphrag_rdf.steps.state import Context, State, Triple
from graphrag_rdf.store.base import Row
from graphrag_rdf.trace.recorder import Step

_AROUND = 5  # entities of the answer beside which facts are looked for
_EACH = 30  # facts of each, and direction
_STATEMENTS = 30  # unused ones that a model sees
_LONGEST = 300  # characters of a question
_NAME = 80  # characters of a name in a question
_DATES = ("#date", "#dateTime", "#gYear", "#gYearMonth")


@dataclass(frozen=True, slots=True)
class Forms:
    """How a fact becomes a question; an empty form is not used.

    Attributes:
        connected: of two entities.
        known: of one.
        doer: asks for the subject, by relation and object.
        done: asks for the object, by subject and relation.
        when: asks for a date; the relation without its last preposition.
    """

    connected: str
    known: str
    doer: str = ""
    done: str = ""
    when: str = ""


_FORMS: Mapping[str, Forms] = {
    "en": Forms(
        "What connects {one} with {other}?",
        "What else is known about {one}?",
        "Who or what {relation} {other}?",
        "What is it that {one} {relation}?",
        "When was it that {one} {relation}?",
    ),
    "de": Forms("Was verbindet {one} mit {other}?", "Was ist noch über {one} bekannt?"),
    "nl": Forms("Wat verbindt {one} met {other}?", "Wat is er nog meer bekend over {one}?"),
}
_BARE = frozenset(("is", "was", "has", "had", "became"))
"""Verbs that say little by themselves."""
_AT_END = re.compile(r"\s+(?:on|in|at|from|since|until|by)$")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A question to ask next.

    Attributes:
        by: what made it: `llm` or `graph`.
        fact: of `graph`, the fact that it asks for.
    """

    question: str
    by: str
    fact: Triple | None = None

    def as_json(self) -> dict[str, str]:
        """The keys of `suggestions[]` of an answer."""
        return {"question": self.question, "by": self.by}


def suggest(context: Context, state: State, step: Step, number: int) -> list[dict[str, str]]:
    """Questions to ask next, recorded with the step that answers; `suggestions` of the answer.

    Args:
        number: how many, at most.
    """
    facts = _Facts(context, state, step)
    found: list[Suggestion] = []
    if context.gateway is not None and context.suggest_prompt is not None:
        found = _by_model(context, state, step, number, facts)
    found = found or facts.questions(number)
    for index, suggestion in enumerate(found):
        node = context.recorder.item(
            step,
            RAG.suggestion,
            "suggestion",
            index,
            (RDF.type, RAG.Suggestion),
            (RAG.index, integer(index)),
            (RAG.mode, Literal(suggestion.by)),
            (TG.content, Literal(suggestion.question)),
        )
        if suggestion.fact is not None:
            step.quads.append(context.recorder.quad(node, TG.edge, TripleTerm(*suggestion.fact)))
    return [suggestion.as_json() for suggestion in found]


def _by_model(context: Context, state: State, step: Step, number: int, facts: _Facts) -> list[Suggestion]:
    try:
        text = ask_model(
            context,
            step,
            "suggest",
            template=context.suggest_prompt,
            question=state.question,
            answer=state.answer,
            statements=facts.unused(_STATEMENTS),
            number=number,
        )
    except LlmError as error:
        state.warn("suggestions_failed", f"the model could not be asked what to ask next: {error.message}")
        return []
    lines = (re.sub(r"^\s*(?:[-*•·]|\d{1,2}[.)])\s*", "", line).strip() for line in text.splitlines())
    asked = [line for line in lines if 0 < len(line) <= _LONGEST and line != state.question]
    if not asked:
        state.warn("suggestions_failed", "the model gave no questions to ask next")
    return [Suggestion(line, "llm") for line in dict.fromkeys(asked)][:number]


class _Facts:
    """Facts beside what the answer speaks of, those of the entities that it speaks of most first."""

    def __init__(self, context: Context, state: State, step: Step) -> None:
        self._state = state
        self._said = f"{state.question}\n{state.answer}".lower()
        cited = (selection.edge for selection in state.selections if selection.marker)
        used = {edge.triple for edge in cited if edge}
        entities = _entities(state)
        rows = self._run(context, step, "retrieval/edges", entities=entities, limit=_EACH) if entities else []
        self._rank = {entity: place for place, entity in enumerate(entities)}
        facts: dict[Triple, NamedNode] = {}
        for row in rows:
            fact: Triple = (row["s"], row["p"], row["o"])  # type: ignore[assignment]
            if fact not in used and fact[1] not in (RDF.type, SKOS.definition):
                facts.setdefault(fact, node_of(row["from"]))
        things = sorted({term for fact in facts for term in fact if isinstance(term, NamedNode)}, key=str)
        names = self._run(context, step, "retrieval/names", things=things) if things else []
        self._labels = {
            node_of(row["thing"]).value: row.get("label") for row in one_label(names, state.language)
        }
        self._facts = {fact: origin for fact, origin in facts.items() if self._is_new(fact)}

    @staticmethod
    def _run(context: Context, step: Step, template: str, **values: object) -> list[Row]:
        run = context.store.run(template, **values)
        context.recorder.queried(step, run)
        return run.rows

    def _label(self, term: NamedNode | Literal) -> str:
        return label_of(self._labels.get(term.value) if isinstance(term, NamedNode) else None, term)

    def _is_new(self, fact: Triple) -> bool:
        """Whether question and answer do not name both of its ends already, and all of it can be named."""
        ends = [self._label(fact[0]), self._label(fact[2])]
        return not all(end.lower() in self._said for end in ends) and all(0 < len(e) <= _NAME for e in ends)

    def _ordered(self) -> list[Triple]:
        """One fact of each entity in turn, and first those of relations that are not yet among them."""
        queues: dict[NamedNode, list[Triple]] = {}
        for fact in sorted(self._facts, key=lambda f: (self._label(f[1]), self._label(f[2]), str(f))):
            queues.setdefault(self._facts[fact], []).append(fact)
        ordered: list[Triple] = []
        seen: set[NamedNode] = set()
        while queues:
            for origin in sorted(queues, key=lambda entity: self._rank[entity]):
                queue = queues[origin]
                fact = next((one for one in queue if one[1] not in seen), queue[0])
                queue.remove(fact)
                seen.add(fact[1])
                ordered.append(fact)
                if not queue:
                    del queues[origin]
        return ordered

    def unused(self, limit: int) -> list[str]:
        """Facts in words."""
        return [" ".join(self._label(term) for term in fact) for fact in self._ordered()[:limit]]

    def questions(self, number: int) -> list[Suggestion]:
        """As questions, each asked once."""
        found: dict[str, Suggestion] = {}
        for fact in self._ordered():
            question = self._question(fact)
            if question.lower() not in self._said and len(found) < number:
                found.setdefault(question, Suggestion(question, "graph", fact))
        return list(found.values())

    def _question(self, fact: Triple) -> str:
        s, p, o = fact
        forms = _FORMS.get(base_language(self._state.language) or "en", _FORMS["en"])
        words = {"one": self._label(s), "relation": self._label(p), "other": self._label(o)}
        verb = _begins_with_verb(words["relation"])
        if isinstance(o, Literal):
            if verb and forms.when and o.datatype.value.endswith(_DATES):
                return forms.when.format(**words | {"relation": _AT_END.sub("", words["relation"])})
            return forms.done.format(**words) if verb and forms.done else forms.known.format(**words)
        if verb and forms.doer and words["other"].lower() in self._said:
            return forms.doer.format(**words)
        if verb and forms.done and words["one"].lower() in self._said:
            return forms.done.format(**words)
        return forms.connected.format(**words)


def _entities(state: State) -> list[NamedNode]:
    """What the cited facts and sentences speak of, or else the question: the most frequent first."""
    counts: dict[NamedNode, int] = {}
    for selection in state.selections:
        if selection.marker:
            ends = selection.edge.ends if selection.edge else ()
            for entity in dict.fromkeys([*ends, *(selection.hit.entities if selection.hit else ())]):
                counts[entity] = counts.get(entity, 0) + 1
    ranked = sorted(counts, key=lambda entity: (-counts[entity], entity.value))
    seeds = [seed.entity for seed in state.seeds if seed.matched_by == "exact"]
    return list(dict.fromkeys([*ranked, *seeds]))[:_AROUND]


def _begins_with_verb(relation: str) -> bool:
    """Whether an English relation reads as what one thing does or did."""
    first, *rest = relation.lower().split(" ")
    if first in _BARE:
        return bool(rest)
    return (len(first) > 3 and first.endswith("ed")) or first in IRREGULAR["en"]
