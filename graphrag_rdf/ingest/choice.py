"""Which extractor the settings ask for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from graphrag_rdf.errors import ConfigError
from graphrag_rdf.ingest.extractors import ChunkExtractor, LlmComponent, RulesComponent
from graphrag_rdf.ingest.predicates import fixed_predicates
from graphrag_rdf.resources import folder

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings
    from graphrag_rdf.extract.llm import LlmExtractor
    from graphrag_rdf.extract.passage_relations import RelationReader
    from graphrag_rdf.extract.prompts import PromptData
    from graphrag_rdf.llm.gateway import LlmGateway


def choose_extractor(
    settings: Settings, gateway: Callable[[], LlmGateway], *, use_cache: bool = True
) -> ChunkExtractor:
    """By rules, or by the model.

    Args:
        gateway: makes the way to models, called only if one is needed.
        use_cache: whether answers that the model gave before will do.

    Raises:
        ConfigError: when a model is asked for and none is set.
    """
    extract = settings.extract
    model = settings.llm.model
    use = extract.use if extract.use != "auto" else ("llm" if model else "rules")
    if use == "rules":
        from graphrag_rdf.extract.rules import RULES_VERSION, RuleExtractor, RuleSettings

        rules = RuleExtractor(RuleSettings(entity_types=extract.entity_types))
        types = ",".join(sorted(extract.entity_types))
        return RulesComponent(rules, RULES_VERSION, f"rules/{RULES_VERSION};types={types}")
    if model is None:
        raise ConfigError("extract.use is llm, but no model is set", hint="name one with --model")
    from graphrag_rdf.extract.llm import LLM_VERSION

    data = prompt_data(settings)
    extractor = llm_extractor(settings, model, data)
    return LlmComponent(extractor, gateway(), LLM_VERSION, model, tuned_by=data.tuned_by, use_cache=use_cache)


def llm_extractor(settings: Settings, model: str, data: PromptData) -> LlmExtractor:
    """Extraction by a model, as the settings want it.

    Args:
        data: what the prompt is told of the documents.

    Raises:
        ConfigError: when there are data, and the template does not read them.
    """
    from graphrag_rdf.extract.llm import PROMPTS, LlmExtractor
    from graphrag_rdf.extract.prompts import FILE, names_in, read_prompt

    style, rounds = settings.llm.style, settings.extract.gleaning_rounds
    if style == "small" and rounds:
        raise ConfigError(
            f"llm.style is small, and extract.gleaning_rounds is {rounds}: small models are not asked again",
            hint="set extract.gleaning_rounds to 0, or llm.style to default",
        )
    first = PROMPTS[style][0]
    prompts = prompt_folder(settings, "ingest", *PROMPTS[style])
    predicates = fixed_predicates(settings)
    for given, name, what, file in (
        (not data.is_empty, "tuned", FILE, first),
        (predicates, "predicates", "the fixed list of predicates", PROMPTS[style][-1]),
    ):
        path = prompts / file
        if given and name not in names_in(read_prompt(path)[1]):
            ours = folder("pipelines") / "ingest" / file
            raise ConfigError(
                f"{path} does not read {what}, which would be without effect",
                hint=f"take over how {ours} uses `{name}`, or take {path} away if nothing in it is yours",
            )
    return LlmExtractor(
        prompts,
        model=model,
        entity_types=settings.extract.entity_types,
        predicates=predicates,
        style=style,
        gleaning_rounds=rounds,
        data=data,
    )


def prompt_data(settings: Settings) -> PromptData:
    """What the extraction prompt is told of the documents: of the user's own pipelines, else nothing.

    Raises:
        ConfigError: see `extract.prompts.read_prompt_data`.
    """
    from graphrag_rdf.extract.prompts import FILE, NO_DATA, read_prompt_data

    path = settings.pipelines / "ingest" / FILE if settings.pipelines else None
    return read_prompt_data(path) if path is not None and path.is_file() else NO_DATA


def choose_relation_reader(settings: Settings) -> RelationReader | None:
    """What reads how passages are related: the model, or None for structure only.

    Raises:
        ConfigError: when a model is asked for and none is set.
    """
    relations, model = settings.relations, settings.llm.model
    if relations.use == "llm" and model is None:
        raise ConfigError("relations.use is llm, but no model is set", hint="name one with --model")
    if relations.use == "structure" or model is None:
        return None
    from graphrag_rdf.extract.passage_relations import RelationReader

    return RelationReader(
        prompt_folder(settings, "ingest", "relations.j2"),
        model=model,
        truncate=relations.truncate,
        min_confidence=relations.min_confidence,
    )


def prompt_folder(settings: Settings, pipeline: str, *names: str) -> Path:
    """The folder of prompts of a pipeline: the user's own, where it has one of them."""
    user = settings.pipelines / pipeline if settings.pipelines else None
    own = user is not None and any((user / name).is_file() for name in names)
    return user if user and own else folder("pipelines") / pipeline
