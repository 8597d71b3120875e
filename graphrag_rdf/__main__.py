"""`python -m graphrag_rdf` is the program `graphrag-rdf`."""

from graphrag_rdf.cli import main

main()
