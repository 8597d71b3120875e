"""The stages that follow the documents, one in a module, each named `STAGE` there; see `ingest.model_stage`.

What a module needs only when it runs is imported then: the commands import all modules for their help.
"""
