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
    help="A litellm model name, e.g. openai/gpt-4.1 or ollama/llama3; none works by rules.",
)
embedding_option = click.option(
    "--embedding-model", metavar="M", help="A litellm name, local:DIR, fastembed:NAME, or none."
)
allow_ingest_option = click.option(
    "--allow-ingest",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Let clients have documents of this folder read.",
)
rerank_option = click.option(
    "--rerank",
    metavar="M",
    help="Look at the best again: a litellm rerank model, local:DIR, lexical, vector, or none.",
)
set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="STEP.PARAMETER=VALUE",
    help="Change a parameter of the pipeline; may be repeated.",
)


def server_options(command: F) -> F:
    """`--server` and `--token-file`."""
    server = click.option(
        "--server", metavar="URL", help="A server (see graphrag-rdf serve), no store of this computer."
    )
    token = click.option(
        "--token-file",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Holds the token for the server.",
    )
    return server(token(command))


def entity_options(command: F) -> F:
    """`--include-entity` and `--exclude-entity`, passed on as `include` and `exclude`."""
    include = click.option(
        "--include-entity",
        "include",
        multiple=True,
        metavar="NAME",
        help="Follow this entity; may be repeated.",
    )
    exclude = click.option(
        "--exclude-entity",
        "exclude",
        multiple=True,
        metavar="NAME",
        help="Never follow it, and leave out facts with it and sentences about it, unless they mention "
        "something else that the question names; may be repeated.",
    )
    return include(exclude(command))


def key_values(items: Iterable[str]) -> dict[str, str]:
    """`key=value` texts as a dictionary.

    Raises:
        click.BadParameter: when there is no `=` in one.
    """
    out: dict[str, str] = {}
    for item in items:
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(f"{item!r} is not of the form name=value")
        out[key.strip()] = value
    return out
