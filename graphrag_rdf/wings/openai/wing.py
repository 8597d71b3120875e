"""OpenAI's Chat Completions."""

from __future__ import annotations

from graphrag_rdf.i18n import later
from graphrag_rdf.wing import Wing

WING = Wing(
    name="openai",
    about=later("Pipelines as models of OpenAI's API, for chat programs and clients."),
    routes=("graphrag_rdf.wings.openai.routes:ROUTES",),
)
