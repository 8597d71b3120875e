"""`eval facts`: precision and recall of facts against labelled sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict, model_validator

from graphrag_rdf.documents.sentences import split_sentences
from graphrag_rdf.documents.turns import find_turns
from graphrag_rdf.extract.model import ChunkContext
from graphrag_rdf.i18n import tr
from graphrag_rdf.index.analyse import analyse, fold, primary_language
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.wings.evaluation.evalset import read_lines
from graphrag_rdf.wings.evaluation.metrics import confidence95, mean

if TYPE_CHECKING:
    from graphrag_rdf.ingest.extractors import ChunkExtractor
    from graphrag_rdf.ingest.facts import CandidateFilter

Fact = tuple[str, str, str]
"""Subject, predicate, object."""


class LabelledText(BaseModel):
    """A text of one or a few sentences, with its facts.

    Parts of a labelled fact may have alternatives, separated by `|`.

    Attributes:
        kind: of text, e.g. `chat`; `traits`: its special features, e.g. `negated`.
        must: required facts; one of them, if it is a list.
        may: other true facts.
        must_not: false or unstated facts that are easily extracted by mistake.
        recorded: name of a model → its facts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    kind: str
    traits: tuple[str, ...] = ()
    language: str = "en"
    title: str = ""
    text: str
    must: tuple[Fact | tuple[Fact, ...], ...] = ()
    may: tuple[Fact, ...] = ()
    must_not: tuple[Fact, ...] = ()
    recorded: Mapping[str, tuple[Fact, ...]] = {}

    @model_validator(mode="after")
    def _consistent(self) -> LabelledText:
        wanted = {key for facts in self.required for fact in facts for key in fact_keys(fact, self.language)}
        wanted |= {key for fact in self.may for key in fact_keys(fact, self.language)}
        for fact in self.must_not:
            if wanted & set(fact_keys(fact, self.language)):
                raise ValueError(
                    tr("{id}: {names} is in must_not, and in must or may").format(
                        id=self.id, names=" | ".join(fact)
                    )
                )
        return self

    @property
    def required(self) -> list[tuple[Fact, ...]]:
        """`must`, each as its alternatives."""
        return [(fact,) if isinstance(fact[0], str) else fact for fact in self.must]


@dataclass(frozen=True, slots=True)
class Judged:
    """The facts of a text, compared with its labels.

    Attributes:
        right: required or allowed facts.
        forbidden: facts in `must_not`.
        unlisted: other facts, which count as wrong.
        missed: required facts that were not extracted.
        required: number of required facts.
    """

    JSON: ClassVar = ("id=text.id", "text=text.text", "forbidden", "unlisted", "missed")

    text: LabelledText
    right: list[Fact]
    forbidden: list[Fact]
    unlisted: list[Fact]
    missed: list[Fact]
    required: int


def load_labelled(path: Path) -> list[LabelledText]:
    """Read labelled texts, one JSON object per line.

    Raises:
        UsageError: the file is missing, or a line is not such a text.
    """
    return read_lines(path, LabelledText)


def evaluate_facts(
    texts: Sequence[LabelledText], extractor: ChunkExtractor, candidate_filter: CandidateFilter
) -> dict[str, Any]:
    """Compare the facts of an extractor, and recorded facts of models, with labels.

    Args:
        extractor: run on each text.
        candidate_filter: rejects the same candidates as the ingest.

    Returns:
        the keys of `eval facts --format json`: for each run (`rules` or `llm`, and the recorded models)
        `precision`: the share of its facts that are required or allowed; `recall`: the share of the required
        facts that were extracted; `forbidden`: the number of facts in `must_not`. `unread` is the number of
        sentences that state something and of which no pattern of the rules reads anything.
    """
    own = "llm" if extractor.model else "rules"
    unread: list[int] = []
    runs: dict[str, Callable[[LabelledText], Iterable[Fact] | None]] = {
        own: lambda text: _extracted(text, extractor, candidate_filter, unread)
    }
    for name in dict.fromkeys(name for text in texts for name in text.recorded):
        runs[name] = lambda text, name=name: text.recorded.get(name)  # type: ignore[misc]
    out = {}
    for name, run in runs.items():
        judged = [judge(text, facts) for text in texts if (facts := run(text)) is not None]
        groups = {
            "kinds": {kind: [j for j in judged if j.text.kind == kind] for kind in _names(judged, "kind")},
            "traits": {t: [j for j in judged if t in j.text.traits] for t in _names(judged, "traits")},
        }
        out[name] = {
            **_figures(judged),
            **{group: {key: _figures(js) for key, js in by.items()} for group, by in groups.items()},
            "faults": [to_json(j) for j in judged if j.forbidden or j.unlisted or j.missed],
        }
    return {"n": len(texts), "unread": sum(unread), "runs": out}


def judge(text: LabelledText, facts: Iterable[Fact]) -> Judged:
    """Compare facts with a text's labels; the same fact in two wordings counts once."""
    language = text.language
    required = [{key for fact in any_of for key in fact_keys(fact, language)} for any_of in text.required]
    allowed = {key for fact in text.may for key in fact_keys(fact, language)}.union(*required)
    banned = {key for fact in text.must_not for key in fact_keys(fact, language)}
    distinct = {fact_key(fact, language): fact for fact in facts}
    return Judged(
        text,
        right=[fact for key, fact in distinct.items() if key in allowed],
        forbidden=[fact for key, fact in distinct.items() if key in banned],
        unlisted=[fact for key, fact in distinct.items() if key not in allowed | banned],
        missed=[f[0] for keys, f in zip(required, text.required, strict=True) if not keys & distinct.keys()],
        required=len(required),
    )


def _extracted(
    text: LabelledText, extractor: ChunkExtractor, candidate_filter: CandidateFilter, unread: list[int]
) -> list[Fact]:
    """The facts that an ingest would assert, including definitions; notes how many sentences gave none."""
    extracted = extractor.extract(
        text.text,
        split_sentences(text.text, text.language),
        language=text.language,
        title=text.title,
        context=ChunkContext(turns=find_turns(text.text)),
    ).extraction
    unread.append(extracted.unread)
    fit = candidate_filter.fit(extracted)
    facts = [(relation.subject, relation.predicate, relation.object) for relation in fit.relations]
    return facts + [(entity.name, "is", entity.definition) for entity in fit.entities if entity.definition]


def _figures(judged: Sequence[Judged]) -> dict[str, Any]:
    right = [1.0 for j in judged for _ in j.right]
    hits = right + [0.0 for j in judged for _ in (*j.forbidden, *j.unlisted)]
    required = sum(j.required for j in judged)
    missed = sum(len(j.missed) for j in judged)
    return {
        "texts": len(judged),
        "facts": len(hits),
        "right": len(right),
        "forbidden": sum(len(j.forbidden) for j in judged),
        "unlisted": sum(len(j.unlisted) for j in judged),
        "precision": round(mean(hits), 4) if hits else None,
        "ci95": [round(end, 4) for end in confidence95(hits)],
        "required": required,
        "recall": round(1 - missed / required, 4) if required else None,
    }


def _names(judged: Sequence[Judged], attribute: str) -> list[str]:
    values = (getattr(j.text, attribute) for j in judged)
    return list(
        dict.fromkeys(name for value in values for name in ([value] if isinstance(value, str) else value))
    )


# --- when two facts are the same ----------------------------------------------------------------------

_WORD = re.compile(r"[^\W_]+")


def _words(texts: Mapping[str, str]) -> dict[str, frozenset[str]]:
    return {language: frozenset(text.split()) for language, text in texts.items()}


_ARTICLES = _words(
    {
        "en": "a an the",
        "de": "der die das den dem des ein eine einen einem einer eines",
        "nl": "de het een",
    }
)
# words of a predicate without meaning of their own: auxiliaries, and prepositions that the object implies
_LIGHT = _words(
    {
        "en": "is are was were be been being has have had do does did in on at to as",
        "de": "is ist sind war waren wurde wurden wird werden worden hat haben hatte in im am an auf zu als "
        "zum zur jahr",
        "nl": "is zijn was waren werd werden wordt heeft had in op aan te als",
    }
)
_HAVING = frozenset(["has", "have", "had", "hat", "haben", "hatte", "heeft"])
_BY = _words({"en": "by", "de": "von durch", "nl": "door"})
_PASSIVE = _words({"de": "wurde wurden wird werden worden"})

Key = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


def fact_keys(fact: Fact, language: str) -> list[Key]:
    """The keys of a labelled fact, whose parts may have alternatives."""
    subjects, predicates, objects = (part.split("|") for part in fact)
    return [fact_key((s, p, o), language) for s in subjects for p in predicates for o in objects]


def fact_key(fact: Fact, language: str) -> Key:
    """The key of a fact, equal for different wordings: stems without articles, auxiliaries and light
    prepositions. A passive with its actor has the key of the active.
    """
    code = primary_language(language)
    none: frozenset[str] = frozenset()
    articles = _ARTICLES.get(code, none)
    subject, target = (_stems(part, language, articles) for part in (fact[0], fact[2]))
    words = _WORD.findall(fold(fact[1]))
    if words and words[-1] in _BY.get(code, none) and (code not in _PASSIVE or _PASSIVE[code] & set(words)):
        subject, target, words = target, subject, words[:-1]
    predicate = _stems(" ".join(words), language, articles | _LIGHT.get(code, none))
    if not predicate:
        predicate = ("have",) if _HAVING & set(words) else ("be",)
    return subject, predicate, target


def _stems(text: str, language: str, without: frozenset[str]) -> tuple[str, ...]:
    """The stems of a text's words, stop words too (they may deny it), in order."""
    words = [word for word in _WORD.findall(fold(text)) if word not in without]
    return tuple(term for word in words for term in analyse(word, language) or [word])
