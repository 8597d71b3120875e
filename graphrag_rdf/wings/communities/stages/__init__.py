"""The stages of the ingest that claims, descriptions and reports are."""
