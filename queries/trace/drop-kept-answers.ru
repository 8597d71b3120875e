# name: trace/drop-kept-answers
# kind: update
# summary: Let no answer be given again; the traces themselves stay.
DELETE { GRAPH <urn:graph:retrieval> { ?answer rag:answerKey ?key ; rag:answerData ?data } } WHERE {
  GRAPH <urn:graph:retrieval> {
    ?answer rag:answerKey ?key ;
      rag:answerData ?data .
  }
}
