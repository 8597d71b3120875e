"""Relations between chunks: a model reads pairs of neighbours, and the others follow from the store.

The store is the journal: a pair is done when there is a call (an activity) of the same key that used the
two chunks. So the next run goes on where one was stopped, and a run that finds nothing to do writes nothing.
What an earlier key found stays until it is replaced. A pair whose call failed gets no relation: that the
second stands after the first is known from the document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

from pyoxigraph import NamedNode, Quad

from graphrag_rdf.errors import ConfigError
from graphrag_rdf.i18n import later, listed, ngettext, tr
from graphrag_rdf.ingest.model_stage import (
    Cost,
    ModelStage,
    Option,
    Plan,
    QuoteFinder,
    StageReport,
    Task,
    rejected_quads,
)
from graphrag_rdf.ingest.relations import (
    Built,
    build_relations,
    built,
    relation_counts,
    relation_names,
    relation_settings,
)
from graphrag_rdf.ingest.stages import Stage
from graphrag_rdf.llm.model import estimate_tokens
from graphrag_rdf.rdf import iris, model_calls, prov
from graphrag_rdf.rdf.model_calls import ModelCall
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.store.base import Changes, in_batches, updates_in_batches
from graphrag_rdf.wings.hybrid import relation_quads as build

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings
    from graphrag_rdf.wings.hybrid.relation_reader import PairAnswer, RelationReader

COMPONENT = "graphrag-rdf-relations"
PER_PAIR = 120
"""Tokens that models write for a pair of chunks, as a rule of thumb: a relation with two quotes."""
_NO_LLM = later(
    "no model is set: chunks are related by shared entities and by their order, not by their content"
)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two chunks, in the order of their document, with their texts."""

    first: NamedNode
    second: NamedNode
    document: NamedNode
    texts: tuple[str, str] = ("", "")

    @property
    def chunks(self) -> tuple[NamedNode, NamedNode]:
        """The two."""
        return self.first, self.second


class Relations(ModelStage["RelationReader", Pair, "PairAnswer"]):
    """Relate chunks to each other."""

    stage = Stage(
        "relations",
        "end",
        optional=True,
        needs=("names",),
        chooses="relations.use",
        settings=(
            *("relations.build", "relations.window", "relations.truncate", "relations.min_confidence"),
            "relations.hub_limit",
        ),
        refresh="relations",
    )
    command = ("refresh", "relations")
    help = """Relate chunks to each other, and entities that co-occur.

    A model, if one is set, reads pairs of neighbouring chunks and classifies their relation: causes,
    supports, contrasts, references, substep of, follows, part of. It reads each pair once, and a stopped run
    continues where it stopped. Without a model too, chunks are related that name the same entities or follow
    each other. Entities in more chunks than the setting relations.hub_limit do not relate them.

    The relations are stored in urn:graph:derived, and the evidence of the model in urn:graph:source. With the
    setting relations.build, each ingest that changes something runs this stage too.
    """
    examples = (
        "graphrag-rdf refresh relations",
        "graphrag-rdf refresh relations --model openai/gpt-4.1-mini --window 1 --truncate 2000",
        "graphrag-rdf refresh relations --source documents/report.md",
    )
    options = (
        Option(
            "relations.window", "The model reads each chunk with each of the next N chunks (default: 2).", "N"
        ),
        Option("relations.truncate", "Characters of each chunk that the model reads (default: 1000).", "N"),
        Option(
            "relations.min_confidence",
            "Leave out relations with a lower confidence of the model (default: 0.5).",
            "X",
        ),
        Option(
            "relations.min_count",
            "Number of sentences that name two entities, from which they co-occur (default: 2).",
            "N",
        ),
    )
    again_help = "Let the model read all pairs again."
    unit = "pairs"
    tasks = later("pairs of chunks")
    failed_at = "relations"
    warning = "relation_parse_fallback"
    budget_spent = later("the budget was used up before all pairs of chunks were read")
    unfinished = later("some pairs were not read: run the same command again to continue")
    read_with = ("relations/", later("pairs of chunks read"))
    retract = "relations/retract"
    unset: ClassVar[Mapping[str, int]] = {}

    @classmethod
    def is_wanted(cls, settings: Settings) -> bool:
        return settings.relations.build

    @classmethod
    def failed(cls, count: int, reason: str) -> str:
        return ngettext(
            "{count:,} pair of chunks is related by order only, because no answer of the model could be "
            "read: {reason}",
            "{count:,} pairs of chunks are related by order only, because no answer of the model could be "
            "read: {reason}",
            count,
        ).format(count=count, reason=reason)

    @classmethod
    def rows(cls, report: StageReport) -> Iterator[tuple[str, str]]:
        for name, number in report.results["relations"].items():
            yield name, f"{number:,}"

    @classmethod
    def result(cls, report: StageReport) -> Mapping[str, int]:
        return dict(report.results["relations"])

    @classmethod
    def row(cls, result: Any) -> tuple[str, str]:
        return tr("relations"), listed(f"{number:,} {name}" for name, number in result.items() if number)

    def choose(self) -> RelationReader | None:
        settings, model = self.settings.relations, self.settings.llm.model
        if settings.use == "llm" and model is None:
            raise ConfigError(
                tr("relations.use is llm, but no model is set"), hint=tr("name one with --model")
            )
        if settings.use == "structure" or model is None:
            return None
        from graphrag_rdf.ingest.extractors import prompt_folder
        from graphrag_rdf.wings.hybrid.relation_reader import RelationReader

        return RelationReader(
            prompt_folder(self.settings, "ingest", "relations.j2"),
            model=model,
            truncate=settings.truncate,
            min_confidence=settings.min_confidence,
        )

    def agent(self) -> Iterable[Quad]:
        from graphrag_rdf.wings.hybrid.relation_reader import RELATIONS_VERSION

        return prov.agent(COMPONENT, RELATIONS_VERSION)

    def known_failures(self) -> Mapping[NamedNode, str]:
        rows = self.store.select("relations/failures", chunks=[])
        return {row["failure"]: row["reason"] for row in rows}

    def begin(self) -> None:
        """Refuse to build a part of the other relations with other settings than the rest."""
        self.report.results["found"] = 0
        before = built(self.store)
        if self.documents and before is not None:
            before.require(relation_settings(self.settings))
        if self.chosen is None and self.settings.relations.use == "auto":
            self.report.warn("no_llm", tr(_NO_LLM))

    def plan(self) -> Plan[Pair]:
        keys: dict[NamedNode, str] = {}
        used: dict[NamedNode, set[NamedNode]] = {}
        agent = iris.agent(COMPONENT)
        for row in self.store.select("relations/journal", agent=agent, documents=self.documents):
            activity = row["activity"]
            keys[activity] = row["key"]
            used.setdefault(activity, set()).add(row["chunk"])
        calls: dict[frozenset[NamedNode], list[NamedNode]] = {}
        for activity, chunks in used.items():
            calls.setdefault(frozenset(chunks), []).append(activity)
        todo: dict[Pair, list[NamedNode]] = {}
        kept = 0
        for pair in self._pairs():
            before = sorted(calls.pop(frozenset(pair.chunks), []), key=str)
            is_done = any(keys[activity] == self.reader.key for activity in before)
            if is_done and not self.reads_again(pair.document):
                kept += 1
            else:
                todo[pair] = before
        self._pending = {iris.pair_failure(*pair.chunks) for pair in todo}
        gone = sorted((activity for former in calls.values() for activity in former), key=str)
        return Plan([self._tasks(todo)], len(todo), kept, gone)

    def _pairs(self) -> Iterator[Pair]:
        window = self.settings.relations.window
        rows = self.store.select("derived/chunks", documents=self.documents)
        for document, group in groupby(rows, key=lambda row: row["document"]):
            chunks = [row["chunk"] for row in group]
            for place, first in enumerate(chunks):
                for second in chunks[place + 1 : place + 1 + window]:
                    yield Pair(first, second, document)

    def _tasks(self, todo: Mapping[Pair, Sequence[NamedNode]]) -> Iterator[Task[Pair]]:
        """Pairs with the texts of their chunks, of which a few hundred at a time are in memory."""
        for batch in in_batches(list(todo)):
            chunks = sorted({chunk for pair in batch for chunk in pair.chunks}, key=str)
            rows = self.store.select("relations/passages", chunks=chunks)
            texts = {row["chunk"]: row["text"] for row in rows}
            for pair in batch:
                first, second, document = pair.first, pair.second, pair.document
                yield Task(
                    Pair(first, second, document, (texts[first], texts[second])),
                    pair.chunks,
                    iris.pair_failure(*pair.chunks),
                    {"document": document.value, "first": first.value, "second": second.value},
                    document.value,
                    todo[pair],
                    use_cache=not self.reads_again(document),
                )

    def prepare(self, plan: Plan[Pair]) -> None:
        """Remove the results of calls for former neighbours, and failures of such pairs."""
        changes = Changes(content=False)
        changes.updates += updates_in_batches("relations/retract", "activities", plan.gone)
        if not self.documents:
            past = sorted(self._failed.keys() - self._pending, key=str)
            changes.updates += updates_in_batches("relations/clear-failures", "failures", past)
        self.store.commit(changes)

    def ask(self, task: Task[Pair]) -> PairAnswer:
        return self.reader.read(*task.item.texts, self.engine.gateway, use_cache=task.use_cache)

    def quads(self, task: Task[Pair], answer: PairAnswer) -> Iterator[Quad]:
        completion, chunks, key = answer.completion, task.item.chunks, self.reader.key
        call = ModelCall(
            iris.pair_activity(*chunks, key),
            chunks,
            component=COMPONENT,
            key=key,
            started=task.started,
            model=self.reader.model,
            prompt_hash=completion.prompt_hash,
            in_tokens=completion.in_tokens,
            out_tokens=completion.out_tokens,
        )
        yield from model_calls.call(call)
        shown = map(self.reader.shown, task.item.texts)
        place = QuoteFinder(self.store, dict(zip(chunks, shown, strict=True)))
        for relation in answer.relations.values():
            yield from build.relation(
                call,
                relation_type(relation.type),
                forward=relation.forward,
                confidence=relation.confidence,
                quotes=[place.find(text) for text in relation.quotes],
            )
        yield from rejected_quads(call, answer.rejected, self.report.rejected)
        self.report.results["found"] += len(answer.relations)

    def end(self) -> None:
        """Build the relations that follow from the store, unless it is as it was."""
        structure, counts = relation_settings(self.settings), self.report.counts
        outdated = built(self.store) != Built(structure, self.store.content_commit())
        if counts.done or counts.removed or not self.lazily or outdated:
            build_relations(self.store, structure, self.documents)
        self.engine.indexer.update_graph()
        self.report.results["relations"] = relation_names(relation_counts(self.store))

    def cost(self, task: Task[Pair]) -> Cost:
        return self._cost(*task.item.texts)

    def cost_of_document(self, title: str, chunks: Sequence[tuple[str, bool]]) -> Cost:
        del title
        window = self.settings.relations.window if self.chosen is not None else 0
        return Cost.sum(
            self._cost(first, second)
            for place, (first, is_new) in enumerate(chunks)
            for second, is_new_too in chunks[place + 1 : place + 1 + window]
            if is_new or is_new_too
        )

    def _cost(self, first: str, second: str) -> Cost:
        prompt = self.reader.prompt(first, second)
        return Cost(1, estimate_tokens([{"role": "user", "content": prompt}]), PER_PAIR)


STAGE = Relations


def relation_type(name: str) -> NamedNode:
    """The property of a relation type: `substep_of` is `rag:substepOf`."""
    head, *words = name.split("_")
    return RAG[head + "".join(map(str.capitalize, words))]
