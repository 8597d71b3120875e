"""Links to vocabularies judged by a model: which of several things an entity is.

Only entities that several things fit nearly equally well are asked about, in blocks, each with sentences that
mention it and with what the vocabulary says of the things, under ids. An answer counts if it names a thing
that the entity was shown with, and a sentence that shows it. Whatever else the model answers leaves the
entity as it is, and is counted. Entities of which documents mean different things are not asked about, since
one IRI cannot be two things. The reasons are a fixed list, so that no decision quotes a document.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pydantic import BaseModel
from pyoxigraph import NamedNode

from graphrag_rdf.errors import LlmError
from graphrag_rdf.extract.prompts import one_line
from graphrag_rdf.ingest.extractors import prompt_folder
from graphrag_rdf.llm.question import Question
from graphrag_rdf.steps.prompts import render
from graphrag_rdf.store.base import Store, in_batches, select_in_batches
from graphrag_rdf.wings.merging.links import MARGIN, Candidate, Proposal

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine

CONFIDENCE = 0.9
"""Confidence in the links of a model."""
_BLOCK, _SENTENCES, _THINGS, _NAMES, _TEXTS = 10, 5, 8, 4, 3
"""Entities of a call; sentences and things of an entity; names and texts of a thing."""
_LONGEST = 300
_NONE, _SEVERAL = "none", "several"
_WHY = {
    "kind": "the texts mean a thing of its kind",
    "place": "the place fits",
    "time": "the time fits",
    "related": "the texts name things that are related to it",
}
_DESCRIPTION = "the texts fit its description"


class _Choice(BaseModel):
    entity: str
    thing: str | None = None
    sentences: list[str] = []
    why: str = ""


class _Answer(BaseModel):
    links: list[_Choice]


_PIPELINE, _PROMPT = "link_entities", "choose.j2"
_QUESTION = Question(
    _Answer,
    keys=("links",),
    what="list of links",
    form='one JSON object with "links", a list of objects with "entity" and "thing"',
    purpose="entity links",
)


@dataclass(slots=True)
class Judged:
    """What a model made of proposals.

    Attributes:
        proposals: all, those that it decided changed.
        dropped: what of its answers was left out, by reason.
        failures: why some entities got no answer; they are as before.
    """

    proposals: list[Proposal]
    dropped: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Shown:
    """An entity in a prompt: its proposal, and what stands behind the ids."""

    proposal: Proposal
    things: dict[str, Candidate]
    sentences: dict[str, tuple[NamedNode, str, str]]


def is_open(proposal: Proposal) -> bool:
    """Whether several things fit an entity nearly equally well."""
    second = proposal.others[0].confidence if proposal.others else 0.0
    undecided = proposal.outcome in ("ambiguous", "unsure")
    return undecided and second > 0 and second > proposal.best.confidence - MARGIN


def by_model(engine: Engine, proposals: Sequence[Proposal], model: str, min_confidence: float) -> Judged:
    """Have a model judge the proposals that several things fit.

    Args:
        min_confidence: of a link; the model's have `CONFIDENCE`.
    """
    judged: dict[int, Proposal] = {}
    out = Judged([])
    asked = [(n, one) for n, one in enumerate(proposals) if is_open(one) and min_confidence <= CONFIDENCE]
    for block in in_batches(asked, _BLOCK):
        shown = _shown(engine.store, dict(block))
        if not shown:
            continue
        try:
            answer = _asked(engine, shown, model)
        except LlmError as error:
            out.failures.append(error.message)
            if error.kind != "unparsable":
                break  # the next call would fail, too
            continue
        judged |= dict(_decided(answer, shown, model, out.dropped))
    out.proposals = [judged.get(n, one) for n, one in enumerate(proposals)]
    out.proposals.sort(key=lambda p: (p.outcome != "link", -p.best.confidence, p.entity.value))
    return out


def _shown(store: Store, block: Mapping[int, Proposal]) -> dict[int, _Shown]:
    """What a prompt shows of entities; those that no sentence mentions are left out."""
    entities = list(dict.fromkeys(one.entity for one in block.values()))
    mentions: defaultdict[NamedNode, list[tuple[NamedNode, str, str]]] = defaultdict(list)
    for row in select_in_batches(store, "linking/mentions", "entities", entities):
        said = row["sentence"], row["text"], row["title"]
        mentions[row["entity"]].append(said)
    found: dict[int, _Shown] = {}
    things = sentences = 0
    for number, one in block.items():
        candidates = [each for each in (one.best, *one.others) if each.thing not in one.barred][:_THINGS]
        best = _spread(mentions[one.entity], one.evidence)
        if best and candidates:
            found[number] = _Shown(
                one,
                {f"t{n}": each for n, each in enumerate(candidates, things + 1)},
                {f"s{n}": each for n, each in enumerate(best, sentences + 1)},
            )
            things, sentences = things + len(candidates), sentences + len(best)
    return found


def _spread(
    mentions: Sequence[tuple[NamedNode, str, str]], evidence: Sequence[NamedNode]
) -> list[tuple[NamedNode, str, str]]:
    """Sentences that fit a description, then the first ones of other documents, then others."""
    titles: set[str] = set()
    ranked = []
    for place, one in enumerate(mentions):
        ranked.append((one[0] not in evidence, one[2] in titles, place))
        titles.add(one[2])
    return [mentions[place] for *_, place in sorted(ranked)[:_SENTENCES]]


def _asked(engine: Engine, shown: Mapping[int, _Shown], model: str) -> list[_Choice]:
    things = list(dict.fromkeys(each.thing for one in shown.values() for each in one.things.values()))
    names = _texts(engine.store, ("linking/target-names",), things, "name")
    texts = _texts(engine.store, ("linking/descriptions", "linking/neighbours"), things, "text")
    prompt = render(
        (prompt_folder(engine.settings, _PIPELINE, _PROMPT),),
        _PROMPT,
        entities=[
            {
                "id": f"e{number}",
                "name": _short(one.proposal.name),
                "sentences": [
                    {"id": key, "text": _short(text), "title": _short(title)}
                    for key, (_, text, title) in one.sentences.items()
                ],
                "things": [
                    {
                        "id": key,
                        "names": names[each.thing][:_NAMES] or [_short(each.matched.value)],
                        "texts": texts[each.thing][:_TEXTS],
                    }
                    for key, each in one.things.items()
                ],
            }
            for number, one in shown.items()
        ],
    )
    answer = _QUESTION.ask(engine.gateway, prompt, model)
    return answer.links


def _texts(
    store: Store, templates: Sequence[str], things: Sequence[NamedNode], column: str
) -> dict[NamedNode, list[str]]:
    found: dict[NamedNode, list[str]] = {thing: [] for thing in things}
    for template in templates:
        for row in select_in_batches(store, template, "things", things):
            found[row["thing"]].append(_short(row[column].value))
    return found


def _short(text: str) -> str:
    return one_line(text)[:_LONGEST]


def _decided(
    answer: Sequence[_Choice], shown: Mapping[int, _Shown], model: str, dropped: Counter[str]
) -> Iterator[tuple[int, Proposal]]:
    """The proposals that an answer decides."""
    free = {f"e{number}": (number, one) for number, one in shown.items()}
    for choice in answer:
        if choice.entity not in free:
            dropped["unknown_or_repeated_id"] += 1
            continue
        number, one = free.pop(choice.entity)
        thing = choice.thing or _NONE
        evidence = [one.sentences[key][0] for key in dict.fromkeys(choice.sentences) if key in one.sentences]
        if thing == _NONE:
            yield number, replace(one.proposal, by=model, why="none of these things is meant")
        elif thing == _SEVERAL:
            why = "the texts mean several things"
            yield number, replace(one.proposal, outcome="mixed", by=model, why=why)
        elif thing not in one.things:
            dropped["unknown_or_repeated_id"] += 1
        elif not evidence:
            dropped["no_sentence"] += 1
        else:
            best = replace(one.things[thing], confidence=CONFIDENCE)
            others = [each for each in (one.proposal.best, *one.proposal.others) if each.thing != best.thing]
            yield (
                number,
                replace(
                    one.proposal,
                    outcome="link",
                    best=best,
                    others=tuple(others),
                    evidence=tuple(evidence),
                    by=model,
                    why=_WHY.get(choice.why, _DESCRIPTION),
                ),
            )
    if free:
        dropped["no_answer"] += len(free)
