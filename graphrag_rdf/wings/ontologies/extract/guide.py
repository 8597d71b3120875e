"""The guide of extraction that the setting `extract.ontology` names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graphrag_rdf.errors import ConfigError
from graphrag_rdf.extract.guide import ExtractionGuide
from graphrag_rdf.extract.model import Extraction
from graphrag_rdf.i18n import tr
from graphrag_rdf.index.embedders import embedder_for
from graphrag_rdf.store.base import Store
from graphrag_rdf.wings.ontologies.extract import conforming
from graphrag_rdf.wings.ontologies.extract.guided import Guide
from graphrag_rdf.wings.ontologies.schema.model import read_ontology
from graphrag_rdf.wings.ontologies.schema.selection import TermVectors

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings
    from graphrag_rdf.llm.gateway import LlmGateway


@dataclass
class OntologyGuide(Guide):
    """A guide that also checks what was found, see `conforming`.

    Args:
        store: has the ontology.
    """

    store: Store = field(kw_only=True)

    def in_terms(self, found: Extraction, text: str, **described: Any) -> Extraction:
        """What of an extraction holds, in the terms of the ontology."""
        read = conforming.ReadText(text, **described)
        return conforming.conforming(self.store, self, self.apply(found), read)

    def repairable(self, found: Extraction) -> list[str]:
        """The rejected statements that a model may be able to correct, each with the reason."""
        return conforming.repairable(found)

    def with_repairs(self, found: Extraction, repaired: Extraction) -> Extraction:
        """An extraction with corrected statements, as far as they hold together."""
        return conforming.within_limits(self.store, conforming.with_repairs(found, repaired))


def choose_guide(settings: Settings, store: Store, gateway: Callable[[], LlmGateway]) -> ExtractionGuide:
    """The ontology that guides extraction, one or several that are loaded.

    Args:
        store: where it is loaded.
        gateway: makes the model gateway, called only if it is needed.

    Raises:
        ConfigError: it is not loaded, or has no term; or the settings list types or predicates, too.
    """
    extract = settings.extract
    for key in ("entity_types", "predicates"):
        if getattr(extract, key):
            raise ConfigError(
                tr("extract.ontology and extract.{key} are both set, and both say what to extract").format(
                    key=key
                ),
                hint=tr("graphrag-rdf config unset extract.{key}").format(key=key),
            )
    for iri in extract.ontology:
        if not read_ontology(store, [iri]).terms:
            raise ConfigError(
                tr("extract.ontology: {iri} is not loaded, or declares no class and no property").format(
                    iri=iri
                ),
                hint=tr(
                    "load it with: graphrag-rdf ontology load FILE (graphrag-rdf ontology list shows IRIs)"
                ),
            )
    ontology = read_ontology(store, extract.ontology)
    embedder = None
    if len(ontology.terms) > extract.ontology_terms:
        embedder = embedder_for(
            settings.embedding.model, gateway_embed=lambda texts, model: gateway().embed(texts, model)
        )
    vectors = TermVectors(ontology, embedder) if embedder else None
    return OntologyGuide(ontology, extract.ontology_mode, extract.ontology_terms, vectors, store=store)
