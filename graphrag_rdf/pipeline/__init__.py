"""Pipelines: `pipeline.yaml` (`definition`), the order of steps (`flows`), and runs (`pipeline`)."""

from graphrag_rdf.pipeline.definition import PipelineDefinition, StepDefinition
from graphrag_rdf.pipeline.pipeline import (
    Pipeline,
    all_pipelines,
    hash_of_folder,
    load_pipeline,
    pipeline_names,
)

__all__ = [
    "Pipeline",
    "PipelineDefinition",
    "StepDefinition",
    "all_pipelines",
    "hash_of_folder",
    "load_pipeline",
    "pipeline_names",
]
