"""Which extractor the settings ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from graphrag_rdf.errors import ConfigError
from graphrag_rdf.ingest.extractors import ChunkExtractor, LlmComponent, RulesComponent
from graphrag_rdf.resources import folder

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings
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

    user = settings.pipelines / "ingest" if settings.pipelines else None
    prompts = user if user and (user / "extract.j2").is_file() else folder("pipelines") / "ingest"
    extractor = LlmExtractor(
        prompts,
        model=model,
        entity_types=extract.entity_types,
        gleaning_rounds=extract.gleaning_rounds,
    )
    return LlmComponent(extractor, gateway(), LLM_VERSION, model, use_cache=use_cache)
