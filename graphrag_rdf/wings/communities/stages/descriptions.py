"""Merged descriptions of entities and facts that texts describe more than once; see `ingest.descriptions`.

The texts stay as they are. The merged description derives from them and is made again only if they, the
model, the prompt or a setting change (`rag:inputHash`): the store is the journal.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyoxigraph import NamedNode, Quad

from graphrag_rdf.errors import ConfigError
from graphrag_rdf.i18n import later, ngettext, tr
from graphrag_rdf.ingest.model_stage import (
    Cost,
    ModelStage,
    Option,
    Plan,
    Task,
    activity_of,
)
from graphrag_rdf.ingest.stages import Stage
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf import summaries as build
from graphrag_rdf.store import records
from graphrag_rdf.store.base import Changes
from graphrag_rdf.store.derivations import Made
from graphrag_rdf.wings.communities.build import REPORTS
from graphrag_rdf.wings.communities.settings import SummarySection

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings
    from graphrag_rdf.ingest.descriptions import Described, Text
    from graphrag_rdf.wings.communities.extract.descriptions import Summary, SummaryWriter

SUMMARIES = Made(
    "summary",
    "summaries",
    find="summaries/made-from",
    drop="summaries/drop",
    texts="summaries/texts",
)
"""Merged descriptions."""


@dataclass(frozen=True, slots=True)
class Merging:
    """An element whose descriptions are to be merged.

    Attributes:
        node: the merged description.
        texts: those of its texts that are read.
        hash: of everything that the merged description depends on.
    """

    node: NamedNode
    described: Described
    texts: Sequence[Text]
    hash: str


class Summaries(ModelStage["SummaryWriter", Merging, "Summary"]):
    """Merge the descriptions of what several texts describe."""

    stage = Stage(
        "summaries",
        "end",
        optional=True,
        needs=("names",),
        chooses="summaries.use",
        settings=(
            *("summaries.build", "summaries.sentences", "summaries.max_texts"),
            *("summaries.input_tokens", "summaries.max_words"),
        ),
        refresh="summaries",
    )
    command = ("refresh", "summaries")
    help = """Merge the descriptions of entities and facts that several texts describe.

    An entity is described by what texts say that it is, or by the sentences that name it; a fact by its
    quotes. A model, if one is set, merges them into one description. Without a model, the most central texts
    are quoted. Descriptions are merged again only if what they are made from changed.

    They are stored in urn:graph:derived, and the texts that they are made from stay. With the setting
    summaries.build, each ingest runs this stage too. To show one: entities show NAME
    """
    examples = (
        "graphrag-rdf refresh summaries --model openai/gpt-4.1-mini",
        "graphrag-rdf refresh summaries --use extractive",
        "graphrag-rdf refresh summaries --dry-run",
    )
    options = (
        Option(
            "summaries.use",
            "auto: by a model, if one is set; extractive: the most central texts (default: auto).",
        ),
    )
    of_documents = False
    again_help = "Merge all descriptions again, without the cache."
    unit = "summaries"
    done = "written"
    tasks = later("descriptions")
    failed_at = "summary"
    warning = "summary_failed"
    budget_spent = later("the budget was used up before all descriptions were merged")
    unfinished = later("some descriptions were not merged: run the same command again to continue")
    uncounted = later("merged descriptions")
    record = records.SUMMARIES
    made = SUMMARIES

    @classmethod
    def is_wanted(cls, settings: Settings) -> bool:
        return settings.of(SummarySection).build

    @classmethod
    def failed(cls, count: int, reason: str) -> str:
        return ngettext(
            "the descriptions of {count:,} element could not be merged: {reason}",
            "the descriptions of {count:,} elements could not be merged: {reason}",
            count,
        ).format(count=count, reason=reason)

    @classmethod
    def row(cls, result: Any) -> tuple[str, str]:
        return tr("descriptions"), tr("{summaries:,} merged").format(summaries=result)

    def choose(self) -> SummaryWriter:
        from graphrag_rdf.ingest.extractors import prompt_data, prompt_folder
        from graphrag_rdf.wings.communities.extract.descriptions import (
            PROMPT,
            ExtractiveSummaries,
            ModelSummaries,
        )

        settings, model = self.settings.of(SummarySection), self.settings.llm.model
        if settings.use == "llm" and model is None:
            raise ConfigError(
                tr("summaries.use is llm, but no model is set"), hint=tr("name one with --model")
            )
        if settings.use == "extractive" or model is None:
            return ExtractiveSummaries(settings.sentences)
        return ModelSummaries(
            prompt_folder(self.settings, "ingest", PROMPT),
            self.engine.gateway,
            model,
            tokens=settings.input_tokens,
            words=settings.max_words,
            most=settings.max_texts,
            data=prompt_data(self.settings),
        )

    def agent(self) -> Iterable[Quad]:
        from graphrag_rdf.wings.communities.extract.descriptions import SUMMARIES_VERSION

        return prov.agent(self.reader.component, SUMMARIES_VERSION)

    def plan(self) -> Plan[Merging]:
        from graphrag_rdf.ingest.descriptions import described

        store, key, again = self.store, self.reader.key, self.again is True
        record = json.dumps({"key": key, "content_commit": store.content_commit()}, sort_keys=True)
        hashes = {row["summary"]: row["hash"] for row in store.select("summaries/all")}
        self._have = {*hashes}
        if not again and self.is_recorded(record):
            return Plan(kept=len(hashes))
        todo: list[tuple[Described, str]] = []
        kept = 0
        for each in described(store):
            hash_ = each.hash(key)
            if hashes.pop(iris.summary(each.element), None) != hash_ or again:
                todo.append((each, hash_))
            else:
                kept += 1
        gone = sorted(hashes, key=str)  # of elements that no longer have several texts
        return Plan([self._tasks(todo, again=again)], len(todo), kept, gone, record)

    def _tasks(self, todo: Iterable[tuple[Described, str]], *, again: bool) -> Iterator[Task[Merging]]:
        from graphrag_rdf.ingest.descriptions import central

        for each, hash_ in todo:
            node = iris.summary(each.element)
            element = each.element.value if isinstance(each.element, NamedNode) else each.name
            yield Task(
                Merging(node, each, central(each, self.reader.most), hash_),
                (node,),
                iris.failure(node, self.failed_at),
                {"element": element},
                each.name,
                use_cache=not again,
            )

    def prepare(self, plan: Plan[Merging]) -> None:
        if plan.record is not None:
            changes = Changes(updates=[("summaries/begin", {})], content=False)
            self._drop(plan.gone, changes)
            changes.updates += [("communities/unreported", {})] if plan.gone else []
            self.store.commit(changes)

    def _drop(self, summaries: Sequence[NamedNode], changes: Changes) -> None:
        """Add the removal of merged descriptions, and of the reports that read them, to a transaction."""
        SUMMARIES.drop_all(summaries, changes)
        REPORTS.drop_made(self.store, changes, sources=summaries)

    def ask(self, task: Task[Merging]) -> Summary:
        texts = [text.shown if self.reader.model else text.text for text in task.item.texts]
        return self.reader.write(task.item.described.name, texts, use_cache=task.use_cache)

    def replace(self, tasks: Sequence[Task[Merging]], changes: Changes) -> None:
        """Reports have not read the new descriptions."""
        self._drop([task.item.node for task in tasks if task.item.node in self._have], changes)
        changes.updates.append(("communities/unreported", {}))

    def quads(self, task: Task[Merging], answer: Summary) -> Iterator[Quad]:
        writer, each, texts = self.reader, task.item.described, task.item.texts
        used = sorted({source for text in texts for source in text.sources}, key=str)
        return build.summary(
            build.SummaryFacts(
                each.element,
                task.item.hash,
                answer.text,
                dict.fromkeys(node for text in texts for node in text.nodes),
                each.sources,
                each.weight,
                activity_of(writer.component, writer.model, used, task.started, answer.completions),
            )
        )

    def cost(self, task: Task[Merging]) -> Cost:
        return Cost(*self.reader.cost(task.item.described.name, [text.shown for text in task.item.texts]))


STAGE = Summaries
