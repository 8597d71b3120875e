"""Ingest on a Dask cluster."""
