"""A stage in one module, for `test_model_stage`: it keeps the first sentence of each chunk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.errors import LlmError
from graphrag_rdf.ingest.model_stage import Cost, ModelStage, Option, Plan, Task
from graphrag_rdf.ingest.stages import Stage
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import DCTERMS, PROV, Graphs
from graphrag_rdf.rdf.terms import node_of
from graphrag_rdf.store.derivations import Made


@dataclass(frozen=True)
class Reader:
    """Whom the stage would ask."""

    key: str = "openings/1"
    model: str | None = "toy"


class Openings(ModelStage[Reader, tuple[NamedNode, str], str]):
    """Keep the first sentence of each chunk."""

    stage = Stage("openings", "end", optional=True, needs=("names",), settings=("claims.description",))
    command = ("refresh", "openings")
    help = "Keep the first sentence of each chunk."
    options = (Option("relations.window", "A number.", "N"),)
    again_help = "Read all chunks again."
    unit = "openings"
    tasks = "openings"
    failed_at = "openings"
    warning = "opening_failed"
    budget_spent = unfinished = "stopped"
    made = Made(
        "opening", "openings", find="openings/made-from", drop="openings/drop", texts="openings/texts"
    )

    @classmethod
    def failed(cls, count: int, reason: str) -> str:
        """See `ModelStage`."""
        return f"{count} openings: {reason}"

    def choose(self) -> Reader:
        """See `ModelStage`."""
        return Reader()

    def agent(self) -> Iterable[Quad]:
        """See `ModelStage`."""
        return ()

    def known_failures(self) -> Mapping[NamedNode, str]:
        """See `ModelStage`."""
        rows = self.store.select("ingest/failures")
        return {row["failure"]: row["reason"] for row in rows}

    def plan(self) -> Plan[tuple[NamedNode, str]]:
        """See `ModelStage`."""
        kept = {node_of(row["opening"]) for row in self.store.select("openings/all")}
        chunks = [row["chunk"] for row in self.store.select("derived/chunks", documents=[])]
        todo = [chunk for chunk in chunks if _node(chunk) not in kept or self.again is True]
        return Plan([self._tasks(todo)], len(todo), len(chunks) - len(todo))

    def _tasks(self, chunks: Sequence[NamedNode]) -> Iterator[Task[tuple[NamedNode, str]]]:
        rows = self.store.select("relations/passages", chunks=chunks) if chunks else []
        texts = {row["chunk"]: row["text"] for row in rows}
        for chunk in chunks:
            failure = iris.failure(chunk, "openings")
            yield Task((chunk, texts[chunk]), (chunk,), failure, {"chunk": chunk.value}, chunk.value)

    def ask(self, task: Task[tuple[NamedNode, str]]) -> str:
        """See `ModelStage`."""
        opening = task.item[1].partition(".")[0]
        if "unreadable" in opening:
            raise LlmError("it cannot be read", kind="unparsable")
        return opening

    def replace(self, tasks: Sequence[Task[tuple[NamedNode, str]]], changes: object) -> None:
        """Nothing: an opening is what it was."""

    def quads(self, task: Task[tuple[NamedNode, str]], answer: str) -> Iterator[Quad]:
        """See `ModelStage`."""
        chunk, _ = task.item
        yield Quad(_node(chunk), DCTERMS.description, Literal(answer), Graphs.DERIVED)
        yield Quad(_node(chunk), PROV.wasDerivedFrom, chunk, Graphs.DERIVED)

    def cost(self, task: Task[tuple[NamedNode, str]]) -> Cost:
        """See `ModelStage`."""
        return Cost(1, 10, 5)

    def cost_of_document(self, title: str, chunks: Sequence[tuple[str, bool]]) -> Cost:
        """See `ModelStage`."""
        return Cost.sum(Cost(1, 10, 5) for _, is_new in chunks if is_new)


def _node(chunk: NamedNode) -> NamedNode:
    return NamedNode(f"urn:opening:{iris.digest(chunk.value)}")


STAGE = Openings
