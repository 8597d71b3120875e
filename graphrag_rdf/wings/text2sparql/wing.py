"""Questions turned into SPARQL, by a model or with the templates of the cookbook."""

from __future__ import annotations

from graphrag_rdf.i18n import later
from graphrag_rdf.wing import Wing

WING = Wing(
    name="text2sparql",
    about=later("Questions turned into SPARQL queries, whose rows are the answer."),
    settings={"federation": "graphrag_rdf.wings.text2sparql.settings:FederationSection"},
    counts="graphrag_rdf.wings.text2sparql.counting:counting_template",
    steps=("graphrag_rdf.wings.text2sparql.querying", "graphrag_rdf.wings.text2sparql.row_answers"),
)
