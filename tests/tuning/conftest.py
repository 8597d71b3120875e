"""The sample store of the steps."""

from tests.steps.conftest import sample_folder, samples

__all__ = ["sample_folder", "samples"]
