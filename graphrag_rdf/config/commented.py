"""The settings file that `init` writes."""

from __future__ import annotations

from pydantic import BaseModel

from graphrag_rdf.config.sections import Section, Settings


def commented_toml() -> str:
    """A settings file with every key, its default and what it does, all commented out."""
    lines = [
        "# Settings of graphrag-rdf.",
        "# The command line and the environment (GRAPHRAG_RDF_LLM__MODEL=…) win over this file.",
        "# After naming a model, an address or who may write, run: graphrag-rdf config trust",
    ]
    defaults = Settings.model_construct()
    tables: list[tuple[str, type[BaseModel], BaseModel]] = []
    for name, field in Settings.model_fields.items():
        value = getattr(defaults, name)
        if isinstance(value, Section):
            tables.append((name, type(value), value))
        else:
            lines += ["", *_comment(field.description), f"# {name} = {_toml(value)}"]
    for name, model, values in tables:
        lines += ["", f"[{name}]  # {(model.__doc__ or '').split(' - ', 1)[-1].rstrip('.')}"]
        for key, field in model.model_fields.items():
            lines += [*_comment(field.description), f"# {key} = {_toml(getattr(values, key))}"]
    return "\n".join(lines) + "\n"


def _comment(text: str | None) -> list[str]:
    return [f"# {text}"] if text else []


def _toml(value: object) -> str:
    if value is None:
        return '"none"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(f'"{item}"' for item in value) + "]"
    return str(value) if isinstance(value, int | float) else f'"{value}"'
