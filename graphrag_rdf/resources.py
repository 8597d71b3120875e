"""Where the data folders (queries, pipelines, ontology, sample documents) are.

They are inside the package when it is installed from a wheel, beside it in a checkout.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.i18n import tr

Folder = Literal["queries", "pipelines", "ontology", "examples/documents"]

_PACKAGE = Path(__file__).resolve().parent


def folder(name: Folder) -> Path:
    """The folder of a kind of data.

    Raises:
        GraphRagError: when the installation lacks it.
    """
    for place in (_PACKAGE / name, _PACKAGE.parent / name):
        if place.is_dir():
            return place
    raise GraphRagError(
        tr("this installation lacks the folder {name}/").format(name=name),
        hint=tr("install graphrag-rdf again"),
    )
