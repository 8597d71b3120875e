"""Extraction by rules."""

from __future__ import annotations

from graphrag_rdf.i18n import later
from graphrag_rdf.wing import Wing

WING = Wing(
    name="rules",
    about=later("Facts without a model, by the grammar of English, German, Dutch and Chinese."),
    rules="graphrag_rdf.wings.rules.reader:Reader",
)
