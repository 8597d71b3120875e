"""The inputs of a question: what the indexes found, and what its names mean.

An exploration writes them once, one quad a hit: `X rag:hit <<( chunk rag:bm25 0.83 )>>`. The templates
`retrieval/reached`, `retrieval/ranked` and `retrieval/evidence` read them with X as their argument, so
anybody can run them again. Where no trace is written, the templates get the same hits as rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from pyoxigraph import NamedNode, Triple

from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.rdf.terms import Term, double
from graphrag_rdf.steps.state import Context
from graphrag_rdf.trace.recorder import Step

Hit: TypeAlias = tuple[NamedNode, NamedNode, float]
"""A chunk, sentence or entity; the kind of the hit; its value."""


class Hits:
    """The hits of one exploration or look-up.

    Args:
        step: that it is a part of.
        node: of the step, or of a look-up in it; it has the hits.
    """

    def __init__(self, context: Context, step: Step, node: NamedNode) -> None:
        self._recorder = context.recorder
        self._step = step
        self.node = node
        self._rows: list[tuple[NamedNode, NamedNode, Term]] = []

    @property
    def given(self) -> dict[str, Any]:
        """The arguments of a template that reads the hits."""
        return {"exploration": self.node} | ({} if self._recorder.keeps_hits else {"hits": self._rows})

    def write(self, hits: Iterable[Hit] = (), statements: Iterable[tuple[NamedNode, Term]] = ()) -> None:
        """Write hits, and what else the exploration says of itself.

        Raises:
            StoreError: when the store refuses.
        """
        terms = [(thing, kind, double(value)) for thing, kind, value in hits]
        own = [(self.node, predicate, value) for predicate, value in statements]
        self._rows += [*terms, *own]
        if self._recorder.keeps_hits:
            quads = [self._recorder.quad(self.node, RAG.hit, Triple(*hit)) for hit in terms]
            self._recorder.write_now(
                self._step, quads + [self._recorder.quad(*statement) for statement in own]
            )
