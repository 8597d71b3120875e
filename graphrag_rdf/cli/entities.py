"""`entities`: list entities, and decide which of them are the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.output import format_option, one_line, say
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.rdf.terms import local_name, node_of, one_label, text_of, to_python

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.ingest.entity_decisions import Decision

_by_option = click.option("--by", metavar="NAME", help="Your name, stored with the decision.")
_reason_option = click.option("--reason", metavar="TEXT", help="Reason, stored with the decision.")


@click.group(cls=Group, examples=["graphrag-rdf entities list --match harbour"])
def entities_command() -> None:
    """List entities, and decide which of them are the same."""


@entities_command.command("list", examples=["graphrag-rdf entities list --match harbour --limit 10"])
@click.option("--match", "text", default="", metavar="TEXT", help="Only names that contain this text.")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="Number of entities.")
@format_option("text", "json", "jsonl")
def list_(text: str, limit: int, form: str) -> None:
    """List entities, those with the most facts first. Merged entities are listed as one."""
    with open_engine() as engine:
        rows = engine.store.select("entities/list", text=text, limit=limit)
    found = [
        {
            "iri": text_of(row["entity"]),
            "name": text_of(row["name"]),
            "facts": to_python(row["facts"]),
            "members": to_python(row["members"]),
        }
        for row in rows
    ]
    if not output.write(form, found):
        output.table(("name", "facts", "iri"), [(e["name"], e["facts"], e["iri"]) for e in found])


@entities_command.command("show", examples=['graphrag-rdf entities show "Port Merrin"'])
@click.argument("entity", metavar="ENTITY")
@format_option()
def show(entity: str, form: str) -> None:
    """Describe an entity, named by label or IRI: its types, and what texts say that it is.

    If several texts do, `refresh summaries` merges their descriptions into one.
    """
    with open_engine() as engine:
        node = engine.entity(entity)
        store = engine.store
        canonical = [
            node_of(row["canonical"]) for row in store.select("retrieval/canonical", entities=[node])
        ]
        one = canonical[0] if canonical else node
        labels = one_label(store.select("retrieval/labels", things=[one]))
        types = [node_of(row["type"]) for row in store.select("entities/types", entities=[one])]
        called = one_label(store.select("retrieval/labels", things=types)) if types else []
        merged = [row for row in store.select("derived/descriptions", entities=[one]) if "summary" in row]
        said = store.select("entities/described", entity=one)
    found = {
        "iri": one.value,
        "name": text_of(labels[0]["label"]) if labels else local_name(one.value),
        "types": [text_of(row["label"]) for row in called],
        "description": text_of(merged[0]["text"]) if merged else None,
        "model": text_of(merged[0]["model"]) if merged and "model" in merged[0] else None,
        "summary": text_of(merged[0]["summary"]) if merged else None,
        "descriptions": [{name: text_of(row[name]) for name in ("text", "chunk", "title")} for row in said],
    }
    if not output.write(form, found):
        _show(found)


def _show(found: dict[str, Any]) -> None:
    by = found["model"] or "quoted, without a model"
    rows: list[tuple[str, object]] = [("name", found["name"]), ("IRI", found["iri"])]
    rows += [("types", ", ".join(found["types"]))] if found["types"] else []
    rows += [("description", f"{found['description']} ({by})")] if found["description"] else []
    output.pairs(rows)
    for one in found["descriptions"]:
        say(one_line(f"  {one['text']} ({one['title']})"))


@entities_command.command(
    "merge",
    examples=[
        'graphrag-rdf entities merge "Elspeth Marwick" "Miss Marwick" --reason "the same person"',
    ],
)
@click.argument("keep", metavar="ENTITY")
@click.argument("others", metavar="OTHER...", nargs=-1, required=True)
@_reason_option
@click.option(
    "--confidence", type=click.FloatRange(0, 1), default=1.0, show_default=True, help="Your confidence."
)
@_by_option
@format_option()
def merge_(
    keep: str, others: tuple[str, ...], reason: str | None, confidence: float, by: str | None, form: str
) -> None:
    """Decide that entities, named by label or IRI, are the same; the first one represents them.

    No fact is rewritten. Undo the decision with: graphrag-rdf entities undo
    """
    from graphrag_rdf.ingest.entity_decisions import PERSON, Merge, merge
    from graphrag_rdf.rdf import iris

    with open_engine() as engine:
        members = [engine.entity(name) for name in (keep, *others)]
        wanted = Merge(members[0], tuple(members), reason, confidence)
        made = merge(engine, [wanted], by=iris.person(by) if by else PERSON, name=by)
    _print(made, form, "they are merged already")


@entities_command.command("split", examples=['graphrag-rdf entities split "Miss Marwick"'])
@click.argument("entity", metavar="ENTITY")
@_reason_option
@_by_option
@format_option()
def split_(entity: str, reason: str | None, by: str | None, form: str) -> None:
    """Separate an entity from those with which it was merged; it will not be merged with them again."""
    from graphrag_rdf.ingest.entity_decisions import PERSON, split
    from graphrag_rdf.rdf import iris

    with open_engine() as engine:
        node = engine.entity(entity)
        made = split(engine, node, by=iris.person(by) if by else PERSON, name=by, reason=reason)
    _print([made], form)


@entities_command.command(
    "normalise",
    examples=[
        "graphrag-rdf entities normalise --dry-run",
        "graphrag-rdf entities normalise --apply --limit 20",
        "graphrag-rdf entities normalise --undo",
    ],
)
@click.option("--dry-run", "act", flag_value="dry-run", help="List the proposed merges (the default).")
@click.option("--apply", "act", flag_value="apply", help="Merge them.")
@click.option("--undo", "act", flag_value="undo", help="Undo all merges of this command, newest first.")
@click.option("--limit", type=click.IntRange(1), help="Maximum number of pairs or decisions.")
@click.option(
    "--min-score",
    type=click.FloatRange(0, 1),
    default=0.9,
    show_default=True,
    help="Minimum similarity; below 0.89, similar spellings count too.",
)
@format_option("text", "json", "jsonl")
def normalise(act: str | None, limit: int | None, min_score: float, form: str) -> None:
    """Find entities whose names differ only in their writing; list them, merge them, or undo the merges."""
    from graphrag_rdf.ingest import normalisation
    from graphrag_rdf.ingest.entity_decisions import undo

    with open_engine() as engine:
        if act == "undo":
            taken = normalisation.standing(engine.store)[::-1][:limit]
            undo(engine, taken)
            _print(taken, form, "nothing to undo", done="undone")
            return
        proposals = normalisation.propose(engine, min_score=min_score, limit=limit)
        if act == "apply":
            normalisation.apply(engine, proposals)
    found = [proposal.as_json() for proposal in proposals]
    if form == "json":
        output.write_json({"applied": act == "apply", "proposals": found})
    elif form == "jsonl":
        output.write_jsonl(found)
    else:
        rows = [(f"{p.score:.2f}", p.rule, *map(one_line, p.names), p.documents) for p in proposals]
        output.table(("score", "rule", "name", "other name", "shared documents"), rows)
        if act == "apply":
            say(f"merged {len(found)} pairs; undo with: graphrag-rdf entities normalise --undo")
        else:
            say(f"{len(found)} pairs; merge them with: graphrag-rdf entities normalise --apply")


@entities_command.command("decisions", examples=["graphrag-rdf entities decisions --format json"])
@click.option("--all", "every", is_flag=True, help="Also list those that were undone.")
@format_option("text", "json", "jsonl")
def decisions(every: bool, form: str) -> None:
    """List the decisions about entities, oldest first."""
    from graphrag_rdf.ingest.entity_decisions import read_decisions

    with open_engine() as engine:
        found = [d for d in read_decisions(engine.store) if every or d.undone is None]
    _print(found, form, "no decisions", done="")


@entities_command.command("undo", examples=["graphrag-rdf entities undo urn:graphrag-rdf:merge:…"])
@click.argument("iris", metavar="DECISION...", nargs=-1, required=True)
@format_option()
def undo_(iris: tuple[str, ...], form: str) -> None:
    """Undo decisions, named by IRI. They stay on record, without effect."""
    from graphrag_rdf.ingest.entity_decisions import undo

    with open_engine() as engine:
        taken = _standing(engine, iris)
        undo(engine, taken)
    _print(taken, form, done="undone")


def _standing(engine: Engine, iris: Sequence[str]) -> list[Decision]:
    from graphrag_rdf.ingest.entity_decisions import read_decisions

    known = {d.iri.value: d for d in read_decisions(engine.store) if d.undone is None}
    for iri in iris:
        if iri not in known:
            raise UsageError(
                f"no decision in effect has the IRI {iri}",
                hint="graphrag-rdf entities decisions lists them",
            )
        if known[iri].made is None:
            raise UsageError(
                f"{iri} comes from the synonyms file", hint="remove its line from the file, and ingest again"
            )
    return [known[iri] for iri in dict.fromkeys(iris)]


def _print(found: Sequence[Decision], form: str, none: str = "", done: str = "decided") -> None:
    from graphrag_rdf.rdf.json_values import to_json

    items: list[dict[str, Any]] = to_json(found)
    if output.write(form, items):
        return
    if not items:
        say(none)
    for item in items:
        chosen = item["canonical"] or item["apart"]
        others = ", ".join(member for member in item["members"] if member != chosen)
        link = "represents" if item["kind"] == "merge" else "is not"
        when = " (undone)" if item["undone"] and not done else ""
        say(one_line(f"{done} {item['iri']}: {chosen} {link} {others}{when}".strip()))
