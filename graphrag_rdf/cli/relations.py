"""`relations`: list relations, and decide which of them are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group, model_option
from graphrag_rdf.cli.decided import (
    by_option,
    confidence_option,
    decisions_in_effect,
    reason_option,
    write_decisions,
)
from graphrag_rdf.cli.output import format_option, one_line, say
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.rdf.terms import node_of, one_label, text_of
from graphrag_rdf.rdf.wording import phrase_of

if TYPE_CHECKING:
    from pyoxigraph import NamedNode

    from graphrag_rdf.engine import Engine
    from graphrag_rdf.ingest.relation_decisions import Objects

WAYS = ("ontology", "meaning", "model")


@click.group(cls=Group, examples=["graphrag-rdf relations list --match work"])
def relations_command() -> None:
    """List the relations of facts, and decide which of them are the same."""


@relations_command.command("list", examples=["graphrag-rdf relations list --match work --limit 10"])
@click.option("--match", "text", default="", metavar="TEXT", help="Only names that contain this text.")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="Number of relations.")
@format_option("text", "json", "jsonl")
def list_(text: str, limit: int, form: str) -> None:
    """List relations, those with the most facts first. Merged relations are listed as one."""
    with open_engine(beside=True) as engine:
        store = engine.store
        rows = store.select("predicates/list", text=[text] if text else [], limit=limit)
        relations = [node_of(row["relation"]) for row in rows]
        members = store.select("predicates/members", relations=relations) if relations else []
        things = sorted({*relations, *(node_of(row["member"]) for row in members)}, key=str)
        labels = one_label(store.select("retrieval/labels", things=things)) if things else []
    names = {text_of(row["thing"]): text_of(row["label"]) for row in labels}
    found: list[dict[str, Any]] = [
        {
            "iri": text_of(row["relation"]),
            "name": names.get(text_of(row["relation"])) or phrase_of(text_of(row["relation"])),
            "facts": int(text_of(row["facts"])),
            "members": [
                {
                    "iri": text_of(one["member"]),
                    "name": names.get(text_of(one["member"])) or phrase_of(text_of(one["member"])),
                    "facts": int(text_of(one["facts"])),
                }
                for one in members
                if one["canonical"] == row["relation"]
            ],
        }
        for row in rows
    ]
    if not output.write(form, found):
        told = [(e["name"], e["facts"], _also(e), e["iri"]) for e in found]
        output.table(("name", "facts", "also called", "iri"), told)


def _also(entry: dict[str, Any]) -> str:
    return one_line(", ".join(one["name"] for one in entry["members"] if one["iri"] != entry["iri"]))


@relations_command.command(
    "merge", examples=['graphrag-rdf relations merge wrote authored --reason "they mean the same"']
)
@click.argument("keep", metavar="RELATION")
@click.argument("others", metavar="OTHER...", nargs=-1, required=True)
@reason_option
@confidence_option
@by_option
@format_option()
def merge_(
    keep: str, others: tuple[str, ...], reason: str | None, confidence: float, by: str | None, form: str
) -> None:
    """Decide that relations, named by label or IRI, are the same; the first one represents them.

    Relations to things and relations to values are merged apart. No fact is rewritten. Undo the decision
    with: graphrag-rdf relations undo
    """
    from graphrag_rdf.ingest.decisions import PERSON, Merge
    from graphrag_rdf.ingest.relation_decisions import merge, together
    from graphrag_rdf.rdf import iris

    with open_engine() as engine:
        called = [_called(engine, name) for name in (keep, *others)]
        wanted = [Merge(members[0], tuple(members), reason, confidence) for members in together(called)]
        made = merge(engine, wanted, by=iris.person(by) if by else PERSON, name=by)
    write_decisions(made, form, "they are merged already")


@relations_command.command("split", examples=["graphrag-rdf relations split authored"])
@click.argument("relation", metavar="RELATION")
@reason_option
@by_option
@format_option()
def split_(relation: str, reason: str | None, by: str | None, form: str) -> None:
    """Separate a relation from those with which it was merged; it will not be merged with them again."""
    from graphrag_rdf.ingest.decisions import PERSON
    from graphrag_rdf.ingest.relation_decisions import split
    from graphrag_rdf.rdf import iris

    agent = iris.person(by) if by else PERSON
    with open_engine() as engine:
        made = split(engine, list(_called(engine, relation).values()), by=agent, name=by, reason=reason)
    write_decisions(made, form)


def _called(engine: Engine, name: str) -> dict[Objects, NamedNode]:
    from graphrag_rdf.ingest.relation_decisions import relations_called

    return relations_called(engine.store, name, engine.settings.extract.namespace)


@relations_command.command(
    "normalise",
    examples=[
        "graphrag-rdf relations normalise --dry-run",
        "graphrag-rdf relations normalise --by meaning --min-score 0.75",
        "graphrag-rdf relations normalise --by model --model openai/gpt-4.1-mini --apply",
        "graphrag-rdf relations normalise --undo",
    ],
)
@click.option("--dry-run", "act", flag_value="dry-run", help="List the proposed merges (the default).")
@click.option("--apply", "act", flag_value="apply", help="Merge them.")
@click.option("--undo", "act", flag_value="undo", help="Undo all merges of this command, newest first.")
@click.option(
    "--by",
    "ways",
    multiple=True,
    type=click.Choice(WAYS),
    help="Compare with loaded ontologies, by embeddings, or ask the model; may be repeated. "
    "Default: ontology and meaning.",
)
@click.option("--limit", type=click.IntRange(1), help="Maximum number of pairs or decisions.")
@click.option(
    "--min-score",
    type=click.FloatRange(0, 1),
    default=0.9,
    show_default=True,
    help="Minimum score; below 0.89, names that mean alike count too.",
)
@model_option
@format_option("text", "json", "jsonl")
def normalise(
    act: str | None,
    ways: tuple[str, ...],
    limit: int | None,
    min_score: float,
    model: str | None,
    form: str,
) -> None:
    """Find relations whose names say the same; list them, merge them, or undo the merges.

    Names that differ in form only, such as works at and worked at, are merged by each ingest.
    """
    from graphrag_rdf.ingest import relation_normalisation as normalisation
    from graphrag_rdf.ingest.relation_decisions import undo

    with open_engine({"llm.model": model}) as engine:
        if act == "undo":
            taken = normalisation.standing(engine.store)[::-1][:limit]
            if taken:
                undo(engine, taken)
            write_decisions(taken, form, "nothing to undo", done="undone")
            return
        proposals = _propose(engine, ways or WAYS[:2], min_score, limit)
        if act == "apply":
            normalisation.apply(engine, proposals)
    found = [proposal.as_json() for proposal in proposals]
    if form == "json":
        output.write_json({"applied": act == "apply", "proposals": found})
    elif form == "jsonl":
        output.write_jsonl(found)
    else:
        rows = [
            (f"{p.pair.score:.2f}", p.pair.rule, *map(one_line, p.names), *map(str, p.facts))
            for p in proposals
        ]
        output.table(("score", "rule", "name", "other name", "facts", "other facts"), rows)
        if act == "apply":
            say(f"merged {len(found)} pairs; undo with: graphrag-rdf relations normalise --undo")
        else:
            say(f"{len(found)} pairs; merge them with: graphrag-rdf relations normalise --apply")


def _propose(engine: Engine, ways: tuple[str, ...], min_score: float, limit: int | None) -> list[Any]:
    from graphrag_rdf.errors import ConfigError
    from graphrag_rdf.ingest import relation_normalisation as normalisation
    from graphrag_rdf.tuning.relations import by_model

    known = normalisation.read_known(engine)
    pairs: list[normalisation.Pair] = []
    if "ontology" in ways:
        pairs += normalisation.by_ontology(engine.store, known)
    if "meaning" in ways:
        pairs += normalisation.by_meaning(engine, known, min_score)
    model = engine.settings.llm.model
    if "model" in ways:
        if model is None:
            raise ConfigError("--by model needs a language model", hint="name one with --model")
        found, dropped = by_model(engine, known, model)
        pairs += found
        for reason, number in dropped.items():
            say(f"left out of the model's answers: {number} × {reason}")
    return normalisation.choose(
        engine, known, pairs, min_score=min_score, limit=limit, by=model if "model" in ways else None
    )


@relations_command.command("decisions", examples=["graphrag-rdf relations decisions --format json"])
@click.option("--all", "every", is_flag=True, help="Also list those that were undone.")
@format_option("text", "json", "jsonl")
def decisions(every: bool, form: str) -> None:
    """List the decisions about relations, those by form first, then the oldest."""
    from graphrag_rdf.ingest.decisions import RELATIONS, read_decisions

    with open_engine(beside=True) as engine:
        found = [d for d in read_decisions(engine.store, RELATIONS) if every or d.undone is None]
    write_decisions(found, form, "no decisions", done="")


@relations_command.command("undo", examples=["graphrag-rdf relations undo urn:graphrag-rdf:relation-merge:…"])
@click.argument("iris", metavar="DECISION...", nargs=-1, required=True)
@format_option()
def undo_(iris: tuple[str, ...], form: str) -> None:
    """Undo decisions, named by IRI. They stay on record, without effect, and no ingest makes them again."""
    from graphrag_rdf.ingest.decisions import RELATIONS
    from graphrag_rdf.ingest.relation_decisions import undo

    with open_engine() as engine:
        taken = decisions_in_effect(engine, iris, RELATIONS)
        undo(engine, taken)
    write_decisions(taken, form, done="undone")
