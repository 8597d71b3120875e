"""What checks and repeats answers."""

from __future__ import annotations

from graphrag_rdf.i18n import later
from graphrag_rdf.wing import Wing

_COMMANDS = "graphrag_rdf.wings.audit.commands"

WING = Wing(
    name="audit",
    about=later("Answers verified, compared and asked again."),
    subcommands={
        "trace ask-without": f"{_COMMANDS}:ask_without_command",
        "trace diff": f"{_COMMANDS}:diff_command",
        "trace replay": f"{_COMMANDS}:replay_command",
        "trace verify": f"{_COMMANDS}:verify_command",
    },
    routes=("graphrag_rdf.wings.audit.routes:ROUTES",),
)
