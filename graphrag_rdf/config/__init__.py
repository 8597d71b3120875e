"""Settings: command line > environment (`GRAPHRAG_RDF_…`, nesting by `__`) > `graphrag.toml` > settings in
the store (see `live_settings`) > defaults.

Unknown keys are errors, retired ones (`loading.RETIRED`) warnings. `doctor` shows the origin of each value.
"""

from graphrag_rdf.config import trust
from graphrag_rdf.config.loading import (
    CONFIG_FILE,
    RETIRED,
    Loaded,
    Origin,
    check_stored,
    destinations,
    explicit_values,
    flat_values,
    given_settings,
    is_setting,
    load_settings,
    shown,
    with_stored,
)
from graphrag_rdf.config.sections import (
    ENV_PREFIX,
    ClientSection,
    DocumentSection,
    EmbeddingSection,
    ExtractSection,
    LlmSection,
    RelationSection,
    RemoteSection,
    Role,
    ServerSection,
    Settings,
    commented_toml,
    field_of,
)

__all__ = [
    "CONFIG_FILE",
    "ENV_PREFIX",
    "RETIRED",
    "ClientSection",
    "DocumentSection",
    "EmbeddingSection",
    "ExtractSection",
    "LlmSection",
    "Loaded",
    "Origin",
    "RelationSection",
    "RemoteSection",
    "Role",
    "ServerSection",
    "Settings",
    "check_stored",
    "commented_toml",
    "destinations",
    "explicit_values",
    "field_of",
    "flat_values",
    "given_settings",
    "is_setting",
    "load_settings",
    "shown",
    "trust",
    "with_stored",
]
