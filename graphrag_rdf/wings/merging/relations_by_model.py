"""Relations grouped by a model: which of them are one under several names, and which are inverse.

The model sees the most frequent relations in blocks, those to things and those to values apart, each with its
number of facts and an example under an id. It is asked a second time if an answer cannot be read. Ids that it
was not shown, or that it repeats, are left out and counted. What it says is checked like any other proposal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel

from graphrag_rdf.extract.prompts import one_line
from graphrag_rdf.ingest.extractors import prompt_folder
from graphrag_rdf.ingest.relation_decisions import Objects
from graphrag_rdf.llm.question import Question
from graphrag_rdf.steps.prompts import render
from graphrag_rdf.store.base import in_batches, select_in_batches
from graphrag_rdf.wings.merging.relation_normalisation import Known, Pair, grouped, inverses

if TYPE_CHECKING:
    from pyoxigraph import NamedNode

    from graphrag_rdf.engine import Engine

MOST = 300
"""Relations of each kind that are shown, the most frequent."""
_BLOCK = 100
_LONGEST = 100


class Answer(BaseModel):
    """What a model answers, in ids: groups of relations that are one, and pairs that are inverse."""

    groups: list[list[str]]
    inverses: list[list[str]] = []


_PIPELINE, _PROMPT = "normalise_relations", "groups.j2"
_QUESTION = Question(
    Answer,
    keys=("groups",),
    what="list of groups",
    form='one JSON object with "groups", a list of lists of ids',
    purpose="relation groups",
)


def by_model(engine: Engine, known: Known, model: str) -> tuple[list[Pair], Counter[str]]:
    """Pairs of relations that a model takes for one or for inverse; and what of its answers was left out, by
    reason.

    Raises:
        LlmError: the model failed, or its second answer cannot be read either.
    """
    pairs: list[Pair] = []
    dropped: Counter[str] = Counter()
    kinds: tuple[Objects, ...] = ("things", "values")
    for objects in kinds:
        for block in in_batches(known.of(objects)[:MOST], _BLOCK):
            if len(block) > 1:
                shown = {f"r{number}": relation for number, relation in enumerate(block, 1)}
                answer = _asked(engine, known, shown, model, things=objects == "things")
                pairs += grouped(known, _members(answer.groups, shown, dropped))
                pairs += inverses(_pairs(answer.inverses, shown, dropped))
    return pairs, dropped


def _asked(
    engine: Engine, known: Known, shown: Mapping[str, NamedNode], model: str, *, things: bool
) -> Answer:
    examples = {
        row["relation"]: row["example"]
        for row in select_in_batches(engine.store, "predicates/examples", "relations", list(shown.values()))
    }
    prompt = render(
        (prompt_folder(engine.settings, _PIPELINE, _PROMPT),),
        _PROMPT,
        things=things,
        relations=[
            {
                "id": key,
                "name": one_line(name)[:_LONGEST],
                "also": [one_line(each)[:_LONGEST] for each in also[:3]],
                "facts": known.facts(relation),
                "example": one_line(examples.get(relation, ""))[:_LONGEST],
            }
            for key, relation in shown.items()
            for name, *also in [known.names(relation)]
        ],
    )
    answer = _QUESTION.ask(engine.gateway, prompt, model)
    return answer if things else answer.model_copy(update={"inverses": []})


def _members(
    answer: Sequence[Sequence[str]], shown: Mapping[str, NamedNode], dropped: Counter[str]
) -> Iterator[list[NamedNode]]:
    free = dict(shown)
    for ids in answer:
        members = [free.pop(key) for key in dict.fromkeys(ids) if key in free]
        if missing := len(ids) - len(members):
            dropped["unknown_or_repeated_id"] += missing
        if len(members) > 1:
            yield members


def _pairs(
    answer: Sequence[Sequence[str]], shown: Mapping[str, NamedNode], dropped: Counter[str]
) -> Iterator[list[NamedNode]]:
    for ids in answer:
        members = [shown[key] for key in dict.fromkeys(ids) if key in shown]
        if len(members) == len(ids) == 2:
            yield members
        else:
            dropped["not_a_pair_of_relations"] += 1
