"""`relations merge, inverse, split, normalise`: which relations are the same, or inverse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli.command import Command, model_option
from graphrag_rdf.cli.decisions import write_decisions
from graphrag_rdf.cli.output import format_option, one_line, say
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.i18n import tr
from graphrag_rdf.wings.merging.proposals import (
    by_option,
    confidence_option,
    proposal_options,
    reason_option,
    undo_all,
    write_merges,
)

if TYPE_CHECKING:
    from pyoxigraph import NamedNode

    from graphrag_rdf.engine import Engine
    from graphrag_rdf.ingest.relation_decisions import Objects

WAYS = ("form", "ontology", "meaning", "model")


@click.command(
    "merge",
    cls=Command,
    examples=['graphrag-rdf relations merge wrote authored --reason "they mean the same"'],
)
@click.argument("keep", metavar="RELATION")
@click.argument("others", metavar="OTHER...", nargs=-1, required=True)
@reason_option
@confidence_option
@by_option
@format_option()
def merge_command(
    keep: str, others: tuple[str, ...], reason: str | None, confidence: float, by: str | None, form: str
) -> None:
    """Decide that relations, named by label or IRI, are the same; the first one represents them.

    Relations to things and relations to values are merged apart. No fact is rewritten. Undo the decision
    with: graphrag-rdf relations undo
    """
    from graphrag_rdf.ingest.decisions import Person
    from graphrag_rdf.ingest.relation_decisions import merge
    from graphrag_rdf.ingest.resolutions import Merge
    from graphrag_rdf.wings.merging.relations import together

    with open_engine() as engine:
        called = [_called(engine, name) for name in (keep, *others)]
        wanted = [Merge(members[0], tuple(members), reason, confidence) for members in together(called)]
        made = merge(engine, wanted, by=Person(by).node, name=by)
    write_decisions(made, form, tr("they are merged already"))


@click.command(
    "inverse", cls=Command, examples=['graphrag-rdf relations inverse employs "works for" --by "R. Tennant"']
)
@click.argument("relation", metavar="RELATION")
@click.argument("other", metavar="INVERSE")
@reason_option
@confidence_option
@by_option
@format_option()
def inverse_command(
    relation: str, other: str, reason: str | None, confidence: float, by: str | None, form: str
) -> None:
    """Decide that two relations to things, named by label or IRI, say the same in opposite directions.

    No fact is rewritten. Undo the decision with: graphrag-rdf relations undo
    """
    from graphrag_rdf.ingest.decisions import Person
    from graphrag_rdf.ingest.resolutions import Merge
    from graphrag_rdf.wings.merging.relations import merge_and_invert, pair_of_things

    with open_engine() as engine:
        members = pair_of_things([_called(engine, name) for name in (relation, other)])
        wanted = [Merge(members[0], members, reason, confidence)]
        made = merge_and_invert(engine, (), wanted, by=Person(by).node, name=by)
    write_decisions(made, form, tr("they are inverse already"))


@click.command("split", cls=Command, examples=["graphrag-rdf relations split authored"])
@click.argument("relation", metavar="RELATION")
@reason_option
@by_option
@format_option()
def split_command(relation: str, reason: str | None, by: str | None, form: str) -> None:
    """Separate a relation from those with which it was merged; it will not be merged with them again."""
    from graphrag_rdf.ingest.decisions import Person
    from graphrag_rdf.ingest.relation_decisions import split

    with open_engine() as engine:
        called = list(_called(engine, relation).values())
        made = split(engine, called, by=Person(by).node, name=by, reason=reason)
    write_decisions(made, form)


def _called(engine: Engine, name: str) -> dict[Objects, NamedNode]:
    from graphrag_rdf.wings.merging.relations import relations_called

    return relations_called(engine.store, name, engine.settings.extract.namespace)


@click.command(
    "normalise",
    cls=Command,
    examples=[
        "graphrag-rdf relations normalise --dry-run",
        "graphrag-rdf relations normalise --by meaning --min-score 0.75",
        "graphrag-rdf relations normalise --by model --model openai/gpt-4.1-mini --apply",
        "graphrag-rdf relations normalise --undo",
    ],
)
@proposal_options(
    "decisions",
    apply="Merge them, or decide that they are inverse.",
    limit="Maximum number of pairs or decisions.",
)
@click.option(
    "--by",
    "ways",
    multiple=True,
    type=click.Choice(WAYS),
    help="Pair active and passive, compare with loaded ontologies, by embeddings, or ask the model; may be "
    "repeated. Default: all but the model.",
)
@click.option(
    "--min-score",
    type=click.FloatRange(0, 1),
    default=0.9,
    show_default=True,
    help="Minimum score; below 0.89, names that mean alike count too.",
)
@model_option
@format_option("text", "json", "jsonl")
def normalise_command(
    act: str | None,
    ways: tuple[str, ...],
    limit: int | None,
    min_score: float,
    model: str | None,
    form: str,
) -> None:
    """Find relations that say the same, or the same in opposite directions; list them, decide, or undo it.

    Names that differ in form only, such as works at and worked at, are merged by each ingest.
    """
    from graphrag_rdf.wings.merging import relation_normalisation as normalisation

    with open_engine({"llm.model": model}, beside=act not in ("apply", "undo")) as engine:
        if act == "undo":
            undo_all(engine, normalisation.standing(engine.store), limit, form)
            return
        proposals = _propose(engine, ways or WAYS[:3], min_score, limit)
        if act == "apply":
            normalisation.apply(engine, proposals)
    columns = (
        tr("score"),
        tr("rule"),
        tr("name"),
        tr("other name"),
        tr("facts"),
        tr("facts of the other"),
    )
    rows = [
        (f"{p.pair.score:.2f}", p.pair.rule, *map(one_line, p.names), *map(str, p.facts)) for p in proposals
    ]
    write_merges(proposals, form, columns, rows, applied=act == "apply")


def _propose(engine: Engine, ways: tuple[str, ...], min_score: float, limit: int | None) -> list[Any]:
    from graphrag_rdf.errors import ConfigError
    from graphrag_rdf.wings.merging import relation_normalisation as normalisation
    from graphrag_rdf.wings.merging.relations_by_model import by_model

    known = normalisation.read_known(engine)
    pairs: list[normalisation.Pair] = []
    if "form" in ways:
        pairs += normalisation.by_form(known)
    if "ontology" in ways:
        pairs += normalisation.by_ontology(engine.store, known)
    if "meaning" in ways:
        pairs += normalisation.by_meaning(engine, known, min_score)
    model = engine.settings.llm.model
    if "model" in ways:
        if model is None:
            raise ConfigError(tr("--by model needs a language model"), hint=tr("name one with --model"))
        found, dropped = by_model(engine, known, model)
        pairs += found
        for reason, number in dropped.items():
            say(
                tr("left out of the model's answers: {number} × {reason}").format(
                    number=number, reason=reason
                )
            )
    return normalisation.choose(
        engine, known, pairs, min_score=min_score, limit=limit, by=model if "model" in ways else None
    )
