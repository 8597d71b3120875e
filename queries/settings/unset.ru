# name: settings/unset
# kind: update
# summary: Take a setting out, however many values it has.
# params:
#   key: {type: string, sample: "documents.chunk_size"}
DELETE {
  GRAPH <urn:graph:system> {
    <urn:graphrag-rdf:store> rag:setting ?setting .
    ?setting ?p ?o .
  }
} WHERE {
  GRAPH <urn:graph:system> {
    <urn:graphrag-rdf:store> rag:setting ?setting .
    ?setting rag:settingKey {{ key }} ;
      ?p ?o .
  }
}
