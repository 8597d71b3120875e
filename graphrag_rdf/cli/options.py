"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

model_option = click.option(
    "--model",
    metavar="M",
    help="Language model: a litellm name, e.g. openai/gpt-4.1 or ollama/llama3, or none for rules only.",
)
embedding_option = click.option(
    "--embedding-model",
    metavar="M",
    help="Embedding model: a litellm name, local:DIR, fastembed:NAME, or none.",
)
allow_ingest_option = click.option(
    "--allow-ingest",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Let clients ingest documents from this folder.",
)
rerank_option = click.option(
    "--rerank",
    metavar="M",
    help="Rerank the top results: a litellm rerank model, local:DIR, lexical, vector, or none.",
)
output_option = click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write to this file instead of stdout.",
)
set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="STEP.PARAMETER=VALUE",
    help="Set a parameter of the pipeline; may be repeated. `graphrag-rdf pipelines show` lists them.",
)


def server_options(command: F) -> F:
    """`--server` and `--token-file`."""
    server = click.option("--server", metavar="URL", help="Use a running server instead of a local store.")
    token = click.option(
        "--token-file",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="File with the token for the server.",
    )
    return server(token(command))


def entity_options(command: F) -> F:
    """`--include-entity` and `--exclude-entity`; the parameters are `include` and `exclude`."""
    include = click.option(
        "--include-entity",
        "include",
        multiple=True,
        metavar="NAME",
        help="Start from this entity too; may be repeated.",
    )
    exclude = click.option(
        "--exclude-entity",
        "exclude",
        multiple=True,
        metavar="NAME",
        help="Leave out this entity, its facts, and sentences about it that mention nothing else that the "
        "question names; may be repeated.",
    )
    return include(exclude(command))


def key_values(items: Iterable[str]) -> dict[str, str]:
    """A dictionary of texts of the form `key=value`.

    Raises:
        click.BadParameter: when a text has no `=`.
    """
    out: dict[str, str] = {}
    for item in items:
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(f"{item!r} does not have the form name=value")
        out[key.strip()] = value
    return out
