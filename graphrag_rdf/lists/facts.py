"""The list of facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from graphrag_rdf.errors import TemplateError, UsageError
from graphrag_rdf.i18n import bracketed, later, tr
from graphrag_rdf.lists.declaration import Asked, Column, Filter, Item, List, register
from graphrag_rdf.rdf.json_values import to_json

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.store.base import Store


def _facts(engine: Engine, asked: Asked) -> Iterable[Item]:
    """Facts with the labels of their terms, their values as the documents write them, the IRI of an object
    that is a thing, as N-Triples, and what their evidence says beside them.
    """
    from graphrag_rdf.trace.facts import fact_of, read_labels
    from graphrag_rdf.trace.values import all_as_written, qualifiers_of

    rows = engine.store.select("facts/list", **_parameters(engine, asked))
    labels = read_labels(engine.store, [row[name] for row in rows for name in "spo"])
    facts = [fact_of(row, labels) for row in rows]
    return [
        {
            **to_json(fact),
            "o_written": written.o_words,
            "o_iri": fact.o.value if isinstance(fact.o, ox.NamedNode) else "",
            "statement": f"{fact.s} {fact.p} {fact.o} .",
            "qualifiers": qualifiers,
        }
        for fact, written, qualifiers in zip(
            facts, all_as_written(engine.store, facts), qualifiers_of(engine.store, facts), strict=True
        )
    ]


def object_in_words(item: Item) -> str:
    """The object of a fact, with what its evidence says beside it."""
    beside = "; ".join(item["qualifiers"])
    return f"{item['o_written']}{bracketed(beside) if beside else ''}"


def _parameters(engine: Engine, asked: Asked) -> dict[str, Any]:
    """Those of the template: entities, relations and documents by their IRIs."""
    from graphrag_rdf.trace.facts import term_or_label, things_called
    from graphrag_rdf.trace.sources import find_document

    parameters = FACTS.parameters(engine, asked)
    if name := asked.values.get("entity"):
        parameters["entities"] = [engine.entity(name)]
    if name := asked.values.get("relation"):
        term = term_or_label(name)
        named = isinstance(term, ox.NamedNode)
        parameters["relations"] = [term] if named else things_called(engine.store, name)
        if not parameters["relations"]:
            raise UsageError(
                tr("no relation is called {name!r}").format(name=name),
                hint=tr("graphrag-rdf relations list shows all"),
            )
    if name := asked.values.get("document"):
        parameters["documents"] = [find_document(engine.store, name, ends=True)]
    if day := asked.values.get("valid"):
        try:
            rows = engine.store.select("facts/validity", valid=day)
        except TemplateError as error:
            message = tr("{text!r} is no date, such as 1911-11-17, 1911-11 or 1911")
            raise UsageError(message.format(text=day)) from error
        parameters["outside"] = [(row["s"], row["p"], row["o"]) for row in rows if not row["holds"]]
    return parameters


def _triples(store: Store, items: Sequence[Item]) -> list[ox.Triple]:
    del store
    lines = "\n".join(item["statement"] for item in items)
    return [quad.triple for quad in ox.parse(lines, ox.RdfFormat.N_TRIPLES)]


FACTS = register(
    List(
        "facts",
        later("Facts"),
        "List facts. `facts show` shows the evidence of one.",
        columns=(
            Column("s", later("subject"), value=lambda item: item["s_label"], link="term"),
            Column("p", later("relation"), value=lambda item: item["p_label"], link="term"),
            Column("o_iri", later("object"), value=object_in_words, link="term"),
            Column("statement", later("sources"), value=lambda _: tr("source"), link="fact", table=False),
        ),
        filters=(
            Filter("entity", "Only facts about this entity (label or IRI), as subject or object."),
            Filter("relation", "Only facts with this relation (label or IRI)."),
            Filter(
                "document", "Only facts from this document: IRI, path or title, or a unique end of these."
            ),
            Filter(
                "match",
                "Only facts with this text in a name or value.",
                label=later("Part of a name or value"),
                parameter="texts",
                option="--text",
                bare=True,
            ),
            Filter(
                "valid",
                "Leave out facts that began after this day, month or year, or ended before it.",
                label=later("Valid on"),
            ),
        ),
        command="facts list",
        path="/facts",
        examples=(
            'graphrag-rdf facts list --entity "Ada Lovelace"',
            'graphrag-rdf facts list --relation "mayor of" --valid 2019',
            'graphrag-rdf facts list --relation "was born in" --document 1936.pdf',
            "graphrag-rdf facts list Paris",
        ),
        template="facts/list",
        read=_facts,
        rdf=_triples,
        none=later("There are no facts."),
        no_match=later("No fact contains this text."),
        links=((later("Decisions about facts"), "/facts/decisions"),),
    )
)
