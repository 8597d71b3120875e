"""What this package plugs into graphrag-rdf."""

from graphrag_rdf.wing import Wing

WING = Wing(
    name="newest",
    about="Answers from the newest documents first.",
    commands={
        "newest": ("graphrag_rdf_newest.command:newest_command", "List documents by their date.", "other")
    },
    steps=("graphrag_rdf_newest.step",),
    readers={"text/gemini": ("graphrag_rdf_newest.gemtext:read_gemtext", (".gmi",))},
    data="graphrag_rdf_newest",
)
