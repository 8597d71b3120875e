"""The fixtures of the steps, for whole pipelines."""

from tests.steps.conftest import sample_folder, samples

__all__ = ["sample_folder", "samples"]
