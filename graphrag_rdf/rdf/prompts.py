"""Builders for prompts and their tuning, in `urn:graph:source`.

A chunk that was looked at is not `prov:used`: such activities go with the chunk, and a tuning stays. Its own
properties are subproperties of PROV-O's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, TG
from graphrag_rdf.rdf.prov import source
from graphrag_rdf.rdf.terms import datetime_, integer


@dataclass(frozen=True, slots=True)
class TuningFacts:
    """Data about a tuning and its prompt.

    Attributes:
        prompt, former: SHA-256 of the new prompt and of the former one.
        text: the blob with the prompt, with a placeholder for the chunk.
        sampled: chunks that the model read.
        examples: chunks of its examples.
        parameters: of the request.
        in_tokens, out_tokens: None if unknown.
    """

    prompt: str
    former: str
    text: NamedNode
    component: str
    model: str
    started: datetime
    ended: datetime
    sampled: Sequence[NamedNode]
    examples: Sequence[str]
    parameters: Mapping[str, object]
    calls: int
    in_tokens: int | None = None
    out_tokens: int | None = None


def prompt(prompt_hash: str, tuned_by: str | None = None) -> Iterator[Quad]:
    """A prompt with its data.

    Args:
        tuned_by: the tuning that created the data, even if they were edited later.
    """
    node = iris.prompt(prompt_hash)
    yield source(node, RDF.type, RAG.Prompt)
    yield source(node, RDF.type, PROV.Entity)
    yield source(node, RAG.promptHash, Literal(prompt_hash))
    if tuned_by is not None:
        yield source(node, PROV.wasInfluencedBy, NamedNode(tuned_by))


def tuning(t: TuningFacts) -> Iterator[Quad]:
    """A tuning and its prompt."""
    node, activity = iris.prompt(t.prompt), iris.prompt_tuning(t.prompt)
    yield from prompt(t.prompt, activity.value)
    yield source(node, PROV.wasGeneratedBy, activity)
    yield source(node, PROV.generatedAtTime, datetime_(t.ended))
    yield source(node, RAG.storedText, t.text)
    yield from prompt(t.former)
    yield source(node, PROV.wasRevisionOf, iris.prompt(t.former))
    for taken_from in t.examples:
        yield source(node, RAG.exampleFrom, NamedNode(taken_from))
    yield source(activity, RDF.type, RAG.PromptTuning)
    yield source(activity, RDF.type, PROV.Activity)
    yield source(activity, PROV.wasAssociatedWith, iris.agent(t.component))
    yield source(activity, PROV.startedAtTime, datetime_(t.started))
    yield source(activity, PROV.endedAtTime, datetime_(t.ended))
    yield source(activity, TG.llmModel, Literal(t.model))
    parameters = json.dumps(dict(t.parameters), sort_keys=True, ensure_ascii=False)
    yield source(activity, RAG.parameters, Literal(parameters))
    for chunk in t.sampled:
        yield source(activity, RAG.sampledChunk, chunk)
    yield source(activity, RAG.callCount, integer(t.calls))
    if t.in_tokens is not None:
        yield source(activity, TG.inToken, integer(t.in_tokens))
    if t.out_tokens is not None:
        yield source(activity, TG.outToken, integer(t.out_tokens))
