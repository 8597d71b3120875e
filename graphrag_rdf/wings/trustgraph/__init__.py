"""TrustGraph's wire protocol, so that its unmodified clients (`trustgraph-cli`) work with this server.

`requests` has the routes and the table of services; `answers` questions; `lookups` triples and SPARQL;
`library` documents and stored texts; `imports` triples that clients load; `terms` RDF in their JSON. All use
what the other routes of the server use. Where TrustGraph's client is at fault, what it gets is shaped so that
it works; docs/how-to/trustgraph-clients.md lists each case.
"""
