"""Prompts: rendered from the pipeline's templates, with what comes from outside kept inside its tags."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined
from jinja2 import TemplateError as JinjaError
from jinja2.loaders import FileSystemLoader
from jinja2.sandbox import ImmutableSandboxedEnvironment

from graphrag_rdf.errors import TemplateError
from graphrag_rdf.llm.fencing import fenced

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@cache
def _environment(folders: tuple[Path, ...]) -> ImmutableSandboxedEnvironment:
    return ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(folders),
        undefined=StrictUndefined,
        autoescape=False,
    )


def render(folders: tuple[Path, ...], name: str, **values: Any) -> str:
    """A prompt for these values; every text among them is `quoted` first.

    Args:
        folders: where the template is; the first that has it counts.

    Raises:
        TemplateError: when the template is missing or fails.
    """
    try:
        return _environment(folders).get_template(name).render(quoted(values)).strip()
    except (JinjaError, OSError) as error:
        raise TemplateError(f"prompt {folders[0] / name}: {error}") from error


def quoted(value: Any) -> Any:
    """Data that cannot end the tags it stands between: our own tags in it lose their first bracket."""
    if isinstance(value, str):
        return fenced(_CONTROL.sub("\ufffd", value))
    if isinstance(value, dict):
        return {key: quoted(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [quoted(item) for item in value]
    return value
