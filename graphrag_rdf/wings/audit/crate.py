"""What makes a pack readable for others: RO-Crate 1.1 metadata, a list of hashes, the nanopublication.

`ro-crate-metadata.json` is written here, in some lines of JSON: the package `rocrate` would bring `requests`
and 1.8 MB, and writes to folders only. The tests of clients read packs with it.
"""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import PurePath
from typing import Any

from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, serialize

from graphrag_rdf import __version__
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.rdf.namespaces import DCTERMS, PREFIXES, PROV, RDF, SCHEMA, TG
from graphrag_rdf.rdf.terms import datetime_, integer
from graphrag_rdf.trace.model import Trace
from graphrag_rdf.trace.reader import order_of
from graphrag_rdf.wings.audit.pack_answer import Cited

METADATA = "ro-crate-metadata.json"
_CRATE, _PROGRAM = "https://w3id.org/ro/crate/1.1", "https://pypi.org/project/graphrag-rdf/"
_NANOPUB = "http://www.nanopub.org/nschema#"
_TYPES = {".nq": "application/n-quads", ".trig": "application/trig", ".rq": "application/sparql-query"}


def crate_metadata(trace: Trace, names: Iterable[str], created: datetime) -> dict[str, Any]:
    """The content of `ro-crate-metadata.json`.

    Args:
        names: of all files but this one.
    """
    files = [{"@id": name, "@type": "File", "encodingFormat": _media_type(name)} for name in sorted(names)]
    root: dict[str, Any] = {"@id": "./", "@type": "Dataset"}
    root |= {"hasPart": [{"@id": file["@id"]} for file in files]}
    root |= {"name": trace.question, "description": trace.answer or tr("(no answer)")}
    root |= {"datePublished": created.isoformat(), "mentions": {"@id": trace.iri}}
    root |= {"license": tr("The rights in the documents are those of their owners.")}
    run: dict[str, Any] = {"@id": trace.iri, "@type": "CreateAction", "startTime": to_json(trace.started)}
    run |= {"instrument": {"@id": _PROGRAM}, "result": {"@id": "answer.json"}}
    program = {"@id": _PROGRAM, "@type": "SoftwareApplication", "name": "graphrag-rdf"}
    program |= {"version": __version__}
    descriptor: dict[str, Any] = {"@id": METADATA, "@type": "CreativeWork", "about": {"@id": "./"}}
    descriptor |= {"conformsTo": {"@id": _CRATE}}
    return {"@context": f"{_CRATE}/context", "@graph": [descriptor, root, run, program, *files]}


def _media_type(name: str) -> str:
    return _TYPES.get(PurePath(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"


def manifest(files: Mapping[str, bytes]) -> bytes:
    """The SHA-256 of each file, as `sha256sum` writes it."""
    lines = (f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))
    return "".join(lines).encode()


def nanopublication(trace: Trace, places: Iterable[Cited], created: datetime) -> bytes:
    """An answer with its provenance as a nanopublication in TriG: the answer and the facts that it cites are
    its assertion, the quotes its provenance.
    """
    base = f"https://w3id.org/graphrag-rdf/nanopub/{trace.iri.rpartition(':')[2]}"
    nanopub, session, agent = NamedNode(base), NamedNode(trace.iri), iris.agent("graphrag-rdf")
    parts = ("Head", "assertion", "provenance", "pubinfo", "answer")
    head, assertion, provenance, published, answer = (NamedNode(f"{base}#{part}") for part in parts)
    question = NamedNode(trace.question_iri or f"{base}#question")
    quads = {
        Quad(nanopub, RDF.type, NamedNode(f"{_NANOPUB}Nanopublication"), head),
        Quad(nanopub, NamedNode(f"{_NANOPUB}hasAssertion"), assertion, head),
        Quad(nanopub, NamedNode(f"{_NANOPUB}hasProvenance"), provenance, head),
        Quad(nanopub, NamedNode(f"{_NANOPUB}hasPublicationInfo"), published, head),
        Quad(question, RDF.type, SCHEMA.Question, assertion),
        Quad(question, SCHEMA.text, Literal(trace.question), assertion),
        Quad(question, SCHEMA.suggestedAnswer, answer, assertion),
        Quad(answer, RDF.type, SCHEMA.Answer, assertion),
        Quad(answer, SCHEMA.text, Literal(trace.answer or ""), assertion),
        Quad(assertion, PROV.wasGeneratedBy, session, provenance),
        Quad(session, PROV.wasAssociatedWith, agent, provenance),
        Quad(nanopub, DCTERMS.created, datetime_(created), published),
        Quad(nanopub, PROV.wasAttributedTo, agent, published),
        Quad(agent, SCHEMA.softwareVersion, Literal(__version__), published),
    }
    for place in places:
        source, fact = place.source, place.selection.triple
        if fact is not None:
            quads.add(Quad(*fact, assertion))
        if source.document:
            words = f"{source.document} {source.char_offset} {source.quote}"
            quote = NamedNode(f"{base}#quote-{iris.digest(words)[:16]}")
            quads.add(Quad(assertion, PROV.wasDerivedFrom, quote, provenance))
            quads.add(Quad(quote, PROV.wasQuotedFrom, NamedNode(source.document), provenance))
            quads.add(Quad(quote, PROV.value, Literal(source.quote), provenance))
            if source.char_offset is not None:
                quads.add(Quad(quote, TG.charOffset, integer(source.char_offset), provenance))
            if place.hash:
                quads.add(Quad(quote, DCTERMS.source, iris.stored_object(place.hash), provenance))
    prefixes = {name: PREFIXES[name] for name in ("prov", "schema", "dcterms", "tg", "xsd")}
    prefixes |= {"np": _NANOPUB, "this": f"{base}#"}
    ordered = sorted(quads, key=lambda quad: (quad.graph_name != head, *order_of(quad)))
    return serialize(ordered, format=RdfFormat.TRIG, prefixes=prefixes) or b""
