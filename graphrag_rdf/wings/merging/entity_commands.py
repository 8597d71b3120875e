"""`entities merge, split, normalise, link`: which entities are the same, and links of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command, iri_of, model_option
from graphrag_rdf.cli.decisions import write_decisions
from graphrag_rdf.cli.output import format_option, one_line, say
from graphrag_rdf.cli.process import DONE, IN_PART
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import ngettext, tr
from graphrag_rdf.rdf.terms import local_name
from graphrag_rdf.wings.merging.proposals import (
    by_option,
    confidence_option,
    proposal_options,
    reason_option,
    undo_all,
    write_merges,
)

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.wings.merging.links import Proposal
    from graphrag_rdf.wings.merging.links_by_model import Judged


@click.command(
    "merge",
    cls=Command,
    examples=[
        'graphrag-rdf entities merge "Elspeth Marwick" "Miss Marwick" --reason "the same person"',
    ],
)
@click.argument("keep", metavar="ENTITY")
@click.argument("others", metavar="OTHER...", nargs=-1, required=True)
@reason_option
@confidence_option
@by_option
@format_option()
def merge_command(
    keep: str, others: tuple[str, ...], reason: str | None, confidence: float, by: str | None, form: str
) -> None:
    """Decide that entities, named by label or IRI, are the same; the first one represents them.

    No fact is rewritten. Undo the decision with: graphrag-rdf entities undo
    """
    from graphrag_rdf.ingest.decisions import Person
    from graphrag_rdf.ingest.entity_decisions import merge
    from graphrag_rdf.ingest.resolutions import Merge

    with open_engine() as engine:
        members = [engine.entity(name) for name in (keep, *others)]
        wanted = Merge(members[0], tuple(members), reason, confidence)
        made = merge(engine, [wanted], by=Person(by).node, name=by)
    write_decisions(made, form, tr("they are merged already"))


@click.command("split", cls=Command, examples=['graphrag-rdf entities split "Miss Marwick"'])
@click.argument("entity", metavar="ENTITY")
@reason_option
@by_option
@format_option()
def split_command(entity: str, reason: str | None, by: str | None, form: str) -> None:
    """Separate an entity from those with which it was merged; it will not be merged with them again."""
    from graphrag_rdf.ingest.decisions import Person
    from graphrag_rdf.ingest.entity_decisions import split

    with open_engine() as engine:
        node = engine.entity(entity)
        made = split(engine, [node], by=Person(by).node, name=by, reason=reason)
    write_decisions(made, form)


@click.command(
    "normalise",
    cls=Command,
    examples=[
        "graphrag-rdf entities normalise --dry-run",
        "graphrag-rdf entities normalise --apply --limit 20",
        "graphrag-rdf entities normalise --undo",
    ],
)
@proposal_options("merges", apply="Merge them.", limit="Maximum number of pairs or decisions.")
@click.option(
    "--min-score",
    type=click.FloatRange(0, 1),
    default=0.9,
    show_default=True,
    help="Minimum similarity; below 0.89, similar spellings count too.",
)
@format_option("text", "json", "jsonl")
def normalise_command(act: str | None, limit: int | None, min_score: float, form: str) -> None:
    """Find entities whose names differ only in their writing; list them, merge them, or undo the merges."""
    from graphrag_rdf.wings.merging import entity_normalisation as normalisation

    with open_engine(beside=act not in ("apply", "undo")) as engine:
        if act == "undo":
            undo_all(engine, normalisation.standing(engine.store), limit, form)
            return
        proposals = normalisation.propose(engine, min_score=min_score, limit=limit)
        if act == "apply":
            normalisation.apply(engine, proposals)
    columns = (tr("score"), tr("rule"), tr("name"), tr("other name"), tr("shared documents"))
    rows = [(f"{p.score:.2f}", p.rule, *map(one_line, p.names), p.documents) for p in proposals]
    write_merges(proposals, form, columns, rows, applied=act == "apply")


@click.command(
    "link",
    cls=Command,
    examples=[
        "graphrag-rdf entities link --vocabulary places.ttl --dry-run",
        "graphrag-rdf entities link --vocabulary http://example.org/places --apply",
        "graphrag-rdf entities link --undo",
        "graphrag-rdf entities link --by-model --model openai/gpt-4.1-mini --apply",
        'graphrag-rdf entities link "Port Merrin" http://example.org/places#merrin',
    ],
)
@click.argument("entity", metavar="[ENTITY", required=False)
@click.argument("thing", metavar="THING]", required=False)
@click.option(
    "--vocabulary",
    metavar="IRI|FILE",
    help="Loaded ontology, SKOS scheme, imported file, or a file, which --apply loads. Default: all.",
)
@proposal_options("links", apply="Make the links.", limit="Maximum number of links.")
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    default=0.8,
    show_default=True,
    help="Minimum confidence of a link.",
)
@click.option("--again", is_flag=True, help="Also propose links that were undone.")
@click.option(
    "--by-model", is_flag=True, help="Ask the model about entities that several things fit equally well."
)
@model_option
@reason_option
@by_option
@format_option("text", "json", "jsonl")
def link_command(
    entity: str | None,
    thing: str | None,
    vocabulary: str | None,
    act: str | None,
    limit: int | None,
    min_confidence: float,
    again: bool,
    by_model: bool,
    model: str | None,
    reason: str | None,
    by: str | None,
    form: str,
) -> int:
    """Link entities to a reference vocabulary: SKOS concepts and OWL individuals, loaded or imported.

    Names find candidates; the sentences that mention an entity, and types, decide. Entities that fit several
    things, or mean different things in different documents, are listed and not linked; with --by-model, a
    model judges the first kind. With ENTITY, and THING by its IRI, the link is your decision.
    """
    from graphrag_rdf.ingest.decisions import Person
    from graphrag_rdf.wings.merging import links as entity_links

    if entity and (not thing or act):
        raise UsageError(tr("a link by hand needs ENTITY and the IRI of THING, and none of --apply, --undo"))
    overrides = {"llm.model": model}
    judged: Judged | None = None
    with open_engine(overrides, beside=not entity and act not in ("apply", "undo")) as engine:
        if entity and thing:
            node, agent = engine.entity(entity), Person(by).node
            made = entity_links.link_by_hand(engine, node, iri_of(thing), by=agent, name=by, reason=reason)
            write_decisions([made], form)
            return DONE
        if act == "undo":
            undo_all(engine, entity_links.standing(engine.store), limit, form)
            return DONE
        name = _vocabulary(engine, vocabulary, may_load=act == "apply") if vocabulary else None
        chosen = entity_links.choose_vocabularies(engine.store, name)
        found = entity_links.propose(engine, chosen, min_confidence=min_confidence, again=again)
        if by_model:
            judged = _judged(engine, found, min_confidence)
            found = judged.proposals
        links = [one for one in found if one.outcome == "link"][:limit]
        left = [one for one in found if one.outcome != "link"]
        if act == "apply":
            entity_links.apply(engine, links)
    _print_links(links, left, form, applied=act == "apply")
    for failure in judged.failures if judged else ():
        output.warn(tr("the model did not judge some entities, which are left: {why}").format(why=failure))
    for why, number in judged.dropped.items() if judged else ():
        output.note(
            tr("left out of the model's answers: {number} × {reason}").format(number=number, reason=why)
        )
    return IN_PART if judged and judged.failures else DONE


def _judged(engine: Engine, found: Sequence[Proposal], min_confidence: float) -> Judged:
    from graphrag_rdf.errors import ConfigError
    from graphrag_rdf.wings.merging.links_by_model import by_model

    model = engine.settings.llm.model
    if model is None:
        raise ConfigError(tr("--by-model needs a language model"), hint=tr("name one with --model"))
    return by_model(engine, found, model, min_confidence)


def _vocabulary(engine: Engine, name: str, *, may_load: bool) -> str:
    """The IRI of a vocabulary; a file that is not loaded is loaded."""
    path = Path(name)
    if not path.is_file():
        return name
    from graphrag_rdf.exchange.ontologies import load_ontologies, ontology_versions, read_ontologies
    from graphrag_rdf.ingest.entity_decisions import refresh_links
    from graphrag_rdf.rdf.terms import now

    imported = path.resolve().as_uri()
    if any(row["name"] == imported for row in engine.store.select("linking/vocabularies")):
        return imported
    graphs = {version.graph for version in ontology_versions(engine.store) if version.active}
    file = read_ontologies([path])[0][0]
    if file.graph.value not in graphs:
        if not may_load:
            raise UsageError(
                tr("{name} is not loaded").format(name=name),
                hint=tr("load it first: graphrag-rdf ontology load {name}").format(name=name),
            )
        settings = engine.settings
        namespace, keep = settings.extract.namespace, settings.reasoning.keep
        load_ontologies(engine.store, [path], namespace, now(), keep=keep)
        refresh_links(engine)
    return file.graph.value


def _print_links(links: Sequence[Proposal], left: Sequence[Proposal], form: str, *, applied: bool) -> None:
    from graphrag_rdf.rdf.json_values import to_json

    if form == "json":
        output.write_json({"applied": applied, "links": to_json(links), "left": to_json(left)})
        return
    if form == "jsonl":
        output.write_jsonl(to_json([*links, *left]))
        return
    columns = (
        tr("confidence"),
        tr("entity"),
        tr("outcome"),
        tr("thing"),
        tr("matched name"),
        tr("method"),
    )
    rows = [
        (
            f"{one.best.confidence:.2f}",
            one_line(one.name),
            local_name(one.relation.value) if one.outcome == "link" else one.outcome,
            one.best.thing.value,
            one_line(one.best.matched.value),
            f"{one.best.method}, {one.by}" if one.by else one.best.method,
        )
        for one in (*links, *left)
    ]
    output.table(columns, rows)
    outcomes = Counter(one.outcome for one in left)
    listed = "".join(f", {number} {outcome}" for outcome, number in sorted(outcomes.items()))
    told = (
        ngettext(
            "{number:,} link made{others}; undo with: graphrag-rdf entities link --undo",
            "{number:,} links made{others}; undo with: graphrag-rdf entities link --undo",
            len(links),
        )
        if applied
        else ngettext(
            "{number:,} link{others}; make them with: graphrag-rdf entities link --apply",
            "{number:,} links{others}; make them with: graphrag-rdf entities link --apply",
            len(links),
        )
    )
    # translators: {others} lists entities without a link, as ", 3 ambiguous, 2 uncertain", or is empty
    say(told.format(number=len(links), others=listed))
