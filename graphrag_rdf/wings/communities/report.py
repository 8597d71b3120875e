"""Writes the report of a community from its context: by a model, or from its strongest facts and sentences.

A model cites the ids of the context. An id that the context does not have is dropped and counted, and so is a
finding that is left without a citation.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field
from pyoxigraph import NamedNode

from graphrag_rdf.extract.prompts import NO_DATA, PromptData, fill_prompt, read_prompt, tuned_for
from graphrag_rdf.i18n import tr
from graphrag_rdf.llm.jsonl import parse_items
from graphrag_rdf.llm.model import Completion, encodable, fenced
from graphrag_rdf.llm.repair import ask_for, in_form
from graphrag_rdf.wings.communities.context import Context, whole_names
from graphrag_rdf.wings.communities.extract.descriptions import as_sentence

if TYPE_CHECKING:
    from graphrag_rdf.llm.gateway import LlmGateway

REPORTS_VERSION = "1"
"""Changes when a model would report the same context otherwise: part of the key."""
_QUOTING_VERSION = "2"
"""The same of reports without a model."""
PROMPT = "community_report.j2"
SCALE = 10.0
"""The greatest rating."""

_ID = re.compile(r"\b[a-z]\d+\b", re.ASCII)
_SENTENCES = 3
_FINDINGS = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of a report, with what supports it."""

    summary: str
    explanation: str
    cites: tuple[NamedNode, ...]


@dataclass(slots=True)
class Report:
    """A report.

    Attributes:
        rating: 0 to `SCALE`, with the reason for it; None without a model.
        completions: answers of the model, the last is the report.
        dropped: how many citations and findings were left out, by reason.
    """

    title: str
    summary: str
    findings: list[Finding]
    rating: float | None = None
    rating_explanation: str = ""
    completions: list[Completion] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)


class ReportWriter(Protocol):
    """What writes reports.

    Attributes:
        component: name of the software agent.
        key: everything that a report depends on but the context.
        model: litellm's name; None without one.
    """

    component: str
    key: str
    model: str | None

    def write(self, context: Context) -> Report:
        """The report of a community. Raises LlmError."""


class ExtractiveReports:
    """Reports without a model: the central entities, and the strongest facts and sentences as they are."""

    component = "graphrag-rdf-extractive-reports"
    key = f"extractive/{_QUOTING_VERSION}"
    model: str | None = None

    def write(self, context: Context) -> Report:
        """Quote the context; see `ReportWriter`."""
        listed = [*context.of("s", "f", "c", "p", "e")]
        kinds = {entry.kind for _, entry in listed}
        best = next(kind for kind in "sfcpe" if kind in kinds)
        quoted = dict.fromkeys(as_sentence(entry.text) for _, entry in listed if entry.kind == best)
        summary = [*quoted][:_SENTENCES]
        findings = [*self._findings(context)]
        return Report(", ".join(whole_names(context.central)), " ".join(summary), findings)

    def _findings(self, context: Context) -> Iterator[Finding]:
        """Facts between members, parts, claims, sentences, other facts; else entities. No text twice."""
        facts = [*context.of("f")]
        between = [pair for pair in facts if len(pair[1].about) > 1]
        single = [pair for pair in facts if len(pair[1].about) == 1]
        entries = [*between, *context.of("p", "c", "s"), *single] or [*context.of("e")]
        first: dict[str, Finding] = {}
        for key, entry in entries:
            explanation = as_sentence(context.quotes.get(key, entry.text))
            first.setdefault(explanation, Finding(entry.title, explanation, tuple(context.cites[key])))
        return islice(first.values(), _FINDINGS)


def _text(value: object) -> object:
    return " ".join(encodable(value).split()) if isinstance(value, str) else value


def _ids(value: object) -> object:
    listed = value if isinstance(value, list) else [value]
    return _ID.findall(" ".join(map(str, listed)).lower())


_Text = Annotated[str, BeforeValidator(_text), Field(min_length=1)]


class AnsweredFinding(BaseModel):
    """A finding as models write it."""

    summary: _Text = Field(validation_alias=AliasChoices("summary", "title", "finding"))
    explanation: _Text = Field(validation_alias=AliasChoices("explanation", "description", "text"))
    cites: Annotated[list[str], BeforeValidator(_ids)] = Field(
        [], validation_alias=AliasChoices("cites", "citations", "ids")
    )


class AnsweredReport(BaseModel):
    """A report as models write it."""

    title: _Text
    summary: _Text
    rating: float = Field(ge=0, le=SCALE, allow_inf_nan=False)
    rating_explanation: _Text
    findings: list[AnsweredFinding] = Field(min_length=1)


class ModelReports:
    """Reports by a model.

    Args:
        prompts: folder with `PROMPT`.
        model: litellm's name; part of the key.
        data: what the prompt is told of the documents, as `tuned`.

    Raises:
        TemplateError: the prompt is missing or malformed.
    """

    component = "graphrag-rdf-reports"

    def __init__(self, prompts: Path, gateway: LlmGateway, model: str, data: PromptData = NO_DATA) -> None:
        self._path = prompts / PROMPT
        self._template, source = read_prompt(self._path)
        self._tuned, tuning_source = tuned_for(data, source)
        source += tuning_source
        self._gateway = gateway
        self.model: str | None = model
        digest = hashlib.sha256(source.encode()).hexdigest()
        self.key = f"reports/{REPORTS_VERSION};model={model};prompt={digest}"

    def prompt(self, context: Context) -> str:
        """The prompt for a community; tags in it that could end the context lose their first bracket."""
        values = {
            "context": fenced(context.text),
            "scale": int(SCALE),
            "findings": _FINDINGS,
            "tuned": self._tuned,
        }
        return fill_prompt(self._template, self._path, values, "context, scale, findings and tuned")

    def write(self, context: Context) -> Report:
        """Ask the model for the report; a second time, with the reason, if its answer is no report.

        Raises:
            LlmError: a call failed, or the second answer is no report either (kind `unparsable`; the answers
                are then taken out of the cache, so that another run asks again).
        """
        report, completions = ask_for(
            self._gateway,
            self.prompt(context),
            lambda answer: read_report(answer.text, context),
            what="report",
            form="one whole JSON object",
            hint=tr("use a model that follows instructions better, or set communities.reports to extractive"),
            purpose="community report",
            model=self.model,
            json_mode=True,
        )
        report.completions = completions
        return report


def read_report(text: str, context: Context) -> Report:
    """The report in an answer.

    Raises:
        ValueError: why there is none, without words of the answer.
    """
    items, _ = parse_items(text)
    objects = [item for item in items if isinstance(item, dict)]
    item: Any = next((item for item in objects if "findings" in item), next(iter(objects), None))
    if item is None:
        raise ValueError("there is no JSON object")
    answer = in_form(AnsweredReport, item)
    report = Report(answer.title, answer.summary, [], answer.rating, answer.rating_explanation)
    for finding in answer.findings:
        cited = [citation for citation in dict.fromkeys(finding.cites) if citation in context.cites]
        if unknown := len({*finding.cites}) - len(cited):
            report.dropped["unknown_id"] += unknown
        nodes = tuple(dict.fromkeys(node for citation in cited for node in context.cites[citation]))
        if nodes:
            report.findings.append(Finding(finding.summary, finding.explanation, nodes))
        else:
            report.dropped["uncited_finding"] += 1
    if not report.findings:
        raise ValueError("no finding cites an id of the context")
    return report
