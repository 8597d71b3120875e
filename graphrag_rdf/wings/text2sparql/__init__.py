"""Questions turned into SPARQL queries."""
