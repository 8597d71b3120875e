"""The lists of decisions: all of them, and those about facts, entities and relations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import later, own_label, tr
from graphrag_rdf.lists.declaration import Asked, Column, Filter, Item, List, register
from graphrag_rdf.rdf.json_values import to_json

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine

_ALL = Filter("all", "Also list those that were undone.", "flag", later("Also those that were undone"))


def _decisions(engine: Engine, asked: Asked, about: str | None = None) -> list[dict[str, Any]]:
    """Decisions, each with what it decides in words."""
    from graphrag_rdf.ingest.decisions import all_kinds, in_effect, read_decisions
    from graphrag_rdf.trace.facts import label_of, read_labels

    about = about or asked.values.get("about")
    every = all_kinds()
    kinds = [kind for kind in every if about in (None, kind.about)]
    if not kinds:
        names = ", ".join(dict.fromkeys(kind.about for kind in every))
        raise UsageError(
            tr("no decisions are about {about}").format(about=about),
            hint=tr("use {names}").format(names=names),
        )
    decisions = read_decisions(engine.store, kinds)
    shown = decisions if asked.values.get("all") else in_effect(decisions)
    labels = read_labels(engine.store, [term for each in shown for term in each.terms])
    called = partial(label_of, labels=labels)
    return [
        {**to_json(each), "words": each.in_words(called) + (tr(" (undone)") if each.undone else "")}
        for each in shown
    ]


_MADE = (
    Column("reason", later("reason"), value=lambda item: item["reason"] and tr(item["reason"])),
    Column("made", later("made"), "moment"),
    Column("undone", later("undone"), "moment"),
    Column("iri", later("iri"), page=False),
)
_OF_ALL: dict[str, Any] = {
    "columns": (Column("words", later("decision"), link="thing"), *_MADE),
    "limit": None,
    "page": None,
    "none": later("no decisions"),
}
register(
    List(
        "decisions",
        later("Decisions"),
        "List decisions in the order in which they were made.",
        filters=(Filter("about", "Only those about entities, relations or facts."), _ALL),
        command="decisions list",
        path="/decisions",
        examples=("graphrag-rdf decisions list --about facts --format json",),
        read_all=_decisions,
        **_OF_ALL,
    )
)
for _about, _title, _help in (
    ("entities", later("Decisions about entities"), "List the decisions about entities, oldest first."),
    (
        "relations",
        later("Decisions about relations"),
        "List the decisions about relations, those by form first, then the oldest.",
    ),
):
    register(
        List(
            f"{_about}-decisions",
            _title,
            _help,
            filters=(_ALL,),
            command=f"{_about} decisions",
            examples=(f"graphrag-rdf {_about} decisions --format json",),
            read_all=partial(_decisions, about=_about),
            **_OF_ALL,
        )
    )


def _of_facts(engine: Engine, asked: Asked) -> Any:
    return engine.facts.as_json(engine.facts.decisions(every=asked.values.get("all", False)))


def _words(fact: Mapping[str, str] | None) -> str | None:
    """The labels of a fact."""
    return f"({fact['s_label']}, {fact['p_label']}, {fact['o_label']})" if fact else None


def _made(item: Item) -> str:
    return own_label(item["label"])


register(
    List(
        "facts-decisions",
        later("Decisions about facts"),
        "List the decisions about facts, oldest first.",
        columns=(
            Column("statement", later("fact"), value=lambda item: _words(item["fact"]), link="fact"),
            Column("kind", later("decision"), value=lambda item: tr(item["kind"])),
            Column("instead", later("instead"), value=lambda item: _words(item["instead"])),
            Column("with_sentences", later("with sentences"), "truth"),
            Column("label", later("by"), value=_made, link="thing"),
            *_MADE,
        ),
        filters=(_ALL,),
        command="facts decisions",
        path="/facts/decisions",
        examples=("graphrag-rdf facts decisions --format json",),
        read_all=_of_facts,
        limit=None,
        page=None,
        none=later("no decisions"),
        intro=later(
            "What people removed or corrected. To decide, open the source of a fact: it can be removed or "
            "corrected there. Or by graphrag-rdf facts remove, correct, undo; over HTTP by POST or DELETE."
        ),
    )
)
