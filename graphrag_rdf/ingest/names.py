"""Names and IRIs: minting, the labels as they stand, and the election of labels.

Every name that a text uses for a thing is contained as its `rdfs:label` in the subgraph of the text; the
graph of facts asserts the most frequent one as label and the others as `skos:altLabel`. While a run goes
on, whoever comes first is the label. What has to be elected anew is marked in the same transaction that
made it so (`rag:unsettled`) and settled at the end of the run, or of the next one after a kill; so the
result depends neither on order nor on luck.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.extract.names import fold, slug
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import RAG, RDFS, SKOS, STORE_NODE, Graphs
from graphrag_rdf.rdf.terms import Term, node_of
from graphrag_rdf.store.base import Store

APOSTROPHES = re.compile("['’ʼ`´]")
NOT_WORD = re.compile(r"[\W_]+")
_REMEMBERED = 20_000  # things whose names are kept in memory: about 10 MB


def words(name: str) -> list[str]:
    """The words of a name, without punctuation; single letters that follow each other are one (U. S. A.)."""
    out: list[str] = []
    run = False
    for word in NOT_WORD.sub(" ", APOSTROPHES.sub("", fold(name).replace("&", " and "))).split():
        single = len(word) == 1 and word.isalpha()
        if single and run:
            out[-1] += word
        else:
            out.append(word)
        run = single
    return out


class Minter:
    """IRIs from names.

    Args:
        namespace: the base of entities, relations and types.
    """

    def __init__(self, namespace: str = iris.DEFAULT_NAMESPACE) -> None:
        self._namespace = namespace

    def entity(self, name: str) -> NamedNode:
        """The IRI of an entity. Raises ValueError for a name with nothing in it."""
        return _minted(iris.entity, name, self._namespace)

    def term(self, name: str) -> NamedNode:
        """The IRI of the label of lines in tables. Raises ValueError for a name with nothing in it."""
        return _minted(iris.term, name, self._namespace)

    def relation(self, name: str) -> NamedNode:
        """The IRI of a relation. Raises ValueError for a name with nothing in it."""
        return _minted(iris.relation, name, self._namespace)

    def type(self, name: str) -> NamedNode:
        """The IRI of a type. Raises ValueError for a name with nothing in it."""
        return _minted(iris.type_, name, self._namespace)


@lru_cache(maxsize=_REMEMBERED)  # a text repeats its names
def _minted(make: Callable[[str, str], NamedNode], name: str, namespace: str) -> NamedNode:
    return make(slug(name), namespace)


class KnownNames:
    """The names in the graph of facts, looked up in batches and remembered while they are few enough."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._names: dict[str, dict[str | None, bool]] = {}  # None: only a file gave it the name
        self._contested: dict[str, NamedNode] = {}
        self._marked: set[str] = set()

    def load(self, things: Iterable[NamedNode]) -> None:
        """Look up what is not known yet, in one query."""
        unknown = []
        for thing in things:
            if thing.value not in self._names:
                self._names[thing.value] = {}
                unknown.append(thing)
        if unknown:
            for row in self._store.select("labels/known", things=unknown):
                names, name = self._names[_iri(row["thing"])], as_literal(row["name"])
                if name.language or row["property"] == RAG.displayName:
                    names[None] = False
                else:
                    names[name.value] = names.get(name.value, False) or row["property"] == RDFS.label

    def is_new(self, thing: NamedNode) -> bool:
        """Whether the thing has no name yet."""
        return not self._names[thing.value]

    def add(self, thing: NamedNode, name: str, *, alias: bool = False) -> NamedNode | None:
        """Note a name; the property to assert it with, None if it is asserted already."""
        names = self._names[thing.value]
        labelled = any(names.values())
        if name in names:
            if not alias and not names[name]:
                self._contested[thing.value] = thing
            return None
        if not alias and labelled:
            self._contested[thing.value] = thing
        names[name] = not alias and not labelled
        return RDFS.label if names[name] else SKOS.altLabel

    def contest(self, thing: NamedNode) -> None:
        """Have a thing settled at the end of the run in any case."""
        self._contested[thing.value] = thing

    def take_contested(self) -> list[NamedNode]:
        """Things with a new name that may become the label, each once in a run; to be marked `unsettled`.

        Call it when a transaction is complete: the remembered names are then also limited.
        """
        found = [thing for iri, thing in self._contested.items() if iri not in self._marked]
        self._marked.update(thing.value for thing in found)
        self._contested.clear()
        if len(self._names) > _REMEMBERED:
            self._names.clear()
        return found


def unsettled(things: Iterable[NamedNode]) -> Iterator[Quad]:
    """The marks of things whose names have to be settled."""
    for thing in things:
        yield Quad(STORE_NODE, RAG.unsettled, thing, Graphs.SYSTEM)


def as_literal(term: Term) -> Literal:
    """A term that is a literal by the data model."""
    assert isinstance(term, Literal)  # noqa: S101
    return term


def _iri(term: Term) -> str:
    return node_of(term).value
