"""IRI minting.

IRIs are deterministic and survive edits: a thing's IRI depends on what it is, not on when or in
which order it was seen. Only questions are random. The patterns keep TrustGraph's spelling, so that
its clients recognise our data.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.terms import Term

_SPACE = uuid.UUID("6f2b6f0e-54c5-5d0f-8c53-0c4f3e1f7a11")
_SEPARATOR = "\x1f"
_UUID = re.compile(r"(?<![^\W_])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![^\W_])")

DEFAULT_NAMESPACE = "http://trustgraph.ai/"
PROVENANCE_BASE = "https://trustgraph.ai/"
OBSERVED_SCHEMA = "schema"
"""What follows a namespace in the IRI of its observed schema."""
_VALUE = "-value"
STATEMENT = "urn:statement:"
ANONYMOUS = "urn:anonymous:"


def digest(data: str | bytes) -> str:
    """SHA-256 of bytes, or of a text's UTF-8, as 64 hexadecimal digits."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def name_uuid(*parts: str | int) -> str:
    """UUIDv5 (RFC 9562 §5.5) over the parts; equal parts give an equal UUID."""
    return str(uuid.uuid5(_SPACE, _SEPARATOR.join(str(part) for part in parts)))


def uuid_in(text: str) -> str | None:
    """The first whole UUID in a text, in lower case."""
    match = _UUID.search(text.lower())
    return match and match[0]


def new_uuid() -> str:
    """A random UUID, for questions and runs."""
    return str(uuid.uuid4())


# --- documents ---------------------------------------------------------------------------------


def document(identity: str, namespace: str = DEFAULT_NAMESPACE) -> NamedNode:
    """A document, by the identity of its source: an absolute IRI, or a path under the ingest root."""
    if "://" in identity or identity.startswith("urn:"):
        return NamedNode(quote(identity, safe="%/:?#[]@!$&'()*+,;=~"))
    return NamedNode(f"{documents(namespace)}{quote(identity, safe='/')}")


def documents(namespace: str) -> str:
    """What the IRIs of documents begin with; in the default namespace as in TrustGraph, with https."""
    return f"{PROVENANCE_BASE if namespace == DEFAULT_NAMESPACE else namespace}doc/"


def document_version(document_iri: NamedNode, content_hash: str) -> NamedNode:
    """One content of a document, by the SHA-256 of its bytes."""
    return NamedNode(f"urn:version:{name_uuid(document_iri.value, content_hash)}")


def page(document_iri: NamedNode, number: int) -> NamedNode:
    """Page `number` (1-based) of a document."""
    return NamedNode(f"urn:page:{name_uuid(document_iri.value, 'page', number)}")


def table(document_iri: NamedNode, reading: str) -> NamedNode:
    """The tables of a document whose rows are read in the same way."""
    return NamedNode(f"urn:table:{name_uuid(document_iri.value, 'table', reading)}")


def chunk(document_iri: NamedNode, text_hash: str, occurrence: int) -> NamedNode:
    """A chunk, by its text and, where a document repeats a text, by its n-th occurrence (0-based)."""
    return NamedNode(f"urn:chunk:{name_uuid(document_iri.value, text_hash, occurrence)}")


def sentence(chunk_iri: NamedNode, index: int) -> NamedNode:
    """Sentence `index` (0-based) of a chunk."""
    return NamedNode(sentence_of(chunk_iri.value, index))


def sentence_of(chunk_iri: str, index: int) -> str:
    """The IRI of sentence `index` (0-based) of a chunk, both as texts."""
    return f"{chunk_iri}#s{index}"


def forgotten(name: NamedNode) -> NamedNode:
    """The replacement of an IRI with words of a forgotten document: its SHA-256."""
    return NamedNode(f"urn:graphrag-rdf:forgotten:{digest(name.value)}")


# --- extraction --------------------------------------------------------------------------------


def subgraph(chunk_iri: NamedNode, extractor_key: str, context: str = "") -> NamedNode:
    """The facts that one extractor (name, version, model, prompt hash, ontology hash) found in a chunk.

    Args:
        context: hash of the text before the chunk that the extractor read.
    """
    key = (extractor_key, context) if context else (extractor_key,)
    return NamedNode(f"{PROVENANCE_BASE}subgraph/{name_uuid(chunk_iri.value, *key)}")


def activity(subgraph_iri: NamedNode) -> NamedNode:
    """The extraction that created a subgraph."""
    return NamedNode(f"{PROVENANCE_BASE}activity/{name_uuid(subgraph_iri.value, 'activity')}")


def agent(component: str) -> NamedNode:
    """A software agent, by component name."""
    return NamedNode(f"{PROVENANCE_BASE}agent/{quote(component, safe='')}")


def prompt(prompt_hash: str) -> NamedNode:
    """A prompt with its data, by the SHA-256 of the two."""
    return NamedNode(f"urn:graphrag-rdf:prompt:{prompt_hash}")


def prompt_tuning(prompt_hash: str) -> NamedNode:
    """The tuning that created a prompt."""
    return NamedNode(f"{PROVENANCE_BASE}activity/{name_uuid(prompt_hash, 'tuning')}")


def evidence(subgraph_iri: NamedNode, s: Term, p: NamedNode, o: Term, offset: int | str) -> NamedNode:
    """The reifier of one fact in one place (offset in the chunk; the quote's hash if it was not located)."""
    return NamedNode(f"urn:evidence:{name_uuid(subgraph_iri.value, str(s), str(p), str(o), offset)}")


def failure(about: NamedNode, stage: str) -> NamedNode:
    """A failure of a chunk or document at a stage."""
    return NamedNode(f"urn:failure:{name_uuid(about.value, stage)}")


def rejected(subgraph_iri: NamedNode, index: int | str) -> NamedNode:
    """A rejected candidate of an extraction: its number, or the shape and fact that a validation rejected."""
    return NamedNode(f"urn:rejected:{name_uuid(subgraph_iri.value, index)}")


def statement(s: Term, p: NamedNode, o: Term) -> NamedNode:
    """The node of a triple term in the dialect `classic`."""
    return NamedNode(f"{STATEMENT}{name_uuid(str(s), str(p), str(o))}")


def stored_object(content_hash: str) -> NamedNode:
    """An object of the blob store, by the SHA-256 of its bytes."""
    return NamedNode(f"urn:sha256:{content_hash}")


def anonymous(document_iri: NamedNode, number: int) -> NamedNode:
    """A blank node of an imported file, by its number (0-based) in the file."""
    return NamedNode(f"{ANONYMOUS}{name_uuid(document_iri.value, number)}")


def pair_activity(first: NamedNode, second: NamedNode, key: str) -> NamedNode:
    """The model call for relations between two chunks, in the order of their document."""
    return NamedNode(f"{PROVENANCE_BASE}activity/{name_uuid(first.value, second.value, key)}")


def pair_failure(first: NamedNode, second: NamedNode) -> NamedNode:
    """A failure of a pair of chunks, in the order of their document."""
    return NamedNode(f"urn:failure:{name_uuid(first.value, second.value, 'relations')}")


def chunk_relation(activity_iri: NamedNode, type_iri: NamedNode, from_iri: NamedNode) -> NamedNode:
    """A relation of a pair of chunks, by the call that found it, its type and its first chunk."""
    return NamedNode(f"urn:relation:{name_uuid(activity_iri.value, type_iri.value, from_iri.value)}")


def relation_evidence(relation_iri: NamedNode, chunk_iri: NamedNode | None, place: int | str) -> NamedNode:
    """A quote for a relation of chunks: its chunk and offset there, or the quote's hash if it has none."""
    return NamedNode(
        f"urn:evidence:{name_uuid(relation_iri.value, chunk_iri.value if chunk_iri else '', place)}"
    )


def claims_activity(chunk_iri: NamedNode, key: str) -> NamedNode:
    """The model calls for the claims of a chunk."""
    return NamedNode(f"{PROVENANCE_BASE}activity/{name_uuid(chunk_iri.value, 'claims', key)}")


def claim(chunk_iri: NamedNode, *key: str) -> NamedNode:
    """A claim of a chunk, by its subject, object, type and description."""
    return NamedNode(f"urn:claim:{name_uuid(chunk_iri.value, *key)}")


def claim_evidence(claim_iri: NamedNode, text: str, offset: int) -> NamedNode:
    """A quote for a claim, with its offset in the chunk, which is 0 if it was not located."""
    return NamedNode(f"urn:evidence:{name_uuid(claim_iri.value, digest(text), offset)}")


def community(level: int, members: Iterable[str]) -> NamedNode:
    """A community, by its level and the IRIs of its members in order."""
    return NamedNode(f"urn:community:{name_uuid(level, *members)}")


def community_report(community_iri: NamedNode, content: str) -> NamedNode:
    """The report of a community, by the hash of everything that it depends on."""
    return NamedNode(f"urn:community-report:{name_uuid(community_iri.value, content)}")


def report_finding(report_iri: NamedNode, index: int) -> NamedNode:
    """A finding of a report, by its index (0-based)."""
    return NamedNode(f"{report_iri.value}#f{index}")


def summary(element: NamedNode | tuple[NamedNode, NamedNode, Term]) -> NamedNode:
    """The merged description of an entity, or of a fact."""
    parts = [element.value] if isinstance(element, NamedNode) else map(str, element)
    return NamedNode(f"urn:summary:{name_uuid(*parts)}")


# --- knowledge ---------------------------------------------------------------------------------


def entity(slug: str, namespace: str = DEFAULT_NAMESPACE) -> NamedNode:
    """An entity, by the slug of its name."""
    return NamedNode(f"{namespace}e/{slug}")


def term(slug: str, namespace: str = DEFAULT_NAMESPACE) -> NamedNode:
    """The label of lines in tables, by its slug; never the IRI of an entity."""
    return NamedNode(f"{namespace}term/{slug}")


def relation(slug: str, namespace: str = DEFAULT_NAMESPACE) -> NamedNode:
    """A relation (predicate) between things, by the slug of its name; never the IRI of an entity."""
    if slug.endswith(_VALUE):  # else it might be a relation to values
        slug = f"{slug.removesuffix(_VALUE)}%2D{_VALUE[1:]}"
    return NamedNode(f"{namespace}r/{slug}")


def value_relation(slug: str, namespace: str = DEFAULT_NAMESPACE) -> NamedNode:
    """A relation of things to literals, by the slug of its name."""
    return NamedNode(f"{namespace}r/{slug}{_VALUE}")


def is_value_relation(iri: str) -> bool:
    """Whether an IRI has the form of a relation to literals."""
    return iri.endswith(_VALUE)


def type_(slug: str, namespace: str = DEFAULT_NAMESPACE) -> NamedNode:
    """An open entity type, by the slug of its name."""
    return NamedNode(f"{namespace}type/{slug}")


def merge(origin: str, canonical: NamedNode) -> NamedNode:
    """The decision that entities are the same, by its origin and the canonical entity."""
    return NamedNode(f"urn:graphrag-rdf:merge:{name_uuid(origin, canonical.value)}")


def decision(kind: str, origin: str, *parts: str | int) -> NamedNode:
    """A decision about entities (merge, split), by its origin and content."""
    return NamedNode(f"urn:graphrag-rdf:{kind}:{name_uuid(origin, *parts)}")


def unnamed_ontology(file: Path) -> NamedNode:
    """An ontology whose file gives it no IRI, by the place of the file."""
    return NamedNode(f"urn:graphrag-rdf:ontology:{name_uuid(file.resolve().as_uri())}")


def feedback(target: NamedNode, by: str) -> NamedNode:
    """The feedback of a person (by name, or empty) on a node of a trace."""
    return NamedNode(f"urn:graphrag-rdf:feedback:{name_uuid(target.value, by)}")


def person(name: str) -> NamedNode:
    """A person, by name."""
    return NamedNode(f"urn:graphrag-rdf:person:{name_uuid(name)}")


# --- settings ----------------------------------------------------------------------------------


def setting(key: str) -> NamedNode:
    """A current setting, by its dotted key."""
    return NamedNode(f"urn:graphrag-rdf:setting:{quote(key, safe='')}")


def settings_version(number: int, content: str) -> NamedNode:
    """A version of the settings, by its number and content."""
    return NamedNode(f"urn:graphrag-rdf:settings:{name_uuid(number, content)}")


def setting_of(version: NamedNode, key: str) -> NamedNode:
    """A setting of a version."""
    return NamedNode(f"{version.value}#{quote(key, safe='')}")


# --- traces ------------------------------------------------------------------------------------


def session(run: str) -> NamedNode:
    """The run that answered a question."""
    return NamedNode(f"urn:trustgraph:session:{run}")


STEP_FORMS: Mapping[str, tuple[str, str, str]] = {
    "tg:GraphRagQuestion": (
        "urn:trustgraph:question:{run}",
        "urn:trustgraph:prov:{step}:{run}",
        "urn:trustgraph:synthesis:{run}",
    ),
    "tg:DocRagQuestion": (
        "urn:trustgraph:docrag:{run}",
        "urn:trustgraph:docrag:{run}/{step}",
        "urn:trustgraph:docrag:{run}/answer",
    ),
    "tg:AgentQuestion": (
        "urn:trustgraph:agent:{run}",
        "urn:trustgraph:agent:{run}/{step}",
        "urn:trustgraph:agent:{run}/answer",
    ),
}
"""Class of the question → the forms of the IRIs of question, steps and answer text: those of TrustGraph."""

AGENT_STEPS: Mapping[str, str] = {
    "analysis": "i{number}",
    "observation": "i{number}/observation",
    "conclusion": "final",
    "decomposition": "decompose",
    "finding": "finding/{index}",
    "step-result": "step/{index}",
}
"""Step of an agent → its part of the IRI in TrustGraph: `number` counts from 1, `index` from 0. Steps that
are not listed have their name there, as further ones of `conclusion` and `decomposition` have their number.
"""

ITEM_FORMS: Mapping[str, str] = {"thought": "{step}/thought"}
"""Kind of item → the form of its IRI, where TrustGraph names it by its step."""


def trace_form(question_types: Iterable[str]) -> tuple[str, str, str]:
    """The forms for a question of some classes (prefixed names); of other classes those of GraphRAG."""
    forms = (STEP_FORMS[question_type] for question_type in question_types if question_type in STEP_FORMS)
    return next(forms, STEP_FORMS["tg:GraphRagQuestion"])


def question(run: str, form: tuple[str, str, str] = STEP_FORMS["tg:GraphRagQuestion"]) -> NamedNode:
    """The question of a run."""
    return NamedNode(form[0].format(run=run))


def trace_step(
    step: str, run: str, form: tuple[str, str, str] = STEP_FORMS["tg:GraphRagQuestion"], number: int = 1
) -> NamedNode:
    """A step of a run: grounding, exploration, focus, synthesis, error …

    Args:
        number: which of the steps of its kind, from 1; the first has the form that TrustGraph gives it.
    """
    own = AGENT_STEPS.get(step) if form is STEP_FORMS["tg:AgentQuestion"] else None
    name = own.format(number=number, index=number - 1) if own else step
    counted = own is not None and own != name
    return NamedNode(
        form[1].format(run=run, step=name) + (f"/{number}" if number > 1 and not counted else "")
    )


def trace_item(kind: str, run: str, index: int, owner: NamedNode | None = None) -> NamedNode:
    """The index-th (0-based) thing of a kind in a run: edge (selection), seed, concept, sentence, call …

    Args:
        owner: the step or item that it belongs to.
    """
    if owner is not None and kind in ITEM_FORMS:
        return NamedNode(ITEM_FORMS[kind].format(step=owner.value))
    return NamedNode(f"urn:trustgraph:prov:{kind}:{run}:{index}")


def answer_document(run: str, form: tuple[str, str, str] = STEP_FORMS["tg:GraphRagQuestion"]) -> NamedNode:
    """The answer text of a run, as TrustGraph's clients ask for it."""
    return NamedNode(form[2].format(run=run))


def validation_report(run: str) -> NamedNode:
    """The report of a validation."""
    return NamedNode(f"urn:graphrag-rdf:validation:{run}")


def validation_activity(report: NamedNode) -> NamedNode:
    """The activity that made the report of a validation."""
    return NamedNode(f"{report.value}/activity")


def validation_result(report: NamedNode, index: int) -> NamedNode:
    """A result of a validation."""
    return NamedNode(f"{report.value}/{index}")


def ingest_run(run: str) -> NamedNode:
    """A run of the ingest pipeline."""
    return NamedNode(f"urn:graphrag-rdf:ingest:{run}")
