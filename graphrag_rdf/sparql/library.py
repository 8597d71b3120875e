"""The library of query templates: every `.rq` and `.ru` in the query folders, loaded once.

Files in a user's own folder override the built-in ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphrag_rdf.errors import TemplateError
from graphrag_rdf.i18n import tr
from graphrag_rdf.sparql import parameters
from graphrag_rdf.sparql.parameters import Header, Kind, Parameter, split
from graphrag_rdf.sparql.render import Renderer

_SUFFIXES: dict[str, tuple[Kind, ...]] = {".rq": ("select", "ask", "construct"), ".ru": ("update",)}


@dataclass(frozen=True, slots=True)
class QueryTemplate:
    """A template: header, body, and file."""

    header: Header
    body: str
    path: Path

    @property
    def name(self) -> str:
        """`purpose/name`, as in `queries run`."""
        return self.header.name

    @property
    def purpose(self) -> str:
        """Its folder."""
        return self.name.partition("/")[0]

    @property
    def params(self) -> Mapping[str, Parameter]:
        """The declared parameters."""
        return self.header.params

    def samples(self) -> dict[str, Any]:
        """The sample value of each parameter, parsed."""
        return {key: parameters.parse(p.type, p.sample) for key, p in self.params.items()}

    def render(self, renderer: Renderer, **values: Any) -> str:
        """The query for the given parameter values.

        Raises:
            TemplateError: when a value is missing, unknown or of another type.
        """
        return renderer.render(self.name, self.body, parameters.convert(self.name, self.params, values))


class TemplateLibrary(Mapping[str, QueryTemplate]):
    """All templates by name. A file is read on first use.

    Args:
        folders: query folders; later ones override earlier ones.

    Attributes:
        for_people: the names of queries that answer people's questions: those of the cookbook, and those
            that only a later folder has. Updates are left out.
    """

    def __init__(self, *folders: Path) -> None:
        self._paths = {
            path.relative_to(folder).with_suffix("").as_posix(): path
            for folder in folders
            for path in sorted(folder.rglob("*.r[qu]"))
        }
        self._templates: dict[str, QueryTemplate] = {}
        program = {name for name in self._paths if folders and (folders[0] / f"{name}.rq").exists()}
        self.for_people = [
            name
            for name, path in sorted(self._paths.items())
            if path.suffix == ".rq" and (name.startswith("cookbook/") or name not in program)
        ]

    def __getitem__(self, name: str) -> QueryTemplate:
        """A template.

        Raises:
            TemplateError: when there is none, or its header is malformed or does not match the file.
        """
        if (template := self._templates.get(name)) is not None:
            return template
        try:
            path = self._paths[name]
        except KeyError:
            raise TemplateError(
                tr("unknown query {name}").format(name=name),
                hint=tr("graphrag-rdf queries list shows the names"),
            ) from None
        template = self._templates[name] = _load(path, name)
        return template

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def __contains__(self, name: object) -> bool:
        return name in self._paths


def _load(path: Path, expected_name: str) -> QueryTemplate:
    header, body = split(path.read_text(encoding="utf-8"), str(path))
    if header.name != expected_name:
        raise TemplateError(
            tr("{path}: the header has the name {header}, but the file is {expected_name}").format(
                path=path, header=header.name, expected_name=expected_name
            )
        )
    if header.kind not in _SUFFIXES[path.suffix]:
        raise TemplateError(
            tr("{path}: a {suffix} file cannot have the kind {kind}").format(
                path=path, suffix=path.suffix, kind=header.kind
            )
        )
    for key, parameter in header.params.items():
        try:
            parameters.converter(parameter.type)
        except KeyError as error:
            raise TemplateError(
                tr("{path}: parameter {key} has an unknown type, {type}").format(
                    path=path, key=key, type=parameter.type
                )
            ) from error
    return QueryTemplate(header, body, path)
