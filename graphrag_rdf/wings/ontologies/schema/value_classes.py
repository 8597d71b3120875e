"""Classes whose members are values: `number`, `Date` or `Currency`, where an ontology declares a class.

A class is one by its name (`data/value_classes.toml`), unless the ontology says something of its members: a
property has it as domain, or it stands above or below a class of things. A `Text` below `Work` is a thing,
and a `Year` with properties may be one, so only what reads as a number or date is a value there.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from graphrag_rdf.index.analyse import fold
from graphrag_rdf.rdf.terms import local_name

if TYPE_CHECKING:
    from graphrag_rdf.wings.ontologies.schema.model import OntologyTerm

ValueKind: TypeAlias = Literal["text", "number", "integer", "date", "boolean", "amount"]
"""What a value is read as. An amount without a number is a thing: "Euro"."""

_WORD_ENDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\s]+")
_CODE = re.compile(r"^[a-z]{1,3}\d+ (?=\S)")  # E60 Number


def words_of(iri: str) -> str:
    """The end of an IRI as words: `birthPlace` and `birth_place` are "birth place"."""
    return " ".join(_WORD_ENDS.sub(" ", local_name(iri)).split()).lower()


def value_classes(terms: Mapping[str, OntologyTerm]) -> dict[str, ValueKind]:
    """The classes of values among the terms of an ontology and the ends of its properties, by IRI."""
    properties = [term for term in terms.values() if not term.is_class]
    ends = {iri: [words_of(iri)] for each in properties for iri in each.ranges if iri not in terms}
    classes = {term.iri: term.names() for term in terms.values() if term.is_class}
    kinds = {iri: kind for iri, names in (ends | classes).items() if (kind := _kind(names))}
    things = {iri for each in properties for iri in each.domains}
    for iri in classes:
        for above in terms[iri].parents:
            things |= {iri} if above not in kinds and not _says_nothing(above, terms) else set()
            things |= {above} if iri not in kinds else set()
    return {
        iri: "amount" if iri in things else kind
        for iri, kind in kinds.items()
        if iri not in things or kind not in ("text", "amount")
    }


def _says_nothing(above: str, terms: Mapping[str, OntologyTerm]) -> bool:
    names = terms[above].names() if above in terms else [words_of(above)]
    return not {_CODE.sub("", fold(name)) for name in names}.isdisjoint(_table()["above"])


def _kind(names: Iterable[str]) -> ValueKind | None:
    kinds = (_kinds().get(_CODE.sub("", fold(name))) for name in names)
    return next(filter(None, kinds), None)


@cache
def _kinds() -> Mapping[str, ValueKind]:
    return {name: kind for kind, names in _table()["kinds"].items() for name in names}


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name("data").joinpath("value_classes.toml").read_text("utf-8"))
