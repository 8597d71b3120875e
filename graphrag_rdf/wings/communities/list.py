"""The list of communities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyoxigraph import NamedNode

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import later, listed, tr
from graphrag_rdf.lists.declaration import Column, Filter, Item, List, register

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine


def _complete(engine: Engine, items: list[dict[str, Any]]) -> None:
    """Central entities, and the report without its findings."""
    from graphrag_rdf.wings.communities.reading import read_members, read_reports

    nodes = [NamedNode(item["iri"]) for item in items]
    members, reports = read_members(engine.store, nodes), read_reports(engine.store, nodes)
    for item in items:
        item["central"] = [each["name"] for each in members.get(item["iri"], ()) if each["central"]]
        item["report"] = reports.get(item["iri"])


def require_built(engine: Engine) -> str | None:
    """A warning if the communities are not those of what the store holds.

    Raises:
        UsageError: there are none.
    """
    from graphrag_rdf.wings.communities.build import has_communities, is_outdated

    if not has_communities(engine.store):
        raise UsageError(
            tr("the store has no communities"), hint=tr("build them with: graphrag-rdf communities build")
        )
    if is_outdated(engine.store):
        return tr("the store has changed since the communities were built: graphrag-rdf communities build")
    return None


def _title(item: Item) -> str:
    """The title of its report; its central entities, if it has none."""
    return item["report"]["title"] if item["report"] else listed(item["central"])


def years(item: Item) -> str:
    """The first and the last year of a community."""
    numbers = [item[key] for key in ("first_year", "last_year") if item[key] is not None]
    return "–".join(dict.fromkeys(map(str, numbers)))


COMMUNITIES = register(
    List(
        "communities",
        later("Communities"),
        "List communities by level, the largest first, with the titles of their reports.",
        columns=(
            Column("level", later("level"), "count"),
            Column("entities", later("entities"), "count"),
            Column("pairs", later("pairs"), "count"),
            Column("first_year", later("years"), value=years),
            Column("last_year"),
            Column("report", later("title"), value=_title, link="thing"),
            *(Column("weight"), Column("parent")),
            Column("iri", later("iri"), page=False),
        ),
        filters=(Filter("level", "Only communities of this level.", "number", parameter="levels"),),
        command="communities list",
        path="/communities",
        examples=("graphrag-rdf communities list", "graphrag-rdf communities list --level 1 --limit 10"),
        template="communities/list",
        keys={
            "iri": "community",
            "entities": "members",
            "pairs": "edges",
            "first_year": "first",
            "last_year": "last",
        },
        complete=_complete,
        check=require_built,
        none=later("no communities"),
    )
)
