"""OpenTelemetry."""

from __future__ import annotations

from graphrag_rdf.i18n import later
from graphrag_rdf.wing import Wing

WING = Wing(
    name="telemetry",
    about=later("Questions, their steps, queries and model calls as spans of OpenTelemetry."),
    watches="graphrag_rdf.wings.telemetry.spans:watched",
    flags="graphrag_rdf.wings.telemetry.spans:flags",
)
