"""The extractors that an ingest can run on a chunk, by rules or by a model, and which the settings choose."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from graphrag_rdf.documents.model import Sentence
from graphrag_rdf.documents.text import count_tokens
from graphrag_rdf.errors import ConfigError
from graphrag_rdf.extract.model import ChunkContext, Extraction, Passage
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.model_calls import sum_known
from graphrag_rdf.resources import folder
from graphrag_rdf.wing import in_words, load, wings

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings
    from graphrag_rdf.extract.guide import ExtractionGuide
    from graphrag_rdf.extract.llm import LlmExtractor
    from graphrag_rdf.extract.prompts import PromptData
    from graphrag_rdf.llm.gateway import LlmGateway
    from graphrag_rdf.llm.model import Completion
    from graphrag_rdf.store.base import Store


@dataclass(frozen=True, slots=True)
class Extracted:
    """An extraction and what it cost.

    Attributes:
        in_tokens, out_tokens, cached_in_tokens: None when unknown or when no model was asked.
        prompt_hash: SHA-256 of the prompt, None without a model.
        asked_alone: the answer to a call about several chunks lacked it, so it was asked about alone.
    """

    extraction: Extraction
    prompt_hash: str | None = None
    in_tokens: int | None = None
    out_tokens: int | None = None
    cached_in_tokens: int | None = None
    asked_alone: bool = False


P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Together:
    """How several chunks are asked about in one call.

    Attributes:
        chunks: most of them in a call.
        tokens: most of their texts, estimated; a longer chunk is alone.
        group: of a language; only chunks of one group may be in a call.
        ask: called with passages; gives for each the first answer, or None.
        prompt: the prompt for them, as it would be sent.
    """

    chunks: int
    tokens: int
    group: Callable[[str | None], str]
    ask: Callable[[Sequence[Passage]], list[Completion | None]]
    prompt: Callable[[Sequence[Passage]], str]

    def grouped(
        self, items: Iterable[P], text_of: Callable[[P], tuple[str, str | None]]
    ) -> Iterator[list[P]]:
        """Neighbours that fit into one call.

        Args:
            items: in the order of their documents; nothing else decides, such as what is in the cache.
            text_of: text and language of an item.
        """
        call: list[P] = []
        used, shared = 0, ""
        for item in items:
            text, language = text_of(item)
            size, group = count_tokens(text), self.group(language)
            if call and (len(call) == self.chunks or used + size > self.tokens or group != shared):
                yield call
                call, used = [], 0
            call.append(item)
            used, shared = used + size, group
        if call:
            yield call


@dataclass(frozen=True, slots=True)
class AskedPrompt:
    """A prompt, with its data, whatever chunk it is filled in with.

    Attributes:
        hash: SHA-256 of the two.
        tuned_by: IRI of the activity that made its data, if one did.
    """

    hash: str
    tuned_by: str | None = None


@dataclass(frozen=True, slots=True)
class ChunkExtractor:
    """What finds the facts of a chunk.

    Attributes:
        component: name of the software agent.
        version: its version.
        key: everything that its result depends on; equal keys give equal results.
        extract: called with the text and the sentences of a chunk, and with `language`, `title` and `context`
            by name, with `together` also with `given`, the answer that it gave. Raises LlmError when a model
            fails.
        model: the model's name, None without one.
        asks: the prompt that it asks the model with, None without one.
        prompt: the prompt for a chunk as it would be sent, called as `extract` without sentences; None
            without a model.
        together: asks about several chunks at once; None if each is asked about alone.
        names: whether names that it does not give are looked for in the sentences.
        portable: settings as JSON with which `workers.extract_by_rules` finds the same in another process;
            None if it cannot.
    """

    component: str
    version: str
    key: str
    extract: Callable[..., Extracted]
    model: str | None = None
    asks: AskedPrompt | None = None
    prompt: Callable[..., str] | None = None
    together: Together | None = None
    names: bool = True
    portable: str | None = None

    @property
    def waits(self) -> bool:
        """Whether a call mostly waits, so that several may run at once."""
        return self.model is not None


def way_of(settings: Settings) -> str:
    """The setting `extract.use`, with `auto` decided: rules, llm or, where neither is there, none."""
    use = settings.extract.use
    if use != "auto":
        return use
    return "llm" if settings.llm.model else "rules" if _maker_of_rules() else "none"


class RuleReader(Protocol):
    """Extracts facts without a model; see `Wing.rules`.

    Attributes:
        key: changes whenever the same text may give other facts.
    """

    version: str
    key: str

    def extract(
        self,
        text: str,
        sentences: Sequence[Sentence],
        *,
        context: ChunkContext,
        title: str,
        language: str | None,
    ) -> Extraction:
        """The facts of a chunk."""


def _maker_of_rules() -> str | None:
    return next((wing.rules for wing in wings() if wing.rules), None)


def read_by(settings: Settings) -> str:
    """The source of new facts, for people: the model's name, rules, or metadata if nothing is extracted."""
    return {"llm": str(settings.llm.model), "none": "metadata"}.get(way := way_of(settings), way)


def choose_extractor(
    settings: Settings, gateway: Callable[[], LlmGateway], store: Store, *, use_cache: bool = True
) -> ChunkExtractor:
    """The extractor that the settings name: rules, the model, or one that finds nothing.

    Args:
        gateway: makes the model gateway, called only if it is needed.
        store: has the ontology that guides it.
        use_cache: whether kept answers of the model may be used.

    Raises:
        ConfigError: when a model is asked for and none is set, or the ontology is not loaded.
    """
    extract = settings.extract
    model = settings.llm.model
    guide = choose_guide(settings, store, gateway)
    in_terms = guide.in_terms if guide else _unchanged
    use = way_of(settings)
    if use == "none":
        nothing = Extracted(Extraction((), (), (), (), None))
        return ChunkExtractor("graphrag-rdf-none", "1", "none/1", lambda *_, **__: nothing, names=False)
    if use == "rules":
        return rule_extractor(settings, guide)
    if model is None:
        raise ConfigError(tr("extract.use is llm, but no model is set"), hint=tr("name one with --model"))
    from graphrag_rdf.extract.llm import LLM_VERSION

    data, opened = prompt_data(settings), gateway()
    extractor = llm_extractor(settings, model, data, guide)

    def by_model(
        text: str, sentences: Sequence[Sentence], *, given: Completion | None = None, **described: Any
    ) -> Extracted:
        del sentences  # a model reads the chunk as a whole
        asking = {**described, "gateway": opened, "use_cache": use_cache}
        found, completions = extractor.extract(text, **asking, first_answer=given)
        found = in_terms(found, text, **described)
        broken = guide.repairable(found) if guide else []
        for _ in range(extract.ontology_repairs):
            if not (guide and broken):
                break
            repaired, answer = extractor.repair(found, broken, text, **asking)
            repaired = in_terms(repaired, text, **described)
            found = guide.with_repairs(found, repaired)
            completions = [*completions, answer]
            broken = guide.repairable(repaired)
        return Extracted(
            found,
            prompt_hash=completions[0].prompt_hash if completions else None,
            in_tokens=sum_known(c.in_tokens for c in completions),
            out_tokens=sum_known(c.out_tokens for c in completions),
            cached_in_tokens=sum_known(c.cached_in_tokens for c in completions),
        )

    asked = AskedPrompt(extractor.prompt_hash, data.tuned_by)
    together = None
    if extract.call_chunks > 1 and extractor.takes_several:
        ask = partial(extractor.ask_together, gateway=opened, use_cache=use_cache)
        together = Together(
            extract.call_chunks, extract.call_tokens, extractor.group, ask, extractor.prompt_for
        )
    return ChunkExtractor(
        "graphrag-rdf-llm", LLM_VERSION, extractor.key, by_model, model, asked, extractor.prompt, together
    )


def rule_extractor(settings: Settings, guide: ExtractionGuide | None = None) -> ChunkExtractor:
    """Extraction by rules.

    Raises:
        ConfigError: when no wing brings rules.
    """
    maker = _maker_of_rules()
    if maker is None:
        raise ConfigError(tr("extract.use is rules, but no wing brings them") + in_words())
    reader: RuleReader = load(maker)(settings)
    in_terms = guide.in_terms if guide else _unchanged

    def by_rules(text: str, sentences: Sequence[Sentence], **described: Any) -> Extracted:
        return Extracted(in_terms(reader.extract(text, sentences, **described), text, **described))

    key = reader.key + (f";{guide.key}" if guide else "")
    portable = None if guide else settings.model_dump_json()
    return ChunkExtractor("graphrag-rdf-rules", reader.version, key, by_rules, portable=portable)


def _unchanged(found: Extraction, *_: Any, **__: Any) -> Extraction:
    return found


def choose_guide(
    settings: Settings, store: Store, gateway: Callable[[], LlmGateway]
) -> ExtractionGuide | None:
    """What the setting `extract.ontology` makes of extraction; None without it.

    Args:
        store: where the ontology is loaded.
        gateway: makes the model gateway, called only if it is needed.

    Raises:
        ConfigError: it is not loaded, or has no term; or the settings list types or predicates, too.
    """
    if not settings.extract.ontology:
        return None
    places = [place for wing in wings() for place in wing.guides]
    if not places:
        raise ConfigError(tr("extract.ontology is set, and this installation has no wing that reads it"))
    guide: ExtractionGuide = load(places[0])(settings, store, gateway)
    return guide


def llm_extractor(
    settings: Settings, model: str, data: PromptData, guide: ExtractionGuide | None = None
) -> LlmExtractor:
    """Extraction by a model, as the settings want it.

    Args:
        data: about the documents, for the prompt.
        guide: the ontology that guides it, see `choose_guide`.

    Raises:
        ConfigError: when there are data, and the template does not read them.
    """
    from graphrag_rdf.extract.llm import PROMPTS, LlmExtractor
    from graphrag_rdf.extract.prompts import FILE, names_in, read_prompt

    style, rounds = settings.llm.style, settings.extract.gleaning_rounds
    if style == "small" and rounds:
        raise ConfigError(
            tr(
                "llm.style is small and extract.gleaning_rounds is {rounds}: the small style has no gleaning"
            ).format(rounds=rounds),
            hint=tr("set extract.gleaning_rounds to 0, or llm.style to default"),
        )
    first = PROMPTS[style][0]
    prompts = prompt_folder(settings, "ingest", *PROMPTS[style])
    predicates = settings.extract.predicates
    for given, name, what, file in (
        (not data.is_empty, "tuned", FILE, first),
        (predicates, "predicates", "the fixed list of predicates", PROMPTS[style][-1]),
        (guide, "ontology", "the ontology", PROMPTS[style][-1]),
    ):
        path = prompts / file
        if given and name not in names_in(read_prompt(path)[1]):
            ours = folder("pipelines") / "ingest" / file
            raise ConfigError(
                tr("{path} does not use {what}, which would have no effect").format(path=path, what=what),
                hint=tr(
                    "copy the use of `{name}` from {ours}, or delete {path} if it has no changes of yours"
                ).format(name=name, ours=ours, path=path),
            )
    return LlmExtractor(
        prompts,
        model=model,
        entity_types=settings.extract.entity_types,
        predicates=predicates,
        style=style,
        gleaning_rounds=rounds,
        data=data,
        guide=guide,
        repairs=settings.extract.ontology_repairs,
    )


def prompt_data(settings: Settings) -> PromptData:
    """The data about the documents for the extraction prompt: those of the user's own pipelines, or none.

    Raises:
        ConfigError: see `extract.prompts.read_prompt_data`.
    """
    from graphrag_rdf.extract.prompts import FILE, NO_DATA, read_prompt_data

    path = settings.pipelines / "ingest" / FILE if settings.pipelines else None
    return read_prompt_data(path) if path is not None and path.is_file() else NO_DATA


def require_use(path: Path, name: str, *, given: bool) -> None:
    """Check that a prompt uses what it is told of the documents.

    Args:
        name: of the part of `tuned`.
        given: whether there is anything to tell.

    Raises:
        ConfigError: when it does not.
    """
    from graphrag_rdf.extract.prompts import FILE, read_prompt

    if given and f"tuned.{name}" not in read_prompt(path)[1]:
        ours = folder("pipelines") / "ingest" / path.name
        raise ConfigError(
            tr("{path} does not use {name} of {file}, which would have no effect").format(
                path=path, name=name, file=FILE
            ),
            hint=tr(
                "copy the use of tuned.{name} from {ours}, or delete {path} if it has no changes of yours"
            ).format(name=name, ours=ours, path=path),
        )


def prompt_folder(settings: Settings, pipeline: str, *names: str) -> Path:
    """The folder of prompts of a pipeline: the user's own, where it has one of them."""
    user = settings.pipelines / pipeline if settings.pipelines else None
    own = user is not None and any((user / name).is_file() for name in names)
    return user if user and own else folder("pipelines") / pipeline
