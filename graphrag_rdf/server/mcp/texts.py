"""Results of tools as text, for models and people to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.namespaces import prefixed
from graphrag_rdf.trace.catalogue import TraceSummary
from graphrag_rdf.trace.model import Trace
from graphrag_rdf.trace.sources import FactSource
from graphrag_rdf.trace.text import render_fact_sources, render_list, render_trace

_WIDTH = 120


def of_answer(answer: Mapping[str, Any], trace: str) -> str:
    """The answer, its sources by marker, warnings, and its trace."""
    lines: dict[str, None] = {}
    for citation in answer["citations"]:
        for source in citation["sources"]:
            lines[f"{citation['marker']} {_source(source, citation.get('edge'))}"] = None
    parts = [answer["answer"]]
    if lines:
        parts.append("Sources:\n" + "\n".join(lines))
    if answer["closest"]:
        closest = (_source(source, None) for source in answer["closest"])
        parts.append("Closest passages:\n" + "\n".join(closest))
    parts += [f"Warning: {warning['detail']} ({warning['type']})" for warning in answer["warnings"]]
    parts.append(f"Trace: {trace}")
    return "\n\n".join(parts)


def of_passages(found: Mapping[str, Any]) -> str:
    """The passages with their scores, then the facts."""
    passages = [f"{r['rank']}. {r['name']} (score {r['score']:.2f})\n{r['text']}" for r in found["results"]]
    facts = [f"- {_fact(edge)} (score {edge['score']:.2f})" for edge in found["edges"]]
    warnings = [f"Warning: {w['detail']} ({w['type']})" for w in found["warnings"]]
    parts = [*passages, *(["Facts:\n" + "\n".join(facts)] if facts else []), *warnings]
    return "\n\n".join(parts) or "Nothing was found."


def of_results(found: Mapping[str, Any]) -> str:
    """Solutions as lines with tabs, or yes and no."""
    if "boolean" in found:
        return "yes" if found["boolean"] else "no"
    variables = found["head"]["vars"]
    rows = ["\t".join(_term(row.get(name)) for name in variables) for row in found["results"]["bindings"]]
    return "\n".join(["\t".join(f"?{name}" for name in variables), *rows])


def of_trace(trace: Trace) -> str:
    """As `trace show`."""
    return render_trace(trace, width=_WIDTH)


def of_traces(listed: Sequence[TraceSummary]) -> str:
    """As `trace list`."""
    return render_list(listed, width=_WIDTH) or "There are no traces yet."


def of_sources(found: Sequence[FactSource]) -> str:
    """As `source fact`."""
    return render_fact_sources(found, width=_WIDTH)


def of_report(report: Any) -> str:
    """The report of an ingest."""
    documents, failures = asdict(report.documents), report.failures
    counts = ", ".join(f"{number} {name}" for name, number in documents.items() if number) or "none"
    lines = [f"documents: {counts}", f"facts: {report.facts} new", f"entities: {report.entities} new"]
    lines += [f"failed: {failure.path}: {failure.reason}" for failure in failures]
    lines += [f"skipped: {path}" for path in report.skipped]
    lines += [f"Warning: {warning['detail']} ({warning['type']})" for warning in report.warnings]
    if report.stopped:
        lines.append(f"stopped early: {report.stopped}")
    return "\n".join(lines)


def _source(source: Mapping[str, Any], edge: Mapping[str, str] | None) -> str:
    if source["chunk"] is None and edge:
        return f"{source.get('name', source['title'])}: {_fact(edge)} (a fact, not a quotation)"
    page = f", page {source['page_number']}" if source.get("page_number") else ""
    quote = f": “{source['quote']}”" if source.get("quote") else ""
    doubt = "" if source.get("verified", True) or not quote else " (not found in the document's text)"
    return f"{source.get('name', source['title'])}{page}{quote}{doubt}"


def _term(term: Mapping[str, Any] | None) -> str:
    if term is None:
        return ""
    value = term["value"]
    if term["type"] == "triple":
        parts = (value["subject"], value["predicate"], value["object"])
        return f"<<( {' '.join(map(_term, parts))} )>>"
    if term["type"] == "uri":
        return prefixed(NamedNode(value)) or f"<{value}>"
    text = value.replace("\t", " ").replace("\n", " ")
    if term["type"] == "bnode":
        return f"_:{text}"
    return f"{text}@{term['xml:lang']}" if "xml:lang" in term else text


def _fact(edge: Mapping[str, Any]) -> str:
    return f"{edge['s_label']} {edge['p_label']} {edge['o_label']}"
