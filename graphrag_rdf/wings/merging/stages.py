"""Stages of the ingest that merge entities and link them to vocabularies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphrag_rdf.errors import LlmError
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.ingest.stages import PlainStage, Stage

if TYPE_CHECKING:
    from graphrag_rdf.ingest import NeededComponents
    from graphrag_rdf.ingest.files import Begun

_NO_VOCABULARY = later("extract.link_entities is set, and the store has no vocabulary")


def _synonyms(engine: NeededComponents) -> None:
    from graphrag_rdf.wings.merging.synonyms import apply_synonyms

    if engine.settings.extract.synonyms is not None:
        apply_synonyms(engine, engine.settings.extract.synonyms)


def _written_together(begun: Begun) -> None:
    from graphrag_rdf.wings.merging.joins import BY_WRITING, join_by_names

    documents = {*begun.run.written, *begun.run.refreshed}
    join_by_names(begun.engine, BY_WRITING, sorted(documents, key=str))


def _aliases(begun: Begun) -> None:
    from graphrag_rdf.wings.merging.joins import BY_ALIAS, join_by_names

    join_by_names(begun.engine, BY_ALIAS, sorted(begun.run.read_by_model, key=str))


def _vocabularies(begun: Begun) -> None:
    """Link entities to the vocabularies of the store. A stopped run leaves that to the next one."""
    from graphrag_rdf.wings.merging.links import apply, propose, read_vocabularies

    engine, report = begun.engine, begun.run.report
    if not engine.settings.extract.link_entities or report.stopped is not None:
        return
    vocabularies = read_vocabularies(engine.store)
    if not vocabularies:
        report.warn("no_vocabulary", tr(_NO_VOCABULARY))
        return
    try:
        report.links = len(apply(engine, propose(engine, vocabularies)))
    except LlmError as error:  # of the embedding model
        report.warn("embedding_failed", str(error))


SYNONYMS = PlainStage(
    Stage(
        "synonyms",
        "begin",
        optional=True,
        settings=("extract.normalise", "extract.synonyms", "extract.namespace"),
    ),
    before=_synonyms,
)
WRITTEN_TOGETHER = PlainStage(
    Stage("written_together", "end", optional=True, needs=("names",), settings=("extract.normalise",)),
    after=_written_together,
)
ALIASES = PlainStage(
    Stage("aliases", "end", optional=True, needs=("names",), settings=("extract.normalise",)),
    after=_aliases,
)
VOCABULARIES = PlainStage(
    Stage(
        "vocabularies",
        "end",
        optional=True,
        needs=("index",),
        settings=("extract.link_entities", "embedding.model"),
    ),
    after=_vocabularies,
)
