"""The wings: features that plug into the core, one in each folder; see `graphrag_rdf.wing`."""
