"""Proofs of inferred triples: from each a way through rules and premises down to facts and axioms.

Nothing is stored about how a triple was inferred; the rules, with the triple as parameter, find premises. One
step of a proof may need another inferred triple, and rules run in circles (equivalent classes, inverse
relations). So the search goes depth-first and leaves out premises that it is about to prove. What follows at
all has a proof in which no triple is its own premise, so this misses none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, Triple

from graphrag_rdf.schema.reasoning import RULES, step
from graphrag_rdf.store.base import Store
from graphrag_rdf.store.embedded import EmbeddedStore

Statement: TypeAlias = tuple[NamedNode, NamedNode, NamedNode | Literal]

_DERIVATIONS = 20
"""Derivations by a rule that the search tries, after those from facts and axioms alone."""
_QUERIES = 2000
"""Queries after which the search for the proof of a triple gives up."""


@dataclass(frozen=True, slots=True)
class Inferred:
    """A step of a proof.

    Attributes:
        fact: what is inferred.
        rule: as in `RULES`.
        premises: facts, axioms, or facts of other steps.
    """

    fact: Statement
    rule: str
    premises: tuple[Statement, ...]


def prove(store: Store, facts: Iterable[Statement]) -> dict[Statement, tuple[Inferred, ...]]:
    """A proof of each of the facts that is inferred, and not asserted; its last step first.

    Derivations through classes without a name are left out.
    """
    search = _Search(store)
    wanted = list(dict.fromkeys(facts))
    search.look_up(wanted)
    found = {}
    for fact in wanted:
        search.queries = 0
        steps = search.proof(fact, frozenset()) if search.held[fact] == {"inferred"} else None
        if steps:
            found[fact] = tuple(steps.values())
    return found


class _Search:
    """The depth-first search; `held` says where each triple met so far is held."""

    def __init__(self, store: Store) -> None:
        self.held: dict[Statement, set[str]] = {}
        self.queries = 0
        self._store = store

    def look_up(self, facts: Iterable[Statement]) -> None:
        """Find out where facts are held: `fact`, `ontology`, `inferred`."""
        unknown = [fact for fact in facts if fact not in self.held]
        self.held.update({fact: set() for fact in unknown})
        for row in self._store.select("reasoning/where", edges=unknown) if unknown else ():
            self.held[row["s"], row["p"], row["o"]].add(row["held"])

    def proof(self, fact: Statement, path: frozenset[Statement]) -> dict[Statement, Inferred] | None:
        """The steps that prove a fact without those of the path; None if there are none."""
        path |= {fact}
        for inferred in self._derivations(fact):
            if not path.isdisjoint(inferred.premises):
                continue
            steps = {fact: inferred}
            for premise in inferred.premises:
                if self.held[premise] == {"inferred"} and premise not in steps:
                    below = self.proof(premise, path)
                    if below is None:
                        break
                    steps |= {known: step for known, step in below.items() if known not in steps}
            else:
                return steps
        return None

    def _derivations(self, fact: Statement) -> Iterator[Inferred]:
        """Derivations of a fact, first those whose premises but for the axiom are asserted."""
        for rule in RULES["rl"]:
            yield from self._derivation(rule, fact, asserted=True)
        left = list(RULES["rl"])
        for skip in range(_DERIVATIONS):
            for rule in [*left]:
                found = [*self._derivation(rule, fact, skip=skip)]
                yield from found
                if not found:
                    left.remove(rule)

    def _derivation(
        self, rule: str, fact: Statement, *, asserted: bool = False, skip: int = 0
    ) -> Iterator[Inferred]:
        if self.queries >= _QUERIES:
            return
        self.queries += 1
        parameters = {**step(rule, lost=asserted, check=asserted), "edges": [fact], "skip": skip}
        premises = self._store.construct("reasoning/rule", **parameters)
        named = [(each.subject, each.predicate, each.object) for each in premises]
        if named and not any(isinstance(term, BlankNode) for each in named for term in each):
            self.look_up(named)  # type: ignore[arg-type]
            yield Inferred(fact, rule, tuple(named))  # type: ignore[arg-type]


def where_held(store: Store, facts: Iterable[Statement]) -> Mapping[Statement, set[str]]:
    """Where facts are held: `fact`, `ontology`, `inferred`, or nowhere."""
    search = _Search(store)
    search.look_up(facts)
    return search.held


def follows(store: Store, inferred: Inferred) -> bool:
    """Whether a rule infers a fact from these premises, and nothing else."""
    if inferred.rule not in RULES["rl"]:
        return False
    alone = EmbeddedStore(store.templates)
    alone.write_quads(Quad(*premise, DefaultGraph()) for premise in inferred.premises)
    return Triple(*inferred.fact) in alone.construct("reasoning/rule", **step(inferred.rule))
