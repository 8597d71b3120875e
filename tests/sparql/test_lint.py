"""Each rule of the lint, broken and kept."""

from __future__ import annotations

import pytest

from tests.support.sparql_lint import lint, plan_complaints

BROKEN = {
    "an open triple term": "SELECT ?s WHERE { ?c tg:contains <<( ?s ?p ?o )>> }",
    "open, though the projection and the order name its variables": (
        "SELECT ?c ?s ?p ?o WHERE { GRAPH <urn:g> { ?c tg:contains <<( ?s ?p ?o )>> } } ORDER BY ?s ?p ?o ?c"
    ),
    "open, though a filter names its variables": (
        "SELECT * WHERE { ?c tg:contains <<( ?s ?p ?o )>> FILTER(?s = <urn:a> && BOUND(?c)) }"
    ),
    "bound in part only": "SELECT * WHERE { ?s rdfs:label ?n . ?c tg:contains <<( ?s ?p ?o )>> }",
    "bound outside of the inner SELECT only": (
        "SELECT * WHERE { ?s ?p ?o { SELECT ?c WHERE { ?c tg:contains <<( ?s ?p ?o )>> } } }"
    ),
    "bound by an update's template only": (
        "DELETE { ?s ?p ?o } WHERE { GRAPH <urn:g> { ?c tg:contains <<( ?s ?p ?o )>> } }"
    ),
    "open in EXISTS": "ASK { ?s ?p ?x FILTER NOT EXISTS { ?c tg:contains <<( ?s ?p ?o )>> } }",
    "a reifier without a name": "SELECT * WHERE { << ?s ?p ?o >> rag:confidence ?n }",
    "two patterns in OPTIONAL": "SELECT * WHERE { ?a <urn:b> ?c OPTIONAL { ?c <urn:d> ?e . ?e <urn:f> ?g } }",
    "two patterns by semicolon": "SELECT * WHERE { ?a <urn:b> ?c OPTIONAL { ?c <urn:d> ?e ; <urn:f> ?g } }",
    "two patterns by comma": "SELECT * WHERE { ?a <urn:b> ?c OPTIONAL { ?c <urn:d> ?e , ?g } }",
    "two patterns in OPTIONAL GRAPH": (
        "SELECT * WHERE { ?a <urn:b> ?c OPTIONAL { GRAPH <urn:g> { ?c <urn:d> ?e . ?c <urn:f> ?g } } }"
    ),
    "an OPTIONAL that holds no pattern": "SELECT * WHERE { ?a <urn:b> ?c OPTIONAL { BIND(1 AS ?d) } }",
    "an OPTIONAL on what only an OPTIONAL binds": (
        "SELECT * WHERE { ?a <urn:b> ?c OPTIONAL { ?c <urn:d> ?e } OPTIONAL { ?e <urn:f> ?g } }"
    ),
    "an OPTIONAL that joins on nothing": "SELECT * WHERE { ?a <urn:b> ?c OPTIONAL { ?x <urn:d> ?y } }",
    "a triple term in OPTIONAL": "SELECT * WHERE { ?s ?p ?o OPTIONAL { ?r rdf:reifies <<( ?s ?p ?o )>> } }",
    "a triple term in MINUS": "SELECT * WHERE { ?s ?p ?o MINUS { ?r rdf:reifies <<( ?s ?p ?o )>> } }",
    "a triple term after UNION": "SELECT * WHERE { { ?s ?p ?o } UNION { ?r rdf:reifies <<( ?s ?p ?o )>> } }",
    "a triple term before UNION": "SELECT * WHERE { { ?r rdf:reifies <<( ?s ?p ?o )>> } UNION { ?s ?p ?o } }",
    "a triple term in a UNION beside another triple": (
        "SELECT * WHERE { { ?s ?p ?x . ?r rdf:reifies <<( ?s ?p ?o )>> } UNION { ?s ?p ?o } }"
    ),
    "a triple term deep in a UNION": (
        "SELECT * WHERE { { GRAPH <urn:g> { ?r rdf:reifies << ?s ?p ?o >> } } UNION { ?s ?p ?o } }"
    ),
    "a triple term in a UNION outside of its own triple": (
        "SELECT * WHERE { { { ?s ?p ?o } ?r rdf:reifies <<( ?s ?p ?o )>> } UNION { ?s ?p ?o } }"
    ),
    "an annotation": "SELECT * WHERE { ?s ?p ?o {| rag:confidence ?c |} }",
    "a named reifier": "SELECT * WHERE { ?s ?p ?o ~ ?r }",
    "SERVICE": "SELECT * WHERE { SERVICE <http://example.org/> { ?s ?p ?o } }",
    "LOAD, in any case": "load <http://example.org/>",
    "VALUES for a predicate": "SELECT * WHERE { <urn:a> ?p ?o VALUES ?p { <urn:b> <urn:c> } }",
    "a projected name that is in scope": "SELECT (STR(?a) AS ?b) WHERE { ?a <urn:p> ?b }",
    "a name that an OPTIONAL has in scope": "SELECT (1 AS ?b) { ?a <urn:p> ?c OPTIONAL { ?a <urn:q> ?b } }",
    "a name that a UNION has in scope": "SELECT (1 AS ?b) { { ?a <urn:p> ?b } UNION { ?b <urn:p> ?c } }",
    "an inner SELECT's projected name": (
        "SELECT ?a WHERE { { SELECT ?a (MIN(?b) AS ?b) WHERE { ?a <urn:p> ?b } GROUP BY ?a } }"
    ),
    "the name of a graph": "SELECT (1 AS ?g) WHERE { GRAPH ?g { ?a <urn:p> ?c } }",
    "a name that BIND gives again": "SELECT * WHERE { ?a <urn:p> ?b BIND(1 AS ?b) }",
    "a name that BIND gives twice": "SELECT * WHERE { BIND(1 AS ?b) BIND(2 AS ?b) }",
    "a name that is projected twice": "SELECT (1 AS ?b) (2 AS ?b) WHERE { ?a <urn:p> ?c }",
    "a group's name": "SELECT ?b WHERE { ?a <urn:p> ?b } GROUP BY (STR(?a) AS ?b)",
    "BIND in the EXISTS of an update": (
        "DELETE { ?a ?p ?b } WHERE { ?a ?p ?b FILTER EXISTS { ?a <urn:q> ?c BIND(1 AS ?c) } }"
    ),
}

KEPT = {
    "a container that is bound": "SELECT * WHERE { ?c a tg:Subgraph ; tg:contains <<( ?s ?p ?o )>> }",
    "a container that is a term": "SELECT * WHERE { <urn:c> tg:contains <<( ?s ?p ?o )>> }",
    "a container in VALUES": "SELECT * WHERE { VALUES ?c { <urn:c> } ?c tg:contains <<( ?s ?p ?o )>> }",
    "the plain fact beside it": "SELECT * { ?s ?p ?o . GRAPH <urn:g> { ?c tg:contains <<( ?s ?p ?o )>> } }",
    "rows of whole facts": (
        "SELECT * WHERE { VALUES (?s ?p ?o) { (<urn:s> <urn:p> 1) } ?c tg:contains <<( ?s ?p ?o )>> }"
    ),
    "bound by BIND": ("SELECT * WHERE { ?s a ?o BIND(rdf:type AS ?p) ?c tg:contains <<( ?s ?p ?o )>> }"),
    "bound by an inner SELECT": (
        "SELECT * WHERE { { SELECT ?s ?p (MIN(?x) AS ?o) WHERE { ?s ?p ?x } GROUP BY ?s ?p } "
        "?c tg:contains <<( ?s ?p ?o )>> }"
    ),
    "bound by another triple term": (
        "SELECT * WHERE { ?e a tg:Selection ; tg:edge <<( ?s ?p ?o )>> . ?c tg:contains <<( ?s ?p ?o )>> }"
    ),
    "bound outside of EXISTS": (
        "SELECT * WHERE { ?s ?p ?o FILTER NOT EXISTS { ?c tg:contains <<( ?s ?p ?o )>> } }"
    ),
    "in a UNION beside its own triple": (
        "SELECT * WHERE { { VALUES ?s { <urn:s> } ?s ?p ?o . ?r rdf:reifies <<( ?s ?p ?o )>> } "
        "UNION { ?s ?p ?o } }"
    ),
    "in a graph in a UNION inside of its own triple": (
        "SELECT * WHERE { { ?s ?p ?o GRAPH <urn:g> { ?r rdf:reifies <<( ?s ?p ?o )>> } } UNION { ?s ?p ?o } }"
    ),
    "one pattern with a filter": (
        "SELECT * WHERE { ?a <urn:b> ?c OPTIONAL { ?c <urn:d> ?e FILTER(?e > 1) } }"
    ),
    "one pattern in its graph": "SELECT * { ?a <urn:b> ?c OPTIONAL { GRAPH <urn:g> { ?c <urn:d> ?e } } }",
    "an OPTIONAL joined by its object": "SELECT * WHERE { ?a <urn:b> ?c OPTIONAL { ?e <urn:d> ?c } }",
    "words and brackets in strings, IRIs and comments": (
        'SELECT * WHERE { <urn:LOAD> <urn:x> "SERVICE { ?s ~ ?p {| <<( ?x ?y ?z )>>" } # OPTIONAL { LOAD ~'
    ),
    "a list of predicates in FILTER": "SELECT * WHERE { <urn:a> ?p ?o FILTER(?p IN (<urn:b>, <urn:c>)) }",
    "rows that hold predicates": "SELECT * WHERE { VALUES (?s ?p) { (<urn:a> <urn:b>) } ?s ?p ?o }",
    "data with triple terms": "INSERT DATA { <urn:c> <urn:contains> <<( <urn:s> <urn:p> <urn:o> )>> }",
    "a template with triple terms": (
        "INSERT { ?c <urn:was> <<( ?s ?p ?o )>> } WHERE { ?s ?p ?o . ?c a <urn:C> }"
    ),
    "names that are given in other scopes": (
        "SELECT ?a (COUNT(?c) AS ?n) WHERE { { ?a <urn:p> ?c BIND(1 AS ?x) } "
        "UNION { ?a <urn:q> ?c BIND(2 AS ?x) } "
        "FILTER NOT EXISTS { ?a <urn:r> ?n } MINUS { ?a <urn:s> ?n } "
        "{ SELECT ?a (SAMPLE(?z) AS ?y) WHERE { ?a <urn:t> ?z } GROUP BY ?a } "
        "{ SELECT ?a (SAMPLE(?y) AS ?z) WHERE { ?a <urn:u> ?y } GROUP BY ?a } } "
        "GROUP BY ?a HAVING (COUNT(?c) > 1)"
    ),
    "an alias in an OPTIONAL of what is outside": (
        "SELECT * WHERE { ?a <urn:p> ?b OPTIONAL { ?a <urn:q> ?c BIND(?c AS ?b) } }"
    ),
}


@pytest.mark.parametrize("query", BROKEN.values(), ids=BROKEN)
def test_finds(query: str) -> None:
    assert lint(query)


@pytest.mark.parametrize("query", KEPT.values(), ids=KEPT)
def test_lets_pass(query: str) -> None:
    assert lint(query) == []


READ_ALONE = {
    "a pattern after UNION": "SELECT * WHERE { { ?a <urn:b> ?c } UNION { ?a <urn:d> ?c } ?c <urn:e> ?f }",
    "a graph after UNION": (
        "SELECT * WHERE { { ?a <urn:b> ?c } UNION { ?a <urn:d> ?c } FILTER(?c > 1) "
        "GRAPH <urn:g> { ?c <urn:e> ?f } }"
    ),
    "a UNION after UNION": (
        "SELECT * { { ?a <urn:b> ?c } UNION { ?a <urn:d> ?c } { ?c <urn:e> ?f } UNION { ?c <urn:g> ?f } }"
    ),
    "VALUES after UNION": "SELECT * WHERE { { ?a <urn:b> ?c } UNION { ?a <urn:d> ?c } VALUES ?c { 1 2 } }",
    "a pattern after UNION in EXISTS": (
        "ASK { ?a <urn:b> ?c FILTER EXISTS { { ?c <urn:d> ?e } UNION { ?c <urn:f> ?e } . ?e <urn:g> ?h } }"
    ),
    "FILTER in a graph under VALUES": (
        "SELECT * WHERE { VALUES ?a { 1 } GRAPH <urn:g> { ?a <urn:b> ?c FILTER(?c > 1) } }"
    ),
    "FILTER EXISTS in a graph under VALUES": (
        "SELECT * WHERE { VALUES ?a { 1 } GRAPH <urn:g> { ?a <urn:b> ?c FILTER EXISTS { ?c <urn:d> ?e } } }"
    ),
    "FILTER in a graph in a group under VALUES": (
        "SELECT * WHERE { VALUES ?a { 1 } { GRAPH <urn:g> { ?a <urn:b> ?c FILTER(?c > 1) } } }"
    ),
    "UNION in a graph under VALUES": (
        "SELECT * WHERE { VALUES ?a { 1 } GRAPH <urn:g> { { ?a <urn:b> ?c } UNION { ?a <urn:d> ?c } } }"
    ),
}

READ_BY_LOOK_UP = {
    "a filter, a BIND, an OPTIONAL and an order after UNION": (
        "SELECT * WHERE { { ?a <urn:b> ?c } UNION { ?a <urn:d> ?c } FILTER NOT EXISTS { ?a <urn:e> ?f } "
        "BIND(STR(?c) AS ?g) OPTIONAL { ?c <urn:h> ?i } } ORDER BY ?a"
    ),
    "a UNION of three": "SELECT * { { ?a <urn:b> ?c } UNION { ?a <urn:d> ?c } UNION { ?a <urn:e> ?c } }",
    "a pattern before UNION": "SELECT * WHERE { ?c <urn:e> ?f { ?a <urn:b> ?c } UNION { ?a <urn:d> ?c } }",
    "FILTER one brace further out": (
        "SELECT * WHERE { VALUES ?a { 1 } GRAPH <urn:g> { ?a <urn:b> ?c } FILTER(?c > 1) }"
    ),
    "VALUES in the graph": "SELECT * { GRAPH <urn:g> { VALUES ?a { 1 } ?a <urn:b> ?c FILTER(?c > 1) } }",
    "FILTER in a graph without VALUES": "SELECT * WHERE { GRAPH <urn:g> { ?a <urn:b> ?c FILTER(?c > 1) } }",
    "FILTER in EXISTS in a graph": (
        "SELECT * { VALUES ?a { 1 } GRAPH <urn:g> { ?a <urn:b> ?c } "
        "FILTER EXISTS { GRAPH <urn:g> { ?c <urn:d> ?e FILTER(?e > 1) } } }"
    ),
    "VALUES in another branch": (
        "SELECT * { { VALUES ?a { 1 } ?a <urn:b> ?c } "
        "UNION { GRAPH <urn:g> { ?a <urn:d> ?c FILTER(?c > 1) } } }"
    ),
}


@pytest.mark.parametrize("query", READ_ALONE.values(), ids=READ_ALONE)
def test_finds_groups_that_are_read_alone(query: str) -> None:
    assert len(plan_complaints(query)) == 1


@pytest.mark.parametrize("query", READ_BY_LOOK_UP.values(), ids=READ_BY_LOOK_UP)
def test_lets_other_groups_pass(query: str) -> None:
    assert plan_complaints(query) == []
