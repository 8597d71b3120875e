"""The pages of lists: one template, and for each list its columns and rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from graphrag_rdf.i18n import tr
from graphrag_rdf.server.pages.links import Links
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.representations import Part
from graphrag_rdf.server.service import Service
from graphrag_rdf.trace.catalogue import TraceSummary, outcome_told
from graphrag_rdf.trace.model import Fact


@dataclass(frozen=True, slots=True)
class Cell:
    """A value of a row.

    Attributes:
        href: address of the link.
        note: small print after the text.
        inside: whether the row belongs to the previous one.
    """

    text: str
    href: str | None = None
    note: str = ""
    inside: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of things.

    Attributes:
        path: its address.
        names: of its columns; those that end with `#` hold numbers.
        rows: of cells, the first of which names the thing.
        search: label of its search box.
        query: the SPARQL query of the list.
        empty: the text if there are no rows.
        choices: (name, address, whether it is chosen) of parts of the list.
        chosen: parameters other than `match`, `limit` and `offset`.
        more: other pages: (name, address).
    """

    title: str
    path: str
    names: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    search: str
    query: str
    empty: str
    choices: Sequence[tuple[str, str, bool]] = ()
    chosen: Mapping[str, str] = field(default_factory=dict)
    more: Sequence[tuple[str, str]] = ()


def list_page(listing: Listing, part: Part, count: int | None = None) -> str:
    """A page of a list.

    Args:
        count: items that count towards the limit, if not all rows do.
    """
    chosen = {**listing.chosen, **({"match": part.match} if part.match else {})}
    return render(
        "list",
        listing.path,
        list=listing,
        match=part.match,
        run=f"/sparql-editor?{urlencode({'query': listing.query})}",
        **turns(
            listing.path, part.limit, part.offset, len(listing.rows) if count is None else count, **chosen
        ),
    )


def traces_page(
    service: Service,
    traces: Sequence[TraceSummary],
    part: Part,
    counts: Mapping[str, int],
    kind: str | None,
    outcome: str | None,
) -> str:
    """Questions with the outcome of each, the newest first."""
    links = links_of(service)
    pipeline = {"kind": kind} if kind else {}
    kept = {**pipeline, **({"match": part.match} if part.match else {})}
    every = [(tr("all"), None, sum(counts.values())), *((outcome_told(c), c, n) for c, n in counts.items())]
    choices = [
        (
            f"{name} ({number:,})",
            f"/traces?{urlencode({**kept, **({'outcome': code} if code else {})})}",
            code == outcome,
        )
        for name, code, number in every
    ]
    listing = Listing(
        title=tr("Questions and how they were answered"),
        path="/traces",
        names=(tr("Question"), tr("Outcome"), tr("Asked"), tr("Seconds") + "#", tr("Pipeline")),
        rows=[
            (
                Cell(
                    trace.question or tr("(a question that was erased)"),
                    links.trace(trace.iri),
                    inside=trace.parent is not None,
                ),
                Cell(outcome_told(trace.outcome)),
                Cell(trace.time.strftime("%Y-%m-%d %H:%M UTC") if trace.time else ""),
                Cell("" if trace.seconds is None else f"{trace.seconds:.2f}"),
                Cell(trace.kind or ""),
            )
            for trace in traces
        ],
        search=tr("Words of a question"),
        query=service.engine.store.render(
            "trace/list",
            pipelines=[kind] if kind else [],
            outcomes=[outcome] if outcome else [],
            texts=[part.match] if part.match else [],
            limit=part.limit,
            offset=part.offset,
        ),
        empty=tr("Nothing matches.") if part.match or outcome or kind else tr("No questions yet."),
        choices=choices if sum(counts.values()) else (),
        chosen={**pipeline, **({"outcome": outcome} if outcome else {})},
        more=((tr("Ask something"), "/ask"),),
    )
    each = kept or outcome
    return list_page(listing, part, sum(bool(each) or trace.parent is None for trace in traces))


def entities_page(service: Service, items: Sequence[Mapping[str, Any]], part: Part) -> str:
    """Entities, those with most facts first."""
    links = links_of(service)
    listing = Listing(
        title=tr("Entities"),
        path="/entities",
        names=(tr("Name"), tr("Facts") + "#"),
        rows=[
            (
                Cell(
                    item["name"],
                    links.entity(item["iri"]),
                    tr("{number} in one").format(number=item["members"]) if item["members"] > 1 else "",
                ),
                Cell(f"{item['facts']:,}"),
            )
            for item in items
        ],
        search=tr("Part of a name"),
        query=service.engine.store.render("entities/list", text=part.match, limit=part.offset + part.limit),
        empty=tr("No entity has this name.") if part.match else tr("There are no entities."),
    )
    return list_page(listing, part)


def facts_page(service: Service, facts: Sequence[Fact], part: Part) -> str:
    """Facts in the order of the store: sorting them all would take seconds."""
    links = links_of(service)
    listing = Listing(
        title=tr("Facts"),
        path="/facts",
        names=(tr("Subject"), tr("Relation"), tr("Object"), tr("Sources")),
        rows=[
            (
                Cell(fact.s_label, links(fact.s.value)),
                Cell(fact.p_label, links(fact.p.value)),
                Cell(fact.o_label, links(fact.o.value) if not hasattr(fact.o, "datatype") else None),
                Cell(tr("source"), links.fact(fact)),
            )
            for fact in facts
        ],
        search=tr("Part of a name or value"),
        query=service.engine.store.render(
            "facts/list",
            texts=[part.match] if part.match else [],
            limit=part.limit,
            offset=part.offset,
        ),
        empty=tr("No fact contains this text.") if part.match else tr("There are no facts."),
        more=((tr("Decisions about facts"), "/facts/decisions"),),
    )
    return list_page(listing, part)


def turns(path: str, limit: int, offset: int, count: int, **more: Any) -> dict[str, str | None]:
    """The addresses of the previous and next page.

    Args:
        count: items on this page; a full page is assumed to have a next one.
    """

    def at(place: int) -> str:
        size = {} if limit == 50 else {"limit": limit}
        return f"{path}?{urlencode({**more, **size, 'offset': place})}"

    return {
        "before": at(max(0, offset - limit)) if offset > 0 else None,
        "after": at(offset + limit) if 0 < limit <= count else None,
    }


def links_of(service: Service) -> Links:
    """The addresses of this store's things."""
    return Links(service.engine.settings.extract.namespace)
