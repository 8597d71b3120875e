"""The store: its protocol, embedded Oxigraph, remote SPARQL endpoints, the blob store, migrations."""
