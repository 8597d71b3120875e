"""The runner of the W3C's suites, with a suite of our own."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.w3c import cases, main

MANIFEST = """@prefix mf: <http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#> .
@prefix qt: <http://www.w3.org/2001/sw/DataAccess/tests/test-query#> .
@prefix ut: <http://www.w3.org/2009/sparql/tests/test-update#> .
@prefix rdft: <http://www.w3.org/ns/rdftest#> .
<#rows> a mf:QueryEvaluationTest ;
  mf:action [ qt:query <rows.rq> ; qt:data <data.ttl> ] ; mf:result <rows.srj> .
<#graph> a mf:QueryEvaluationTest ;
  mf:action [ qt:query <graph.rq> ; qt:data <data.ttl> ] ; mf:result <data.ttl> .
<#wrong> a mf:QueryEvaluationTest ;
  mf:action [ qt:query <ask.rq> ; qt:data <data.ttl> ] ; mf:result <wrong.srj> .
<#bad> a mf:NegativeSyntaxTest11 ; mf:action <bad.rq> .
<#update> a mf:UpdateEvaluationTest ;
  mf:action [ ut:request <update.ru> ; ut:data <data.ttl> ] ; mf:result [ ut:data <after.ttl> ] .
<#call> a mf:QueryEvaluationTest ; mf:action [ qt:query <call.rq> ] ; mf:result <rows.srj> .
<#read> a rdft:TestTurtleEval ; mf:action <data.ttl> ; mf:result <data.nt> .
<#malformed> a rdft:TestTurtleNegativeSyntax ; mf:action <bad.ttl> .
"""
ROWS = '{"head":{"vars":["o"]},"results":{"bindings":[{"o":{"type":"literal","value":"x","xml:lang":"en"}}]}}'
FILES = {
    "manifest.ttl": MANIFEST,
    "data.ttl": "<s> <urn:p> 'x'@en . [] <urn:q> 01 .",
    "data.nt": "<http://www.example/own/s> <urn:p> 'x'@en .\n_:b <urn:q> "
    '"1"^^<http://www.w3.org/2001/XMLSchema#integer> .',
    "after.ttl": "[] <urn:q> 1 .",
    "bad.ttl": "<s> <p> .",
    "rows.rq": "SELECT ?o { <s> <urn:p> ?o }",
    "rows.srj": ROWS,
    "graph.rq": "CONSTRUCT WHERE { ?s ?p ?o }",
    "ask.rq": "ASK { <s> <urn:p> 'x'@en }",
    "wrong.srj": '{"head":{},"boolean":false}',
    "bad.rq": "SELECT * { ?s ?p }",
    "update.ru": "DELETE WHERE { <s> ?p ?o }",
    "call.rq": "SELECT * { SERVICE <urn:x> { ?s ?p ?o } }",
}


def test_what_passes_and_what_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text.replace("'", '"') if name.endswith(".nt") else text)
    assert sum(case is None for case in cases(folder)) == 1
    assert main([str(folder), "-v"]) == 0
    told = capsys.readouterr().out
    assert "the engine fails: own: query own/wrong" in told
    counts = {
        line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:-1]]
        for line in told.splitlines()
        if line.startswith("| own")
    }
    assert counts == {
        "own": ["2", "0", "2", "0"],
        "own: query": ["3", "1", "2", "0"],
        "own: query-syntax": ["1", "0", "1", "0"],
        "own: update": ["1", "0", "1", "0"],
    }
    assert "left out: 1 " in told
