# name: remote/write-term
# kind: update
# summary: Write a triple term into a graph of its own, to see whether an endpoint keeps it.
# params:
#   node: {type: iri, sample: "urn:graphrag-rdf:probe"}
#   value: {type: string, sample: "probe"}
INSERT DATA {
  GRAPH <urn:graphrag-rdf:probe> {
    {{ node }} rag:reason {{ value }} .
    {{ reifies(node, node, "rag:reason", value) }}
  }
}
