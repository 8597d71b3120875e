"""Prompt templates of extraction: read, and filled in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphrag_rdf.errors import TemplateError

if TYPE_CHECKING:
    import jinja2


def read_prompt(path: Path) -> tuple[jinja2.Template, str]:
    """A prompt template and its source.

    Raises:
        TemplateError: it is missing or malformed.
    """
    import jinja2
    import jinja2.sandbox

    # a user's own prompts are not trusted with more than text; and prompts are no markup to escape
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, trim_blocks=False, autoescape=False
    )
    try:
        source = path.read_text("utf-8")
        return environment.from_string(source), source
    except (OSError, UnicodeDecodeError) as error:
        raise TemplateError(
            f"the prompt {path} cannot be read: {error}", "install again, or copy it anew"
        ) from error
    except jinja2.TemplateSyntaxError as error:
        raise TemplateError(
            f"the prompt {path} is malformed in line {error.lineno}: {error.message}"
        ) from error


def names_in(source: str) -> set[str]:
    """The values that a prompt template reads.

    Args:
        source: of a template that `read_prompt` took.
    """
    import jinja2
    import jinja2.meta

    return jinja2.meta.find_undeclared_variables(jinja2.Environment(autoescape=False).parse(source))  # noqa: S701


def fill_prompt(template: jinja2.Template, path: Path, values: Mapping[str, Any], names: str) -> str:
    """A prompt for these values.

    Args:
        names: what a prompt may use, for people.

    Raises:
        TemplateError: it uses something else.
    """
    import jinja2

    try:
        return template.render(values)
    except jinja2.TemplateError as error:
        raise TemplateError(
            f"the prompt {path} cannot be filled in: {error.message}", f"it may use {names}"
        ) from error
