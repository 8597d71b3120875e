"""Claims: a model reads each chunk once, and says who is claimed to have done or been what.

The store is the journal: a chunk is done when there is an activity of the same key that used it. So the next
run goes on where one was stopped. What an earlier key found stays until it is replaced.

Claims keep the names of subject and object as the text has them. `link_claims` adds links to the entities
that the names mean. It makes no entities: that is the work of the extraction, which has rules for names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.errors import ConfigError
from graphrag_rdf.i18n import later, ngettext, tr
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
from graphrag_rdf.ingest.stages import Stage
from graphrag_rdf.llm.model import estimate_tokens
from graphrag_rdf.rdf import claims as build
from graphrag_rdf.rdf import iris, model_calls, prov
from graphrag_rdf.rdf.model_calls import ModelCall, sum_known
from graphrag_rdf.store.base import Changes, Store, in_batches, select_in_batches
from graphrag_rdf.wings.communities.build import REPORTS
from graphrag_rdf.wings.communities.settings import ClaimSection

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings
    from graphrag_rdf.extract.prompts import PromptData
    from graphrag_rdf.wings.communities.extract.claims import Claim, ClaimAnswer, ClaimDate, ClaimReader

COMPONENT = "graphrag-rdf-claims"
PER_CHUNK = 500
"""Tokens that models write for the claims of a chunk, as a rule of thumb: a handful, each with a quote."""


@dataclass(frozen=True, slots=True)
class ChunkText:
    """A chunk as the model is shown it.

    Attributes:
        title: of its document.
        names: of the entities in it.
    """

    chunk: NamedNode
    text: str
    title: str
    names: tuple[str, ...]


class Claims(ModelStage["ClaimReader", ChunkText, "ClaimAnswer"]):
    """Let a model read which claims the chunks make."""

    stage = Stage(
        "claims",
        "end",
        optional=True,
        needs=("names",),
        settings=("claims.build", "claims.description", "claims.gleaning_rounds"),
        refresh="claims",
    )
    command = ("refresh", "claims")
    help = """Let a model read which claims the chunks make.

    A claim has a subject, an object, a type, a status (TRUE, FALSE or SUSPECTED), a period, a description and
    quotes. The model reads each chunk once, and a stopped run continues where it stopped. Another model,
    prompt or description reads all chunks again and replaces the claims.

    To list the claims: queries run cookbook/claims. With the setting claims.build, each ingest runs this
    stage too.
    """
    examples = (
        "graphrag-rdf refresh claims --model openai/gpt-4.1-mini",
        "graphrag-rdf refresh claims --source documents/report.md --dry-run",
    )
    options = (
        Option("claims.description", "What a claim is, as the model is told.", "TEXT"),
        Option(
            "claims.gleaning_rounds", "Number of times to ask the model for missed claims (default: 0).", "N"
        ),
    )
    again_help = "Let the model read all chunks again."
    unit = "chunks"
    tasks = later("chunks")
    failed_at = "claims"
    warning = "claims_failed"
    budget_spent = later("the budget was used up before the claims of all chunks were read")
    unfinished = later("some chunks were not read: run the same command again to continue")
    needs_model = later(
        "no model is set, so no claims are read: name one with --model, or set claims.build to false"
    )
    read_with = ("claims/", later("chunks read for claims"))
    retract = "claims/retract"

    @classmethod
    def is_wanted(cls, settings: Settings) -> bool:
        return settings.of(ClaimSection).build

    @classmethod
    def failed(cls, count: int, reason: str) -> str:
        return ngettext(
            "the claims of {count:,} chunk could not be read: {reason}",
            "the claims of {count:,} chunks could not be read: {reason}",
            count,
        ).format(count=count, reason=reason)

    @classmethod
    def rows(cls, report: StageReport) -> Iterator[tuple[str, str]]:
        yield tr("claims"), tr("{found:,} new").format(found=report.results["found"])
        if unverified := report.results["unverified"]:
            yield tr("quotes"), tr("{unverified:,} not in their chunk").format(unverified=unverified)
        if linked := report.results["linked"]:
            yield tr("names"), tr("{linked:,} linked to entities").format(linked=linked)

    @classmethod
    def result(cls, report: StageReport) -> int:
        return int(report.results["found"])

    @classmethod
    def row(cls, result: Any) -> tuple[str, str]:
        return tr("claims"), tr("{claims:,} new").format(claims=result)

    def choose(self) -> ClaimReader:
        from graphrag_rdf.ingest.extractors import prompt_data

        if self.settings.llm.model is None:
            raise ConfigError(
                tr("claims need a language model, and none is set"), hint=tr("name one with --model")
            )
        return claim_reader(self.settings, self.settings.llm.model, prompt_data(self.settings))

    def agent(self) -> Iterable[Quad]:
        from graphrag_rdf.wings.communities.extract.claims import CLAIMS_VERSION

        return prov.agent(COMPONENT, CLAIMS_VERSION)

    def known_failures(self) -> Mapping[NamedNode, str]:
        rows = self.store.select("claims/failures")
        return {row["failure"]: row["reason"] for row in rows}

    def begin(self) -> None:
        self.report.results |= {"found": 0, "unverified": 0, "linked": 0}

    def plan(self) -> Plan[ChunkText]:
        calls: dict[NamedNode, dict[NamedNode, str]] = {}
        for row in self.store.select("claims/journal", agent=iris.agent(COMPONENT)):
            calls.setdefault(row["chunk"], {})[row["activity"]] = row["key"]
        todo: dict[NamedNode, list[NamedNode]] = {}
        about: dict[NamedNode, tuple[NamedNode, str]] = {}
        kept = 0
        for row in self.store.select("claims/chunks", documents=self.documents):
            chunk, document = row["chunk"], row["document"]
            before = calls.get(chunk, {})
            if self.reader.key in before.values() and not self.reads_again(document):
                kept += 1
            elif chunk not in todo:
                todo[chunk] = sorted(before, key=str)
                about[chunk] = (document, row["title"])
        return Plan([self._tasks(todo, about)], len(todo), kept)

    def _tasks(
        self,
        todo: Mapping[NamedNode, Sequence[NamedNode]],
        about: Mapping[NamedNode, tuple[NamedNode, str]],
    ) -> Iterator[Task[ChunkText]]:
        """The chunks to read, of which a few hundred at a time are in memory."""
        for batch in in_batches(list(todo)):
            rows = self.store.select("relations/passages", chunks=batch)
            texts = {row["chunk"]: row["text"] for row in rows}
            names: dict[NamedNode, list[str]] = {}
            for row in self.store.select("claims/names", chunks=batch):
                names.setdefault(row["chunk"], []).append(row["name"])
            for chunk in batch:
                document, title = about[chunk]
                yield Task(
                    ChunkText(chunk, texts[chunk], title, tuple(names.get(chunk, ()))),
                    (chunk,),
                    iris.failure(chunk, self.failed_at),
                    {"document": document.value, "chunk": chunk.value},
                    document.value,
                    todo[chunk],
                    use_cache=not self.reads_again(document),
                )

    def ask(self, task: Task[ChunkText]) -> ClaimAnswer:
        shown, gateway = task.item, self.engine.gateway
        return self.reader.read(
            shown.text, gateway, title=shown.title, names=shown.names, use_cache=task.use_cache
        )

    def replace(self, tasks: Sequence[Task[ChunkText]], changes: Changes) -> None:
        """Reports may have read the claims that go, and have not read those that come."""
        super().replace(tasks, changes)
        chunks = [task.item.chunk for task in tasks if task.replaces]
        REPORTS.drop_made(self.store, changes, sources=chunks)
        changes.updates.append(("communities/unreported", {}))

    def quads(self, task: Task[ChunkText], answer: ClaimAnswer) -> Iterator[Quad]:
        chunk, completions, results = task.item.chunk, answer.completions, self.report.results
        call = ModelCall(
            iris.claims_activity(chunk, self.reader.key),
            (chunk,),
            component=COMPONENT,
            key=self.reader.key,
            started=task.started,
            model=self.reader.model,
            prompt_hash=completions[0].prompt_hash,
            in_tokens=sum_known(each.in_tokens for each in completions),
            out_tokens=sum_known(each.out_tokens for each in completions),
        )
        yield from model_calls.call(call)
        place = QuoteFinder(self.store, {chunk: task.item.text})
        for claim in answer.claims.values():
            quotes = [place.find(text) for text in claim.quotes]
            results["unverified"] += sum(quote.chunk is None for quote in quotes)
            yield from build.claim(call, _facts(claim), quotes)
        yield from rejected_quads(call, answer.rejected, self.report.rejected)
        results["found"] += len(answer.claims)

    def end(self) -> None:
        self.report.results["linked"] = link_claims(self.store, self.settings.extract.namespace)

    def cost(self, task: Task[ChunkText]) -> Cost:
        return self._cost(task.item.text, task.item.title, task.item.names)

    def cost_of_document(self, title: str, chunks: Sequence[tuple[str, bool]]) -> Cost:
        return Cost.sum(self._cost(text, title) for text, is_new in chunks if is_new)

    def _cost(self, text: str, title: str, names: Sequence[str] = ()) -> Cost:
        prompt = self.reader.prompt(text, title=title, names=names)
        read, rounds = estimate_tokens([{"role": "user", "content": prompt}]), 1 + self.reader.rounds
        return Cost(rounds, sum(read + number * PER_CHUNK for number in range(rounds)), rounds * PER_CHUNK)


STAGE = Claims


def claim_reader(settings: Settings, model: str, data: PromptData) -> ClaimReader:
    """The reader of claims, as the settings want it.

    Args:
        data: about the documents, for the prompt. Its description of claims counts unless the settings have
            another one than by default.

    Raises:
        ConfigError: when there are data for claims, and the template does not read them.
    """
    from graphrag_rdf.ingest.extractors import prompt_folder, require_use
    from graphrag_rdf.wings.communities.extract.claims import GLEAN, PROMPT, ClaimReader

    prompts = prompt_folder(settings, "ingest", PROMPT, GLEAN)
    require_use(prompts / PROMPT, "claim_examples", given=bool(data.claim_examples))
    usual = ClaimSection.model_fields["description"].default
    wanted = settings.of(ClaimSection).description
    return ClaimReader(
        prompts,
        model=model,
        description=(data.claim_description or wanted) if wanted == usual else wanted,
        gleaning_rounds=settings.of(ClaimSection).gleaning_rounds,
        data=data,
    )


def _facts(claim: Claim) -> build.ClaimFacts:
    return build.ClaimFacts(
        key=claim.key,
        subject=claim.subject,
        object=claim.object,
        type=claim.type,
        status=claim.status,
        start=_literal(claim.start),
        end=_literal(claim.end),
        description=claim.description,
    )


def _literal(date: ClaimDate | None) -> Literal | None:
    return Literal(date.lexical, datatype=NamedNode(date.datatype)) if date else None


def link_claims(store: Store, namespace: str) -> int:
    """Link claims to the entities that the names of their subjects and objects mean.

    A name means the entity whose IRI it makes, else the only one that is called so. Names that mean no
    entity, or several, stay names, also if they meant one before.

    Args:
        namespace: of entities.

    Returns:
        how many names were linked.
    """
    from graphrag_rdf.ingest.names import Minter, entities_called

    rows = store.select("claims/links")
    names = sorted({row["name"] for row in rows})
    minter = Minter(namespace)
    minted = {name: minter.entity(name) for name in names}
    named = select_in_batches(store, "entities/named", "things", sorted(set(minted.values()), key=str))
    entities = {row["thing"] for row in named}
    namesakes = entities_called(store, (name for name in names if minted[name] not in entities))
    new, old = [], []
    for row in rows:
        name, have = row["name"], row["entity"]
        candidates = {minted[name]} if minted[name] in entities else namesakes[name]
        means = next(iter(candidates)) if len(candidates) == 1 else None
        claim, link = row["claim"], row["link"]
        if have is not None and have != means:
            old.append(prov.source(claim, link, have))
        if means is not None and have != means:
            new.append(prov.source(claim, link, means))
    for number, batch in enumerate(in_batches([*old, *new])):
        changes = Changes(content=False)
        changes.updates += [] if number else [("communities/unreported", {})]
        gone = {*old}
        changes.remove = [quad for quad in batch if quad in gone]
        changes.add = [quad for quad in batch if quad not in gone]
        store.commit(changes)
    return len(new)
