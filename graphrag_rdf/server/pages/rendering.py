"""Templates → HTML."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from graphrag_rdf.trace.lines import human_size
from graphrag_rdf.trace.outcomes import outcome_told
from graphrag_rdf.trace.page import visible

if TYPE_CHECKING:
    from jinja2 import Environment

NAVIGATION = (
    ("/", "Home"),
    ("/ask", "Ask"),
    ("/traces", "Questions"),
    ("/documents", "Documents"),
    ("/entities", "Entities"),
    ("/facts", "Facts"),
    ("/sparql-editor", "SPARQL"),
    ("/ontology", "Ontology"),
)

FURTHER = (
    ("/facts/decisions", "Decisions about facts"),
    ("/dataset", "What the store holds"),
    ("/queries", "Queries of the program"),
)


def render(template: str, here: str = "", /, **values: Any) -> str:
    """A page.

    Args:
        template: name of a file in `templates/`, without its ending.
        here: the address in `NAVIGATION` or `FURTHER` that it stands under.
    """
    return _environment().get_template(f"{template}.html.j2").render(here=here, **values)


@cache
def _environment() -> Environment:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader(
            [PackageLoader("graphrag_rdf.server.pages"), PackageLoader("graphrag_rdf.trace", ".")]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=visible,
    )
    environment.filters["outcome"] = outcome_told
    environment.globals.update(navigation=NAVIGATION, further=FURTHER, size=human_size)
    return environment
