"""History."""

from __future__ import annotations

from graphrag_rdf.i18n import later
from graphrag_rdf.wing import Wing

_COMMANDS = "graphrag_rdf.wings.history.commands"

WING = Wing(
    name="history",
    about=later("Earlier states of a store: read, compared, and gone back to."),
    commands={
        "log": (
            f"{_COMMANDS}:log_command",
            later("Earlier states of the store, and who changed what."),
            "curate",
        ),
        "diff": (f"{_COMMANDS}:diff_command", later("What changed between two states."), "curate"),
        "undo": (f"{_COMMANDS}:undo_command", later("Take the last change back."), "curate"),
    },
    lists=("graphrag_rdf.wings.history.list",),
    settings={"history": "graphrag_rdf.wings.history.settings:HistorySection"},
    rests="graphrag_rdf.wings.history.states:keep_state",
    routes=("graphrag_rdf.wings.history.routes:ROUTES",),
    past="graphrag_rdf.wings.history.states:find_state",
)
