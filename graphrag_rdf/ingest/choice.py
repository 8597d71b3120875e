"""Which extractor the settings ask for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from graphrag_rdf.errors import ConfigError
from graphrag_rdf.ingest.extractors import ChunkExtractor, LlmComponent, RulesComponent
from graphrag_rdf.resources import folder

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings
    from graphrag_rdf.extract.passage_relations import RelationReader
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
    from graphrag_rdf.extract.llm import LLM_VERSION, LlmExtractor

    extractor = LlmExtractor(
        _prompts(settings, "extract.j2"),
        model=model,
        entity_types=extract.entity_types,
        gleaning_rounds=extract.gleaning_rounds,
    )
    return LlmComponent(extractor, gateway(), LLM_VERSION, model, use_cache=use_cache)


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
        _prompts(settings, "relations.j2"),
        model=model,
        truncate=relations.truncate,
        min_confidence=relations.min_confidence,
    )


def _prompts(settings: Settings, name: str) -> Path:
    """The folder of a prompt: the user's own, where it has it."""
    user = settings.pipelines / "ingest" if settings.pipelines else None
    return user if user and (user / name).is_file() else folder("pipelines") / "ingest"
