"""`entities`: list entities, and decide which of them are the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from pyoxigraph import NamedNode

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.decided import (
    by_option,
    confidence_option,
    decisions_in_effect,
    reason_option,
    write_decisions,
)
from graphrag_rdf.cli.output import format_option, one_line, say
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.rdf.terms import local_name, node_of, one_label, text_of, to_python

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.ingest.entity_links import Proposal


@click.group(cls=Group, examples=["graphrag-rdf entities list --match harbour"])
def entities_command() -> None:
    """List entities, and decide which of them are the same."""


@entities_command.command("list", examples=["graphrag-rdf entities list --match harbour --limit 10"])
@click.option("--match", "text", default="", metavar="TEXT", help="Only names that contain this text.")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="Number of entities.")
@format_option("text", "json", "jsonl")
def list_(text: str, limit: int, form: str) -> None:
    """List entities, those with the most facts first. Merged entities are listed as one."""
    with open_engine(beside=True) as engine:
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
    """Describe an entity, named by label or IRI: its types, links to vocabularies, and what texts say of it.

    If several texts do, `refresh summaries` merges their descriptions into one.
    """
    from graphrag_rdf.ingest.entity_links import read_links
    from graphrag_rdf.rdf.json_values import to_json

    with open_engine(beside=True) as engine:
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
        members = [node_of(row["member"]) for row in store.select("server/members", entity=one)] or [one]
        links = read_links(store, members)
    found = {
        "iri": one.value,
        "name": text_of(labels[0]["label"]) if labels else local_name(one.value),
        "types": [text_of(row["label"]) for row in called],
        "description": text_of(merged[0]["text"]) if merged else None,
        "model": text_of(merged[0]["model"]) if merged and "model" in merged[0] else None,
        "summary": text_of(merged[0]["summary"]) if merged else None,
        "descriptions": [{name: text_of(row[name]) for name in ("text", "chunk", "title")} for row in said],
        "links": to_json(links),
    }
    if not output.write(form, found):
        _show(found)


def _show(found: dict[str, Any]) -> None:
    by = found["model"] or "quoted, without a model"
    rows: list[tuple[str, object]] = [("name", found["name"]), ("IRI", found["iri"])]
    rows += [("types", ", ".join(found["types"]))] if found["types"] else []
    rows += [("description", f"{found['description']} ({by})")] if found["description"] else []
    for link in found["links"]:
        how = f"{link['name']}, {link['method']}, {link['confidence']:.2f}"
        rows.append((local_name(link["relation"]), f"{link['thing']} ({how})"))
    output.pairs(rows)
    for link in found["links"]:
        for quote in link["evidence"]:
            say(one_line(f"  “{quote['text']}” ({quote['title']})"))
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
@reason_option
@confidence_option
@by_option
@format_option()
def merge_(
    keep: str, others: tuple[str, ...], reason: str | None, confidence: float, by: str | None, form: str
) -> None:
    """Decide that entities, named by label or IRI, are the same; the first one represents them.

    No fact is rewritten. Undo the decision with: graphrag-rdf entities undo
    """
    from graphrag_rdf.ingest.decisions import PERSON, Merge
    from graphrag_rdf.ingest.entity_decisions import merge
    from graphrag_rdf.rdf import iris

    with open_engine() as engine:
        members = [engine.entity(name) for name in (keep, *others)]
        wanted = Merge(members[0], tuple(members), reason, confidence)
        made = merge(engine, [wanted], by=iris.person(by) if by else PERSON, name=by)
    write_decisions(made, form, "they are merged already")


@entities_command.command("split", examples=['graphrag-rdf entities split "Miss Marwick"'])
@click.argument("entity", metavar="ENTITY")
@reason_option
@by_option
@format_option()
def split_(entity: str, reason: str | None, by: str | None, form: str) -> None:
    """Separate an entity from those with which it was merged; it will not be merged with them again."""
    from graphrag_rdf.ingest.decisions import PERSON
    from graphrag_rdf.ingest.entity_decisions import split
    from graphrag_rdf.rdf import iris

    with open_engine() as engine:
        node = engine.entity(entity)
        made = split(engine, node, by=iris.person(by) if by else PERSON, name=by, reason=reason)
    write_decisions([made], form)


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

    with open_engine(beside=act is None) as engine:
        if act == "undo":
            taken = normalisation.standing(engine.store)[::-1][:limit]
            undo(engine, taken)
            write_decisions(taken, form, "nothing to undo", done="undone")
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


@entities_command.command(
    "link",
    examples=[
        "graphrag-rdf entities link --vocabulary places.ttl --dry-run",
        "graphrag-rdf entities link --vocabulary http://example.org/places --apply",
        "graphrag-rdf entities link --undo",
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
@click.option("--dry-run", "act", flag_value="dry-run", help="List the proposed links (the default).")
@click.option("--apply", "act", flag_value="apply", help="Make the links.")
@click.option("--undo", "act", flag_value="undo", help="Undo all links of this command, newest first.")
@click.option("--limit", type=click.IntRange(1), help="Maximum number of links.")
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    default=0.8,
    show_default=True,
    help="Minimum confidence of a link.",
)
@click.option("--again", is_flag=True, help="Also propose links that were undone.")
@reason_option
@by_option
@format_option("text", "json", "jsonl")
def link(
    entity: str | None,
    thing: str | None,
    vocabulary: str | None,
    act: str | None,
    limit: int | None,
    min_confidence: float,
    again: bool,
    reason: str | None,
    by: str | None,
    form: str,
) -> None:
    """Link entities to a reference vocabulary: SKOS concepts and OWL individuals, loaded or imported.

    Names find candidates; the sentences that mention an entity, and types, decide. What several things fit,
    or means different things in different documents, is listed and not linked. With ENTITY, and THING by its
    IRI, the link is your decision.
    """
    from graphrag_rdf.ingest import entity_links
    from graphrag_rdf.ingest.decisions import PERSON
    from graphrag_rdf.ingest.entity_decisions import undo
    from graphrag_rdf.rdf import iris

    if entity and (not thing or act):
        raise UsageError("a link by hand needs ENTITY and the IRI of THING, and none of --apply, --undo")
    with open_engine() as engine:
        if entity and thing:
            node, person = engine.entity(entity), iris.person(by) if by else PERSON
            made = entity_links.link_by_hand(engine, node, _iri(thing), by=person, name=by, reason=reason)
            write_decisions([made], form)
            return
        if act == "undo":
            taken = entity_links.standing(engine.store)[::-1][:limit]
            undo(engine, taken)
            write_decisions(taken, form, "nothing to undo", done="undone")
            return
        name = _vocabulary(engine, vocabulary, may_load=act == "apply") if vocabulary else None
        chosen = entity_links.choose_vocabularies(engine.store, name)
        found = entity_links.propose(engine, chosen, min_confidence=min_confidence, again=again)
        links = [one for one in found if one.outcome == "link"][:limit]
        left = [one for one in found if one.outcome != "link"]
        if act == "apply":
            entity_links.apply(engine, links)
    _print_links(links, left, form, applied=act == "apply")


def _iri(text: str) -> NamedNode:
    try:
        return NamedNode(text.strip("<>"))
    except ValueError as error:
        raise UsageError(f"{text!r} is not an IRI: {error}") from error


def _vocabulary(engine: Engine, name: str, *, may_load: bool) -> str:
    """The IRI of a vocabulary; a file that is not loaded is loaded."""
    path = Path(name)
    if not path.is_file():
        return name
    from graphrag_rdf.exchange.ontologies import load_ontologies, ontology_versions, read_ontologies
    from graphrag_rdf.ingest.entity_decisions import refresh_links
    from graphrag_rdf.rdf.terms import now

    imported = path.resolve().as_uri()
    if any(text_of(row["name"]) == imported for row in engine.store.select("linking/vocabularies")):
        return imported
    graphs = {version.graph for version in ontology_versions(engine.store) if version.active}
    file = read_ontologies([path])[0][0]
    if file.graph.value not in graphs:
        if not may_load:
            raise UsageError(
                f"{name} is not loaded", hint=f"load it first: graphrag-rdf ontology load {name}"
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
    columns = ("confidence", "entity", "outcome", "thing", "matched name", "method")
    rows = [
        (
            f"{one.best.confidence:.2f}",
            one_line(one.name),
            local_name(one.relation.value) if one.outcome == "link" else one.outcome,
            one.best.thing.value,
            one_line(one.best.matched.value),
            one.best.method,
        )
        for one in (*links, *left)
    ]
    output.table(columns, rows)
    counted = Counter(one.outcome for one in left)
    listed = "".join(f", {number} {outcome}" for outcome, number in sorted(counted.items()))
    number = "1 link" if len(links) == 1 else f"{len(links):,} links"
    if applied:
        say(f"{number} made{listed}; undo with: graphrag-rdf entities link --undo")
    else:
        say(f"{number}{listed}; make them with: graphrag-rdf entities link --apply")


@entities_command.command("decisions", examples=["graphrag-rdf entities decisions --format json"])
@click.option("--all", "every", is_flag=True, help="Also list those that were undone.")
@format_option("text", "json", "jsonl")
def decisions(every: bool, form: str) -> None:
    """List the decisions about entities, oldest first."""
    from graphrag_rdf.ingest.decisions import read_decisions

    with open_engine(beside=True) as engine:
        found = [d for d in read_decisions(engine.store) if every or d.undone is None]
    write_decisions(found, form, "no decisions", done="")


@entities_command.command("undo", examples=["graphrag-rdf entities undo urn:graphrag-rdf:merge:…"])
@click.argument("iris", metavar="DECISION...", nargs=-1, required=True)
@format_option()
def undo_(iris: tuple[str, ...], form: str) -> None:
    """Undo decisions, named by IRI. They stay on record, without effect."""
    from graphrag_rdf.ingest.decisions import ENTITIES
    from graphrag_rdf.ingest.entity_decisions import undo

    with open_engine() as engine:
        taken = decisions_in_effect(engine, iris, ENTITIES)
        undo(engine, taken)
    write_decisions(taken, form, done="undone")
