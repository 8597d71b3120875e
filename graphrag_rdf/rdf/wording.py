"""The words of terms that have no label: readable ends of IRIs, and how well-known relations are said.

Vocabularies such as schema.org name relations by a noun: `birthPlace`, `architect`. Between a subject and an
object that is no sentence, and no question about a birth has the word "place". `data/relations.toml` has
phrases for such names, and other words by which people ask for them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pyoxigraph import Literal

from graphrag_rdf.rdf.namespaces import XSD
from graphrag_rdf.rdf.terms import local_name

_BREAKS = re.compile(r"[-_+\s]+|(?<=[^\W\d_])(?=\d)|(?<=[a-z0-9ß-öø-ÿ])(?=[A-ZÀ-ÖØ-Þ])")
_MINTED = re.compile(r"/(?:r|type)/[^/#]+$")
"""IRIs of `rdf.iris.relation` and `type_`, in any namespace."""
_DEFINING = frozenset(
    ("definition", "description", "comment", "abstract", "disambiguatingDescription", "scopeNote")
)
_CLASSIFYING = frozenset(("type", "instanceOf", "broader"))
_MIDNIGHT = re.compile(r"T00:00:00(?:Z|\+00:00)?\Z")
_CAMEL = re.compile(r"[a-z][a-z0-9]*[A-Z]")


def words_of(iri: str) -> str:
    """The end of an IRI as words: `sailsBetween` is "sails between"; names keep their capitals."""
    name = local_name(iri)
    words = " ".join(_BREAKS.sub(" ", name).split())
    return words.lower() if _CAMEL.match(name) else words or iri


def phrase_of(iri: str) -> str:
    """How a relation without a label reads between a subject and an object."""
    wordings = _relations().get(local_name(iri))
    return wordings[0] if wordings else words_of(iri)


def between(iri: str, label: str) -> str:
    """What stands between the names of subject and object: a label, or the phrase that it is short for.

    A label of a term of another vocabulary may be a noun of `data/relations.toml`: "place of birth". What
    extraction minted is a phrase already.
    """
    wordings = None if _MINTED.search(iri) else _relations().get(_key(label))
    return wordings[0] if wordings else label


def words_asking_for(iri: str, label: str | None = None) -> str:
    """Other words by which people ask for a relation; "" if none are known, or if extraction minted it.

    Args:
        label: its own, if it has one.
    """
    key = local_name(iri) if label is None else _key(label)
    wordings = None if _MINTED.search(iri) else _relations().get(key)
    return f"{label or words_of(iri)} {wordings[1]}" if wordings else ""


def defines(iri: str, label: str) -> bool:
    """Whether a relation says in words what a thing is."""
    return not _DEFINING.isdisjoint((local_name(iri), _key(label)))


def classifies(iri: str, label: str) -> bool:
    """Whether a relation says of what kind a thing is."""
    return not _CLASSIFYING.isdisjoint((local_name(iri), _key(label)))


def words_of_value(value: Literal) -> str:
    """A literal for people: midnight of a day is the day, as in Wikidata."""
    return _MIDNIGHT.sub("", value.value) if value.datatype == XSD.dateTime else value.value


def _key(label: str) -> str:
    """`placeOfBirth` of "place of birth"."""
    first, *words = label.split() or [""]
    return first + "".join(word[:1].upper() + word[1:] for word in words)


@cache
def _relations() -> Mapping[str, tuple[str, str]]:
    path = Path(__file__).with_name("data") / "relations.toml"
    rows = tomllib.loads(path.read_text("utf-8"))
    return {
        name: (statement.strip(), asked.strip())
        for name, (statement, _, asked) in ((name, text.partition("|")) for name, text in rows.items())
    }
