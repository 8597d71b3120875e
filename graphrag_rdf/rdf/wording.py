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

from graphrag_rdf.rdf.terms import local_name

_BREAKS = re.compile(r"[-_+\s]+|(?<=[^\W\d_])(?=\d)|(?<=[a-z0-9ß-öø-ÿ])(?=[A-ZÀ-ÖØ-Þ])")
_CAMEL = re.compile(r"[a-z][a-z0-9]*[A-Z]")


def words_of(iri: str) -> str:
    """The end of an IRI as words: `sailsBetween` is "sails between"; names keep their capitals."""
    name = local_name(iri)
    words = " ".join(_BREAKS.sub(" ", name).split())
    return words.lower() if _CAMEL.match(name) else words or iri


def phrase_of(iri: str) -> str:
    """How a relation without a label reads between a subject and an object."""
    known = _relations().get(local_name(iri))
    return known[0] if known else words_of(iri)


def words_asking_for(iri: str) -> str:
    """Other words by which people ask for a relation; "" if none are known."""
    known = _relations().get(local_name(iri))
    return known[1] if known else ""


@cache
def _relations() -> Mapping[str, tuple[str, str]]:
    path = Path(__file__).with_name("data") / "relations.toml"
    rows = tomllib.loads(path.read_text("utf-8"))
    return {
        name: (said.strip(), asked.strip())
        for name, (said, _, asked) in ((name, text.partition("|")) for name, text in rows.items())
    }
