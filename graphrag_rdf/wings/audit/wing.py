"""What checks and repeats answers."""

from __future__ import annotations

from graphrag_rdf.i18n import later
from graphrag_rdf.wing import Wing

_COMMANDS = "graphrag_rdf.wings.audit.commands"
_PACKS = "graphrag_rdf.wings.audit.pack_commands"

WING = Wing(
    name="audit",
    about=later("Answers verified, compared, asked again, and packed with what proves them."),
    commands={
        "pack": (
            f"{_PACKS}:pack_command",
            later("Check the proof of an answer, without its store."),
            "exchange",
        ),
        "keys": (f"{_PACKS}:keys_command", later("Keys to sign such proofs with."), "exchange"),
    },
    packs=f"{_PACKS}:write_pack",
    subcommands={
        "trace ask-without": f"{_COMMANDS}:ask_without_command",
        "trace diff": f"{_COMMANDS}:diff_command",
        "trace replay": f"{_COMMANDS}:replay_command",
        "trace verify": f"{_COMMANDS}:verify_command",
    },
    routes=("graphrag_rdf.wings.audit.routes:ROUTES",),
)
