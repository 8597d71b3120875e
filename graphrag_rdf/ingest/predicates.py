"""The predicates that a model may use: those of the settings, else the properties of an ontology."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from graphrag_rdf.errors import ConfigError
from graphrag_rdf.extract.answers import predicate_phrase
from graphrag_rdf.rdf.namespaces import OWL, RDF, RDFS

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings

_PROPERTIES = frozenset((OWL.ObjectProperty, OWL.DatatypeProperty, RDF.Property))


def fixed_predicates(settings: Settings) -> tuple[str, ...]:
    """The list, the same for every passage; empty for any predicate.

    Raises:
        ConfigError: the ontology cannot be read, or has no property.
    """
    extract = settings.extract
    if extract.predicates or extract.ontology is None:
        return extract.predicates
    return properties_of(extract.ontology)


def properties_of(path: Path) -> tuple[str, ...]:
    """What the properties of an ontology are called: by their label, in English if they have several, else by
    the end of their IRI; sorted.

    Raises:
        ConfigError: the file cannot be read, or has no property.
    """
    from pyoxigraph import Literal, NamedNode, RdfFormat, parse

    form = RdfFormat.from_extension(path.suffix.lstrip("."))
    if form is None:
        raise ConfigError(
            f"extract.ontology: {path} is no RDF file by its name", hint="name a .ttl or .rdf file"
        )
    try:
        triples = list(parse(path=str(path), format=form))
    except (OSError, SyntaxError, ValueError) as error:
        raise ConfigError(f"extract.ontology: {path} cannot be read: {error}") from error
    labels: dict[NamedNode, list[Literal]] = {
        quad.subject: []
        for quad in triples
        if quad.predicate == RDF.type and quad.object in _PROPERTIES and isinstance(quad.subject, NamedNode)
    }
    for quad in triples:
        if quad.predicate == RDFS.label and quad.subject in labels and isinstance(quad.object, Literal):
            labels[quad.subject].append(quad.object)
    named = {
        min(found, key=lambda label: (label.language not in (None, "en"), label.value)).value
        if found
        else predicate_phrase(node.value.rstrip("/#").replace("#", "/").rpartition("/")[2])
        for node, found in labels.items()
    }
    if not named:
        raise ConfigError(
            f"extract.ontology: {path} declares no property", hint="list them in extract.predicates"
        )
    return tuple(sorted(named))
