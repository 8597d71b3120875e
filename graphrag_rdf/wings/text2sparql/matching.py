"""Questions matched with query templates by words: without a model, a template with values is the query.

The header of a template says how people ask for it (`asks`): "How many things did {subject} {relations}?"
In these places of a question stand names of entities, words of relations and types, numbers, and texts. The
order of the places must be the same. The words between them are compared, and rare ones count more. The same
comparison, without places, finds the examples that a model is shown.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from pyoxigraph import NamedNode

from graphrag_rdf.index.analyse import analyse, fold
from graphrag_rdf.rdf import iris
from graphrag_rdf.sparql import parameters
from graphrag_rdf.sparql.library import QueryTemplate
from graphrag_rdf.sparql.render import Renderer
from graphrag_rdf.steps.exploration import Seed

_WORD = re.compile(r"[^\W_]+(?:['’.&-][^\W_]+)*")
_PLACE = re.compile(r"\{(\w+)\}")
_QUOTED = re.compile(r"[“„«\"「『]([^”“»\"」』\n]+)[”“»\"」』]")
_YEAR = re.compile(r"\d{3,4}")
_ENOUGH = 0.4  # likeness of a question and an ask
_LABEL = 0.5  # of the words of a relation's label
_ROLES: Mapping[str, str] = {
    **dict.fromkeys(("entity", "entities", "subject", "object"), "entity"),
    **dict.fromkeys(("relation", "relations", "then"), "relation"),
    **dict.fromkeys(("type", "types"), "type"),
    **dict.fromkeys(("first", "last", "year"), "number"),
    **dict.fromkeys(("question", "text", "words"), "text"),
}
"""Name of a parameter → what of a question fills it."""
_DEFAULTS = ("int", "double", "bool")
"""Types of parameters that take their sample if no place of the ask fills them: limits and tolerances."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A query that answers questions of a kind.

    Attributes:
        name: of a template, or the IRI of a `sh:SPARQLExecutable` in the store.
        about: what it answers.
        asks: how people ask for it; without any, `about` counts.
        template: None for a query of the store, which has no parameters.
        query: the text of such a query.
    """

    name: str
    about: str
    asks: tuple[str, ...] = ()
    template: QueryTemplate | None = None
    query: str = ""

    @classmethod
    def of(cls, template: QueryTemplate) -> Recipe:
        """A template."""
        return cls(template.name, template.header.summary, template.header.asks, template)

    def render(self, renderer: Renderer, values: Mapping[str, Any] | None = None) -> str:
        """The query for these values, else for the samples of the header."""
        if self.template is None:
            return self.query
        return self.template.render(renderer, **(self.template.samples() if values is None else values))


@dataclass(frozen=True, slots=True)
class Mention:
    """What a part of a question may stand for.

    Attributes:
        start, end: numbers of its words.
        role: as in `_ROLES`.
        values: of a parameter, any of which may be meant.
    """

    start: int
    end: int
    role: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """A recipe that fits a question.

    Attributes:
        values: of its parameters.
        score: likeness, 0 to 1.
        ignored: words of the question that the query does not use.
    """

    recipe: Recipe
    values: Mapping[str, Any]
    score: float
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What the words of a question can stand for in a store.

    Attributes:
        seeds: entities that the question names.
        relations, types: IRI → label.
        merged: relation → all relations that are one with it.
    """

    seeds: Sequence[Seed] = ()
    relations: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    merged: Mapping[str, Sequence[str]] = field(default_factory=dict)


class Recipes:
    """Recipes, compared with questions.

    Args:
        recipes: in an order that settles ties.
        language: of the questions, BCP 47.
    """

    def __init__(self, recipes: Sequence[Recipe], language: str | None) -> None:
        self._language = language
        self._recipes = recipes
        self._asks = [
            (recipe_, _Ask(ask, language)) for recipe_ in recipes for ask in recipe_.asks or (recipe_.about,)
        ]
        self._count = len(recipes)
        self._spread: Counter[str] = Counter()  # word → recipes that are asked for with it
        for recipe in recipes:
            asks = (ask.words for own_recipe, ask in self._asks if own_recipe is recipe)
            self._spread.update(frozenset[str]().union(*asks))

    def matches(self, question: str, vocabulary: Vocabulary) -> list[Match]:
        """The recipes that fit, best first, each once. All places of an ask are filled."""
        words = _words(question, self._language)
        mentions = self._mentions(question, words, vocabulary, self._spread)
        by_name: dict[str, Match] = {}
        for read in (mentions, _with_texts(question, words, mentions, self._spread)):
            for match in self._fitting(words, read):
                if match.recipe.name not in by_name or by_name[match.recipe.name].score < match.score:
                    by_name[match.recipe.name] = match
        if not by_name:  # "founded" is a relation, although people ask where a fact is found
            mentions = self._mentions(question, words, vocabulary, asked=())
            by_name = {match.recipe.name: match for match in self._fitting(words, mentions)}
        return sorted(by_name.values(), key=lambda match: -match.score)

    def _fitting(self, words: Sequence[_Word], mentions: Sequence[Mention]) -> Iterator[Match]:
        """The asks with the same places as a question."""
        taken = {number for mention in mentions for number in range(mention.start, mention.end)}
        unmentioned = [word for number, word in enumerate(words) if number not in taken]
        roles = tuple(mention.role for mention in mentions)
        for recipe, ask in self._asks:
            if not _same_places(ask.roles, roles) or (values := _filled(recipe, ask, mentions)) is None:
                continue
            score = self._likeness({word.key for word in unmentioned}, ask.words)
            if score >= _ENOUGH:
                unused = [word.text for word in unmentioned if word.content and word.key not in ask.words]
                unused += [
                    str(mention.values[0])
                    for role, mention in zip(ask.roles, mentions, strict=True)
                    if role != mention.role
                ]
                yield Match(recipe, values, score, tuple(unused))

    def like(self, question: str, vocabulary: Vocabulary, most: int) -> list[Match]:
        """Examples: the recipes that fit a question, with values, then those that are asked for with most of
        its words, without.
        """
        by_name = {match.recipe.name: match for match in self.matches(question, vocabulary)}
        words = {word.key for word in _words(question, self._language)}
        scores: dict[str, float] = {}
        for recipe, ask in self._asks:
            score = self._likeness(words, ask.words)
            scores[recipe.name] = max(score, scores.get(recipe.name, 0.0))
        further = [
            Match(recipe, {}, scores[recipe.name]) for recipe in self._recipes if recipe.name not in by_name
        ]
        further.sort(key=lambda match: -match.score)
        return [*by_name.values(), *(match for match in further if match.score > 0)][:most]

    def _likeness(self, words: Collection[str], ask_words: Collection[str]) -> float:
        """The weight of the common words as a share of the weight of all."""
        common, every = set(words) & set(ask_words), set(words) | set(ask_words)
        return self._weight(common) / self._weight(every) if every else 1.0

    def _weight(self, words: Iterable[str]) -> float:
        """Inverse document frequencies, where the asks of a recipe are a document."""
        return math.fsum(
            math.log(1 + (self._count - self._spread[word] + 0.5) / (self._spread[word] + 0.5))
            for word in words
        )

    # --- what a question names -------------------------------------------------------------------

    def _mentions(
        self, question: str, words: Sequence[_Word], vocabulary: Vocabulary, asked: Collection[str]
    ) -> list[Mention]:
        """What the words stand for, in order: quoted texts, entities, numbers, types, then relations.

        Args:
            asked: words by which people ask for a query; they stand for no type and no relation.
        """
        chosen: list[Mention] = []
        free = set(range(len(words)))

        def take(mentions: Iterable[Mention]) -> None:
            for mention in mentions:
                span = set(range(mention.start, mention.end))
                if span and span <= free:
                    free.difference_update(span)
                    chosen.append(mention)

        take(_quoted(question, words))
        take(_entities(words, vocabulary.seeds))
        take(
            Mention(number, number + 1, "number", (int(word.text),))
            for number, word in enumerate(words)
            if _YEAR.fullmatch(word.text)
        )
        free -= {number for number, word in enumerate(words) if word.key in asked}
        take(_types(words, vocabulary.types, self._language))
        take(_relations(words, free, vocabulary, self._language))
        return sorted(chosen, key=lambda mention: mention.start)


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a question.

    Attributes:
        key: its base form, by which words are compared; a stop word is its own.
        content: whether it is more than a stop word.
        offset: in the question.
    """

    text: str
    key: str
    content: bool
    offset: int


class _Ask:
    """A way to ask: its places in order, and the words between them, also as written."""

    def __init__(self, text: str, language: str | None) -> None:
        self.places = tuple(_PLACE.findall(text))
        self.roles = tuple(_ROLES.get(place, place) for place in self.places)
        words = _words(_PLACE.sub(" ", text), language)
        self.words = frozenset(word.key for word in words)
        self.written = frozenset(word.text for word in words)


def _words(text: str, language: str | None) -> list[_Word]:
    words = []
    for match in _WORD.finditer(text):
        terms = analyse(match[0], language)
        words.append(_Word(match[0], " ".join(terms) or fold(match[0]), bool(terms), match.start()))
    return words


def _quoted(question: str, words: Sequence[_Word]) -> Iterator[Mention]:
    for match in _QUOTED.finditer(question):
        inside = [number for number, word in enumerate(words) if match.start() < word.offset < match.end()]
        if inside:
            yield Mention(inside[0], inside[-1] + 1, "text", (match[1],))


def _entities(words: Sequence[_Word], seeds: Sequence[Seed]) -> Iterator[Mention]:
    """The names in the question, longest first; entities of one name are all meant."""
    by_name: dict[str, list[Seed]] = {}
    for seed in seeds:
        by_name.setdefault(seed.matched_text, []).append(seed)
    folded = [fold(word.text) for word in words]
    for name in sorted(by_name, key=len, reverse=True):
        wanted = [fold(word) for word in _WORD.findall(name)]
        best = max(seed.score for seed in by_name[name])
        meant = tuple(seed.entity for seed in by_name[name] if seed.score == best)
        for start in range(len(folded) - len(wanted) + 1) if wanted else ():
            if [
                part.removesuffix("'s").removesuffix("’s") for part in folded[start : start + len(wanted)]
            ] == wanted:
                yield Mention(start, start + len(wanted), "entity", meant)


def _types(words: Sequence[_Word], types: Mapping[str, str], language: str | None) -> Iterator[Mention]:
    """The words that are the label of a type, in any of their forms."""
    for iri, label in types.items():
        terms = analyse(label, language)
        for start in range(len(words) - len(terms) + 1) if terms else ():
            if [word.key for word in words[start : start + len(terms)]] == terms:
                yield Mention(start, start + len(terms), "type", (NamedNode(iri),))


def _relations(
    words: Sequence[_Word], free: Collection[int], vocabulary: Vocabulary, language: str | None
) -> Iterator[Mention]:
    """Runs of words that labels of relations have, each with the relations whose labels have most of them.
    Relations that are one with these are meant, too.
    """
    terms = {iri: frozenset(analyse(label, language)) for iri, label in vocabulary.relations.items()}
    keys = frozenset(term for key in terms.values() for term in key)
    start = 0
    while start < len(words):
        end = start
        while end < len(words) and end in free and words[end].key in keys:
            end += 1
        run = {word.key for word in words[start:end]}
        shares = {
            iri: len(run & relation_words) / len(relation_words | run)
            for iri, relation_words in terms.items()
            if run & relation_words
        }
        best = max(shares.values(), default=0.0)
        if best >= _LABEL:
            meant = [iri for iri in shares if shares[iri] == best]
            every = dict.fromkeys(key for iri in meant for key in (iri, *vocabulary.merged.get(iri, ())))
            # relations to things first: a query with one relation asks about two things
            ordered = sorted(every, key=iris.is_value_relation)
            yield Mention(start, end, "relation", tuple(map(NamedNode, ordered)))
        start = max(end, start + 1)


def _with_texts(
    question: str, words: Sequence[_Word], mentions: Sequence[Mention], asked: Collection[str]
) -> list[Mention]:
    """The mentions, and as texts the runs of words that stand for nothing else."""
    taken = {number for mention in mentions for number in range(mention.start, mention.end)}
    unknown = [
        number
        for number, word in enumerate(words)
        if number not in taken and word.content and word.key not in asked
    ]
    extended = list(mentions)
    for _, pairs in groupby(enumerate(unknown), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in pairs]
        end = words[run[-1]].offset + len(words[run[-1]].text)
        extended.append(Mention(run[0], run[-1] + 1, "text", (question[words[run[0]].offset : end],)))
    return sorted(extended, key=lambda mention: mention.start)


def _same_places(asked: Sequence[str], roles: Sequence[str]) -> bool:
    """Whether the places of an ask are filled. A text may stand where a type does, and is not used."""
    return len(asked) == len(roles) and all(
        wanted == role or (wanted, role) == ("type", "text")
        for wanted, role in zip(asked, roles, strict=True)
    )


def _filled(recipe: Recipe, ask: _Ask, mentions: Sequence[Mention]) -> dict[str, Any] | None:
    """The values of a recipe's parameters; None if one has none."""
    if recipe.template is None:
        return {}
    values: dict[str, Any] = {}
    for place, role, mention in zip(ask.places, ask.roles, mentions, strict=True):
        if role != mention.role:
            continue
        many = recipe.template.params[place].type.endswith("[]")
        values[place] = [*values.get(place, ()), *mention.values] if many else mention.values[0]
    for name, parameter in recipe.template.params.items():
        if parameter.true_for:
            values[name] = not ask.written.isdisjoint(parameter.true_for)
        elif name not in values and not parameter.optional:
            if parameter.type not in _DEFAULTS:
                return None
            values[name] = parameters.parse(parameter.type, parameter.sample)
    return values
