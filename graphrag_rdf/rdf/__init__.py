"""RDF ground: namespaces, IRIs, terms and PROV-O builders. Knows nothing of stores or queries."""
