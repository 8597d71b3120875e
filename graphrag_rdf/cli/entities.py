"""`entities`: what the facts are about, and which of them are one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.output import format_option, one_line, say
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.rdf.terms import text_of, to_python

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.ingest.entity_decisions import Decision

_by_option = click.option("--by", metavar="NAME", help="Who decides; kept with the decision.")
_reason_option = click.option("--reason", metavar="TEXT", help="Why; kept with the decision.")


@click.group(cls=Group, examples=["graphrag-rdf entities list --match harbour"])
def entities_command() -> None:
    """The entities of the knowledge graph, and decisions about which of them are one."""


@entities_command.command("list", examples=["graphrag-rdf entities list --match harbour --limit 10"])
@click.option("--match", "text", default="", metavar="TEXT", help="Only names that hold this text.")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="How many.")
@format_option("text", "json", "jsonl")
def list_(text: str, limit: int, form: str) -> None:
    """List entities, those with the most facts first; those that were merged are listed as one."""
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
    if form == "json":
        output.write_json(found)
    elif form == "jsonl":
        output.write_jsonl(found)
    else:
        output.table(("name", "facts", "iri"), [(e["name"], e["facts"], e["iri"]) for e in found])


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
    "--confidence", type=click.FloatRange(0, 1), default=1.0, show_default=True, help="How sure you are."
)
@_by_option
@format_option()
def merge_(
    keep: str, others: tuple[str, ...], reason: str | None, confidence: float, by: str | None, form: str
) -> None:
    """Decide that entities, named by label or IRI, are one; the first stands for all.

    No fact is rewritten, and the decision can be taken back.
    """
    from graphrag_rdf.ingest.entity_decisions import PERSON, Merge, merge
    from graphrag_rdf.rdf import iris

    with open_engine() as engine:
        members = [engine.entity(name) for name in (keep, *others)]
        wanted = Merge(members[0], tuple(members), reason, confidence)
        made = merge(engine, [wanted], by=iris.person(by) if by else PERSON, name=by)
    _print(made, form, "they are one already")


@entities_command.command("split", examples=['graphrag-rdf entities split "Miss Marwick"'])
@click.argument("entity", metavar="ENTITY")
@_reason_option
@_by_option
@format_option()
def split_(entity: str, reason: str | None, by: str | None, form: str) -> None:
    """Decide that an entity is none of those with which it was merged; it is not merged with them again."""
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
@click.option("--dry-run", "act", flag_value="dry-run", help="List what would be merged (the default).")
@click.option("--apply", "act", flag_value="apply", help="Merge them.")
@click.option(
    "--undo", "act", flag_value="undo", help="Take back all that this command merged, newest first."
)
@click.option("--limit", type=click.IntRange(1), help="At most so many pairs or decisions.")
@click.option(
    "--min-score",
    type=click.FloatRange(0, 1),
    default=0.9,
    show_default=True,
    help="How alike; below 0.89 names that are spelt alike count too.",
)
@format_option("text", "json", "jsonl")
def normalise(act: str | None, limit: int | None, min_score: float, form: str) -> None:
    """Find entities that are one but for the writing of their names; list, merge, or take merges back."""
    from graphrag_rdf.ingest import normalisation
    from graphrag_rdf.ingest.entity_decisions import undo

    with open_engine() as engine:
        if act == "undo":
            taken = normalisation.standing(engine.store)[::-1][:limit]
            undo(engine, taken)
            _print(taken, form, "nothing to take back", done="taken back")
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
        say(f"{len(found)} pairs {'merged' if act == 'apply' else 'would be merged'}")
        if found:
            way = "--undo takes these merges back" if act == "apply" else "--apply merges them"
            output.note(f"entities normalise {way}")


@entities_command.command(
    "synonyms",
    examples=[
        "graphrag-rdf entities synonyms --build",
        "graphrag-rdf entities synonyms --accept urn:graphrag-rdf:synonym:…",
        'graphrag-rdf ask --set exploration.synonym_weight=0.5 "Who was Charles Babage?"',
    ],
)
@click.option("--build", "act", flag_value="build", help="Compute the candidates anew.")
@click.option("--accept", metavar="CANDIDATE", multiple=True, help="Decide that the two are one.")
@click.option("--clear", "act", flag_value="clear", help="Take all candidates out; decisions stay.")
@click.option(
    "--min-score",
    type=click.FloatRange(0, 1),
    default=0.7,
    show_default=True,
    help="How alike, with --build.",
)
@format_option("text", "json", "jsonl")
def synonyms(act: str | None, accept: tuple[str, ...], min_score: float, form: str) -> None:
    """Entities whose names are nearly the same: candidates with a score, which join nothing.

    They are listed. Accepted, two are one by a decision that can be taken back; the others only count as far
    as the parameter exploration.synonym_weight says, which is not at all.
    """
    from graphrag_rdf.ingest import normalisation

    if act and accept:
        raise UsageError("--accept goes without --build and --clear")
    with open_engine() as engine:
        if accept:
            _print(normalisation.accept_candidates(engine, accept), form, "they are one already")
            return
        if act == "clear":
            number = normalisation.clear_candidates(engine.store)
            output.write_json({"cleared": number}) if form == "json" else say(f"{number} candidates cleared")
            return
        if act == "build":
            found = normalisation.build_candidates(engine, min_score=min_score)
        else:
            found = normalisation.read_candidates(engine.store)
    items = [candidate.as_json() for candidate in found]
    if form == "json":
        output.write_json(items)
    elif form == "jsonl":
        output.write_jsonl(items)
    else:
        rows = [(f"{c.score:.2f}", *map(one_line, c.names), c.reason, c.iri.value) for c in found]
        output.table(("score", "name", "other name", "reason", "candidate"), rows)


@entities_command.command("decisions", examples=["graphrag-rdf entities decisions --format json"])
@click.option("--all", "every", is_flag=True, help="Also those that were taken back.")
@format_option("text", "json", "jsonl")
def decisions(every: bool, form: str) -> None:
    """List what was decided about entities being one or not, in order."""
    from graphrag_rdf.ingest.entity_decisions import read_decisions

    with open_engine() as engine:
        found = [d for d in read_decisions(engine.store) if every or d.undone is None]
    _print(found, form, "nothing was decided", done="")


@entities_command.command("undo", examples=["graphrag-rdf entities undo urn:graphrag-rdf:merge:…"])
@click.argument("iris", metavar="DECISION...", nargs=-1, required=True)
@format_option()
def undo_(iris: tuple[str, ...], form: str) -> None:
    """Take decisions back, named by IRI; all is as if they had not been made, and they stay on record."""
    from graphrag_rdf.ingest.entity_decisions import undo

    with open_engine() as engine:
        taken = _standing(engine, iris)
        undo(engine, taken)
    _print(taken, form, done="taken back")


def _standing(engine: Engine, iris: Sequence[str]) -> list[Decision]:
    from graphrag_rdf.ingest.entity_decisions import read_decisions

    known = {d.iri.value: d for d in read_decisions(engine.store) if d.undone is None}
    for iri in iris:
        if iri not in known:
            raise UsageError(
                f"no decision that stands has the IRI {iri}", hint="graphrag-rdf entities decisions"
            )
        if known[iri].made is None:
            raise UsageError(
                f"{iri} comes from the synonyms file", hint="take its line out of the file and ingest again"
            )
    return [known[iri] for iri in dict.fromkeys(iris)]


def _print(found: Sequence[Decision], form: str, none: str = "", done: str = "decided") -> None:
    items: list[dict[str, Any]] = [decision.as_json() for decision in found]
    if form == "json":
        output.write_json(items)
        return
    if form == "jsonl":
        output.write_jsonl(items)
        return
    if not items:
        say(none)
    for item in items:
        chosen = item["canonical"] or item["apart"]
        others = ", ".join(member for member in item["members"] if member != chosen)
        link = "stands for" if item["kind"] == "merge" else "is not"
        when = " (taken back)" if item["undone"] and not done else ""
        say(one_line(f"{done} {item['iri']}: {chosen} {link} {others}{when}".strip()))
