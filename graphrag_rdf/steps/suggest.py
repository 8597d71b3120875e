"""Questions to ask next: from a model, else from facts beside what the answer speaks of.

A fact is suggested that has an entity of the answer, or of the question where there is no answer, at one end,
and at the other end something that neither names. The question names the first and asks for the second. Only
things with proper names are asked about. In English the relation is read as a verb phrase ("was born in",
"founded", "belonged to"), a participle ("directed by"), or a role ("chairman of").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.errors import LlmError
from graphrag_rdf.extract.lexicon import base_language
from graphrag_rdf.i18n import tr
from graphrag_rdf.index.analyse import irregular_forms
from graphrag_rdf.rdf.namespaces import METADATA, RDF, SKOS
from graphrag_rdf.rdf.terms import one_label
from graphrag_rdf.steps.answer import SUGGESTION, Suggestion
from graphrag_rdf.steps.prompts import ask_model
from graphrag_rdf.steps.search import label_of
from graphrag_rdf.steps.state import Context, State, Triple
from graphrag_rdf.store.base import Store
from graphrag_rdf.trace.facts import label_of as label_of_term
from graphrag_rdf.trace.facts import read_labels
from graphrag_rdf.trace.recorder import Step

_AUXILIARIES = frozenset(
    (
        "is",
        "are",
        "was",
        "were",
        "has",
        "have",
        "had",
        "can",
        "could",
        "will",
        "would",
        "must",
        "may",
        "might",
    )
)
_HAVE = frozenset(["has", "have", "had"])
_POSITIONS = frozenset(
    ("born", "located", "situated", "based", "buried", "raised", "held", "die", "live", "settle")
)
"""Verbs that say where, before "in" and "at"."""
_RELATION = re.compile(r"[a-z]+(?:[ '-][a-z]+){0,4}\Z")
_PREPOSITION = re.compile(r" (?:on|in|at|from|since|until|by)\Z")
_ENDINGS = tuple(
    (re.compile(rf"(.*(?:{stem})){ending}"), base)
    for stem, ending, base in (
        ("^[dltv]", "ied", "ie"),
        ("[a-z]{2}", "ied", "y"),
        ("ee", "d", ""),
        ("cre", "ated", "ate"),
        ("[aeo]l(?<=[a-z]{5})|[bdgkmnprtv]", r"(?<=(.))\2ed", ""),
        ("ll|ss|ff|zz", "ed", ""),
        ("[nrlsxpc]t|[nrlw]d|[nrlcs]k|gn|long|focus|[lmr]p|[rlw]m|[rw]n|[sctpg]h|[wr]l|[wxy]", "ed", ""),
        ("(?:ea|ee|oo|oa|ai|oi)[tdlnrmkp]|ou[tdlnr]", "ed", ""),
        ("[a-z]{2}(?:en|er|on)|velop|[vd]is?it|hibit", "ed", ""),
        ("[cvuz]|[aiou]s|[nr]s|[iua]d|[iu]r|[iu]b|[bdfgkptz]l|[^aeo]at|ot|ut|am|um|[aiuo]k", "ed", "e"),
    )
)
"""Past forms and what ends their base forms; the first that fits."""


def ask_for_object(subject: str, relation: str, *, date: bool = False) -> str | None:
    """A question for the object of a fact.

    Args:
        subject: its name.
        relation: in lower case, as people read it.
        date: whether the object is a date.
    """
    if not _RELATION.match(relation):
        return None
    asked, end = ("When", _PREPOSITION.sub("", relation)) if date else ("What", relation)
    first, _, rest = end.partition(" ")
    if first in _AUXILIARIES:
        if not rest:
            return None if first in _HAVE else f"Who or what {first} {subject}?"
        return f"{_placed(asked, first, subject, rest)}?"
    if rest.startswith("by") and first.endswith("ed"):
        return f"Who or what was {subject} {end}?"
    if base := base_form(first):
        return f"{_placed(asked, 'did', subject, f'{base} {rest}'.strip())}?"
    if not _is_past(first):
        return None
    if date:
        return f"When was it that {subject} {end}?"
    return f"What is it that {subject} {end}?" if rest else f"What was {first} by {subject}?"


def _placed(asked: str, auxiliary: str, subject: str, rest: str) -> str:
    """A question for a thing, or for a place, as the verb has it."""
    if asked == "What" and rest.partition(" ")[0] in _POSITIONS and rest.endswith((" in", " at")):
        asked, rest = "Where", rest[:-3]
    return f"{asked} {auxiliary} {subject} {rest}"


def ask_for_subject(relation: str, object_: str) -> str | None:
    """A question for the subject of a fact; arguments as of `ask_for_object`."""
    if not _RELATION.match(relation):
        return None
    first, _, rest = relation.partition(" ")
    if first in _AUXILIARIES:
        return f"Who or what {relation} {object_}?" if rest else None
    if relation.endswith(" of") and not _is_past(first):
        return f"Who or what is the {relation} {object_}?"
    if rest == "by":
        return f"What was {relation} {object_}?" if first.endswith("ed") else None
    return f"Who or what {relation} {object_}?" if _is_past(first) else None


def base_form(past: str) -> str | None:
    """The base form of a past form; None where its spelling does not tell."""
    if past in irregular_forms()["en"]:
        return irregular_forms()["en"][past]
    for form, base in _ENDINGS:
        if found := form.fullmatch(past):
            return found[1] + base
    return None


def _is_past(word: str) -> bool:
    return (len(word) > 3 and word.endswith("ed")) or word in irregular_forms()["en"]


_AROUND = 5  # entities of the answer beside which facts are looked for
_EACH = 30  # facts of each, and direction
_TRIED = 3  # entities for each question; not all have proper names
_STATEMENTS = 30  # unused ones that a model sees
_LONGEST = 300  # characters of a question
_NAME = 80  # characters of a name in a question
_YEAR = re.compile(r"\d{4}\Z")
_DATES = ("#date", "#dateTime", "#gYear", "#gYearMonth")


_KNOWN: Mapping[str, tuple[str, str]] = {
    "en": ("What connects {one} with {other}?", "What else is known about {one}?"),
    "de": ("Was verbindet {one} mit {other}?", "Was ist noch über {one} bekannt?"),
    "nl": ("Wat verbindt {one} met {other}?", "Wat is er nog meer bekend over {one}?"),
    "zh": ("{one}和{other}有什么关系？", "关于{one}还知道什么？"),
}
"""By language: a question about two things, and about one."""
_SMALL = re.compile(
    r"(?:of|the|and|for|in|on|at|to|an?|del?|l[ae]|les|du|von|van|der|den|das|des|d[ia]|y|e|und)\Z"
)
"""Words of proper names that begin with a small letter."""
_WORDS = 6
"""Words of a name: what is longer is a heading."""
_NO_NAME = re.compile(r"(?:s?he|it|they|we|you|i|this|that|these|those|who|which|there)\Z", re.IGNORECASE)


def suggest(context: Context, state: State, step: Step, number: int) -> list[dict[str, str]]:
    """Questions to ask next, recorded with the step that answers; `suggestions` of the answer.

    Args:
        number: how many, at most.
    """
    facts = _Facts(context, state, step)
    found: list[Suggestion] = []
    if context.gateway is not None:
        found = _by_model(context, state, step, number, facts)
    found = found or facts.questions(number)
    context.recorder.items(step, SUGGESTION, found)
    return [{"question": one.question or "", "by": one.by} for one in found]


def questions_beside(context: Context, state: State, step: Step, number: int) -> list[Suggestion]:
    """Questions about facts beside what a run found, without a model; nothing is recorded but the queries."""
    return _Facts(context, state, step).questions(number)


def opening_questions(store: Store, number: int) -> list[str]:
    """Questions for documents of which nothing was asked: each about a fact of one of the main entities."""
    main = store.select("entities/list", text="", limit=number * _TRIED)
    questions = (_opening(store, row["entity"], row["name"]) for row in main if is_name(row["name"]))
    return [*islice(filter(None, questions), number)]


def _opening(store: Store, entity: NamedNode, name: str) -> str | None:
    """A question about a fact with a verb; "is" says too little to ask for."""
    facts = store.select("facts/list", texts=[], entities=[entity], limit=_EACH, offset=0)
    labels = read_labels(store, [fact["p"] for fact in facts])
    for fact in facts:
        relation = label_of_term(fact["p"], labels)
        if fact["s"] == entity and relation not in _AUXILIARIES:
            date = isinstance(fact["o"], Literal) and fact["o"].datatype.value.endswith(_DATES)
            if question := ask_for_object(name, relation, date=date):
                return question
    return None


def _by_model(context: Context, state: State, step: Step, number: int, facts: _Facts) -> list[Suggestion]:
    try:
        text = ask_model(
            context,
            step,
            "suggest",
            prompt="suggest",
            question=state.question,
            answer=state.answer,
            statements=facts.unused(_STATEMENTS),
            number=number,
        )
    except LlmError as error:
        state.warn(
            "suggestions_failed",
            tr("the model could not be asked what to ask next: {message}").format(message=error.message),
        )
        return []
    lines = (re.sub(r"^\s*(?:[-*•·]|\d{1,2}[.)])\s*", "", line).strip() for line in text.splitlines())
    asked = [line for line in lines if 0 < len(line) <= _LONGEST and line != state.question]
    if not asked:
        state.warn("suggestions_failed", tr("the model gave no questions to ask next"))
    return [Suggestion(line, "llm") for line in dict.fromkeys(asked)][:number]


class _Facts:
    """Facts beside what the answer speaks of, those of the entities that it speaks of most first."""

    def __init__(self, context: Context, state: State, step: Step) -> None:
        self._state = state
        self._said = f"{state.question}\n{state.answer}".lower()
        cited = (selection.edge for selection in state.selections if selection.marker)
        used = {edge.triple for edge in cited if edge}
        entities = _entities(state)
        rows = context.select(step, "retrieval/edges", entities=entities, limit=_EACH) if entities else []
        self._rank = {entity: place for place, entity in enumerate(entities)}
        facts: dict[Triple, NamedNode] = {}
        for row in rows:
            fact: Triple = (row["s"], row["p"], row["o"])
            if fact not in used and fact[1] not in (RDF.type, SKOS.definition):
                facts.setdefault(fact, row["from"])
        things = sorted({term for fact in facts for term in fact if isinstance(term, NamedNode)}, key=str)
        names = context.select(step, "retrieval/names", things=things) if things else []
        self._labels = {row["thing"].value: row["label"] for row in one_label(names, state.language)}
        self._facts = {fact: origin for fact, origin in facts.items() if self._is_new(fact)}

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
        """As questions, each asked once; those that ask for no relation come last."""
        found: dict[str, Suggestion] = {}
        for fact in self._ordered():
            question = self._question(fact)
            if question is not None and question.lower() not in self._said:
                found.setdefault(question, Suggestion(question, "graph", fact))
        about = {pattern.partition("{")[0] for _, pattern in _KNOWN.values()}
        last = [question for question in found if question.startswith(tuple(one for one in about if one))]
        return [found[question] for question in [*(q for q in found if q not in last), *last]][:number]

    def _question(self, fact: Triple) -> str | None:
        """A question that names one end of a fact and asks for the other; None if none fits."""
        s, p, o = fact
        language = base_language(self._state.language) or "en"
        one, relation, other = (self._label(term) for term in fact)
        from_subject = one.lower() in self._said or other.lower() not in self._said
        known, hidden = (s, o) if from_subject else (o, s)
        name, asked = self._label(known), self._label(hidden)
        if (
            not (isinstance(known, NamedNode) and is_name(name))
            or asked.lower() in self._said
            or p in METADATA
        ):
            return None
        if language == "en":
            date = isinstance(o, Literal) and (o.datatype.value.endswith(_DATES) or bool(_YEAR.match(other)))
            found = (
                ask_for_object(name, relation, date=date) if from_subject else ask_for_subject(relation, name)
            )
            if found:
                return found
        connected, about = _KNOWN.get(language, _KNOWN["en"])
        if language != "en" and isinstance(hidden, NamedNode) and is_name(asked):
            return connected.format(one=one, other=other)
        return about.format(one=name)


def is_name(label: str) -> bool:
    """Whether a label is a proper name, as far as its letters tell: no description, pronoun or heading."""
    words = re.findall(r"[^\s-]+", label)
    if not words or len(words) > _WORDS or _NO_NAME.match(label) or not any(c.isalpha() for c in label):
        return False
    if words[0].lower() in ("the", "a", "an"):
        words = words[1:]
    return (
        bool(words)
        and not words[0][0].islower()
        and not any(w[0].islower() and not _SMALL.match(w) for w in words)
    )


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
