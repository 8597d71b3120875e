"""`entities`: show one, and undo decisions; lists and wings bring the other commands."""

from __future__ import annotations

from typing import Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.decisions import add_undo_command
from graphrag_rdf.cli.output import format_option, one_line, say
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.i18n import bracketed, tr
from graphrag_rdf.rdf.terms import local_name, one_label, text_of

_NEAR = 10  # entities that are named with another, at most
_FACTS = 20  # that are shown


@click.group(cls=Group, examples=["graphrag-rdf entities list --match harbour"])
def entities_command() -> None:
    """List entities, and decide which of them are the same."""


@entities_command.command("show", examples=['graphrag-rdf entities show "Port Merrin"'])
@click.argument("entity", metavar="ENTITY")
@format_option()
def show(entity: str, form: str) -> None:
    """Describe an entity, named by label or IRI: its types, links to vocabularies, what texts say of it, its
    facts, and what sentences name with it.

    If several texts describe it, `refresh summaries` merges their descriptions into one.
    """
    from graphrag_rdf.ingest.entity_graph import sentences_of_pairs
    from graphrag_rdf.ingest.known_links import read_links
    from graphrag_rdf.lists.declaration import Asked, lists
    from graphrag_rdf.rdf.json_values import to_json

    with open_engine(beside=True) as engine:
        node = engine.entity(entity)
        store = engine.store
        canonical = [row["canonical"] for row in store.select("retrieval/canonical", entities=[node])]
        one = canonical[0] if canonical else node
        labels = one_label(store.select("retrieval/labels", things=[one]))
        types = [row["type"] for row in store.select("entities/types", entities=[one])]
        called = one_label(store.select("retrieval/labels", things=types)) if types else []
        descriptions = store.select("derived/descriptions", entities=[one])
        merged = [row for row in descriptions if row["summary"] is not None]
        rows = store.select("entities/described", entity=one)
        members = [row["member"] for row in store.select("server/members", entity=one)] or [one]
        links = read_links(store, members)
        near = store.select("entities/named-with", entity=one, limit=_NEAR)
        said_of = sentences_of_pairs(store, [(one, row["entity"]) for row in near])
        facts = lists()["facts"].items(engine, Asked(_FACTS, 0, {"entity": one.value}))
    found = {
        "iri": one.value,
        "name": labels[0]["label"].value if labels else local_name(one.value),
        "types": [row["label"].value for row in called],
        "description": merged[0]["text"] if merged else None,
        "model": merged[0]["model"] if merged else None,
        "summary": merged[0]["summary"].value if merged else None,
        "descriptions": [{name: text_of(row[name]) for name in ("text", "chunk", "title")} for row in rows],
        "links": to_json(links),
        "facts": facts,
        "named_with": [
            {
                "iri": row["entity"].value,
                "name": row["name"],
                "sentences": row["count"],
                "sentence": said_of.get((one, row["entity"]), ""),
            }
            for row in near
        ],
    }
    if not output.write(form, found):
        _show(found)


def _show(found: dict[str, Any]) -> None:
    from graphrag_rdf.lists.facts import object_in_words

    by = found["model"] or tr("quoted, without a model")
    rows: list[tuple[str, object]] = [(tr("name"), found["name"]), (tr("IRI"), found["iri"])]
    rows += [(tr("types"), ", ".join(found["types"]))] if found["types"] else []
    rows += [(tr("description"), f"{found['description']}{bracketed(by)}")] if found["description"] else []
    for link in found["links"]:
        how = f"{link['name']}, {link['method']}, {link['confidence']:.2f}"
        if why := link["reason"]:
            how += f"; {tr(why)}"
        rows.append((local_name(link["relation"]), f"{link['thing']}{bracketed(how)}"))
    output.pairs(rows)
    for link in found["links"]:
        for quote in link["evidence"]:
            say(one_line(f"  “{quote['text']}”{bracketed(quote['title'])}"))
    for one in found["descriptions"]:
        say(one_line(f"  {one['text']}{bracketed(one['title'])}"))
    if found["facts"]:
        say("")
        columns = (tr("subject"), tr("relation"), tr("object"))
        output.table(
            columns, [(one["s_label"], one["p_label"], object_in_words(one)) for one in found["facts"]]
        )
        if len(found["facts"]) == _FACTS:
            output.note(tr("the first {number:,} facts; all: graphrag-rdf facts list").format(number=_FACTS))
    if found["named_with"]:
        say("")
        columns = (tr("named with"), tr("sentences"), tr("one of them"))
        output.table(
            columns, [(one["name"], one["sentences"], one["sentence"]) for one in found["named_with"]]
        )


add_undo_command(
    entities_command,
    about="entities",
    prefix="",
    after_undo="They stay on record, without effect.",
)
