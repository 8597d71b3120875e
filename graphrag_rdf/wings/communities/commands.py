"""`communities`: build, list and show groups of entities that belong together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from pyoxigraph import NamedNode

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.output import format_option, one_line, pairs, say
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.cli.stage import stage_command
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import bracketed, tr
from graphrag_rdf.rdf.terms import node_of, text_of
from graphrag_rdf.store.base import select_in_batches
from graphrag_rdf.wings.communities.stages.reports import Communities

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.store.base import Row, Store

_ALL = 10**9
_NAMED, _SOURCES = 20, 5
"""Members, and sources of a finding, that `show` prints."""


@click.group(
    cls=Group, examples=["graphrag-rdf communities build", 'graphrag-rdf communities show "Port Merrin"']
)
def communities_command() -> None:
    """Communities: groups of entities that belong together.

    They are found by hierarchical Leiden clustering. Level 0 divides all entities; each further level divides
    communities that are larger than the setting communities.max_size.
    """


communities_command.add_command(stage_command(Communities))


@communities_command.command(
    "show",
    examples=['graphrag-rdf communities show "Port Merrin"', "graphrag-rdf communities show urn:community:…"],
)
@click.argument("name", metavar="COMMUNITY|ENTITY")
@format_option("text", "json")
def show(name: str, form: str) -> None:
    """Show a community, or those of an entity: report, members, what they are part of, and documents."""
    from graphrag_rdf.wings.communities.list import require_built

    with open_engine(read_only=True, beside=True) as engine:
        if warning := require_built(engine):
            output.warn(warning)
        found = [_details(engine.store, row) for row in _asked(engine, name)]
    if not output.write(form, found):
        for number, each in enumerate(found):
            if number:
                say()
            _show(each)


def _asked(engine: Engine, name: str) -> list[Row]:
    store = engine.store
    if name.startswith("urn:community:"):
        wanted = [NamedNode(name)]
    else:
        rows = store.select("communities/of-entity", entity=engine.entity(name))
        wanted = [node_of(row["community"]) for row in rows]
    found = store.select("communities/list", levels=[], communities=wanted, limit=_ALL) if wanted else []
    if not found:
        raise UsageError(
            tr("no community: {name}").format(name=name), hint=tr("see: graphrag-rdf communities list")
        )
    return found


def _findings(store: Store, report: str) -> list[dict[str, Any]]:
    """The findings of a report, in order."""
    found: dict[str, dict[str, Any]] = {}
    for row in store.select("communities/findings", reports=[NamedNode(report)]):
        said = {"summary": text_of(row["label"]), "explanation": text_of(row["explanation"]), "cites": []}
        found.setdefault(text_of(row["finding"]), said)["cites"].append(text_of(row["cited"]))
    cited = _cited(store, [iri for each in found.values() for iri in each["cites"]])
    for each in found.values():
        each["sources"] = [cited[iri] for iri in each["cites"] if iri in cited]
    return [*found.values()]


def _cited(store: Store, iris: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What findings cite, for people: kind, text, document, and of a fact its parts."""
    from graphrag_rdf.trace.facts import label_of, read_labels

    nodes = [*map(NamedNode, dict.fromkeys(iris))]
    rows = [*select_in_batches(store, "communities/cited", "cited", nodes)]
    labels = read_labels(store, [row[part] for row in rows for part in "spo" if part in row])
    return {
        text_of(row["cited"]): {
            "iri": text_of(row["cited"]),
            "kind": text_of(row["kind"]),
            "fact": [label_of(row[part], labels) for part in "spo"] if "s" in row else None,
            "text": text_of(row["text"]),
            "document": text_of(row["title"]) if "title" in row else None,
        }
        for row in rows
    }


def _details(store: Store, row: Row) -> dict[str, Any]:
    from graphrag_rdf.wings.communities.list import COMMUNITIES
    from graphrag_rdf.wings.communities.reading import read_members, read_reports

    community = row["community"]
    parts = store.select("communities/parts", community=community)
    chunks = store.select("communities/chunks", community=community)
    documents = {text_of(each["document"]): text_of(each["title"]) for each in chunks}
    report = read_reports(store, [community]).get(community.value)
    if report is not None:
        report["findings"] = _findings(store, report["iri"])
    return {
        **COMMUNITIES.item(row),
        "report": report,
        "parts": [text_of(each["part"]) for each in parts],
        "members": read_members(store, [community]).get(community.value, []),
        "documents": [{"iri": iri, "title": title} for iri, title in documents.items()],
        "chunks": [text_of(each["chunk"]) for each in chunks],
    }


def _show(each: dict[str, Any]) -> None:
    say(tr("community of level {level}: {iri}").format(level=each["level"], iri=each["iri"]))
    from graphrag_rdf.wings.communities.list import years

    members = [one_line(member["name"]) for member in each["members"]]
    pairs(
        [
            (tr("entities"), f"{len(members):,}: {', '.join(_first(members, _NAMED))}"),
            (
                tr("pairs"),
                tr("{pairs:,}, weight {weight:g}").format(pairs=each["pairs"], weight=each["weight"]),
            ),
            (tr("years"), years(each) or tr("none")),
            (tr("part of"), each["parent"] or tr("none")),
            (tr("parts"), f"{len(each['parts']):,}"),
            (tr("chunks"), f"{len(each['chunks']):,}"),
            (
                tr("documents"),
                "; ".join(one_line(document["title"]) for document in each["documents"]) or tr("none"),
            ),
        ],
        indent="  ",
    )
    if each["report"] is not None:
        _show_text(each["report"])


def _show_text(report: dict[str, Any]) -> None:
    """Print a report."""
    by = report["model"] or tr("quotes of the documents, no model")
    say()
    say(output.wrapped(f"{one_line(report['title'])}{bracketed(by)}", indent="  "))
    say(output.wrapped(one_line(report["summary"]), indent="  "))
    if report["rating"] is not None:
        why = one_line(report["rating_explanation"])
        say(
            output.wrapped(
                tr("Rating {rating:g} of 10: {why}").format(rating=report["rating"], why=why), indent="  "
            )
        )
    for number, finding in enumerate(report["findings"], start=1):
        say()
        say(output.wrapped(one_line(finding["summary"]), indent="     ", first=f"  {number}. "))
        say(output.wrapped(one_line(finding["explanation"]), indent="     "))
        for source in _first([*map(_source, finding["sources"])], _SOURCES):
            say(output.wrapped(source, indent="       ", first="     - "))


def _source(source: dict[str, Any]) -> str:
    """What a finding cites, on a line."""
    text = one_line(source["text"])
    told = f"“{text}”" if source["kind"] in ("fact", "sentence") else f"{source['kind']} {text}"
    if source["fact"] is not None:
        told = f"{one_line(' · '.join(source['fact']))}: {told}"
    return told + bracketed(one_line(source["document"])) if source["document"] else told


def _first(texts: Sequence[str], most: int) -> list[str]:
    """The first ones, and how many more there are."""
    left = len(texts) - most
    rest = [tr("and {left:,} more (--format json)").format(left=left)] if left > 0 else []
    return [*texts[:most], *rest]
