"""The library of query templates: every `.rq` and `.ru` in the query folders, loaded once.

Files in a user's own folder override the built-in ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphrag_rdf.errors import TemplateError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.sparql import parameters
from graphrag_rdf.sparql.columns import COLUMN_TYPES, Record, records
from graphrag_rdf.sparql.parameters import Header, Kind, Parameter, split
from graphrag_rdf.sparql.render import Renderer
from graphrag_rdf.sparql.tokens import may_call

_SUFFIXES: dict[str, tuple[Kind, ...]] = {".rq": ("select", "ask", "construct"), ".ru": ("update",)}


@dataclass(frozen=True, slots=True)
class QueryTemplate:
    """A template: header, body, and file.

    Attributes:
        calls: addresses that SERVICE may call; None for a template of the program, which is not checked.
    """

    header: Header
    body: str
    path: Path
    calls: Collection[str] | None = None

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

    def records(self, rows: Sequence[Mapping[str, Term]]) -> list[Record]:
        """Rows with values of the declared types; the same rows if the header declares none.

        Raises:
            TemplateError: a column that must be bound is not.
        """
        return records(self.name, self.header.columns, rows) if self.header.columns else list(rows)

    def samples(self) -> dict[str, Any]:
        """The sample value of each parameter, parsed."""
        return {key: parameters.parse(p.type, p.sample) for key, p in self.params.items()}

    def render(self, renderer: Renderer, **values: Any) -> str:
        """The query for the given parameter values.

        Raises:
            TemplateError: when a value is missing, unknown or of another type, or a user's own template calls
                another server.
        """
        text = renderer.render(self.name, self.body, parameters.convert(self.name, self.params, values))
        if self.calls is not None and may_call(text, self.calls, update=self.header.kind == "update"):
            raise TemplateError(
                tr("{path} calls another server").format(path=self.path),
                hint=tr("the setting server.allow_service names the addresses that may be called"),
            )
        return text


class TemplateLibrary(Mapping[str, QueryTemplate]):
    """All templates by name. A file is read on first use.

    Args:
        folders: query folders; later ones are users' own, and override earlier ones.
        calls: addresses that SERVICE may call in users' own templates.

    Attributes:
        for_people: the names of queries that answer people's questions: those of the cookbook, and those
            that only a later folder has. Updates are left out.
    """

    def __init__(self, *folders: Path, calls: Collection[str] = ()) -> None:
        self._program, self._calls = folders[:1], calls
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
        own = not any(path.is_relative_to(folder) for folder in self._program)
        template = _load(path, name, self._calls if own else None)
        self._templates[name] = self._with_types(template) if own else template
        return self._templates[name]

    def _with_types(self, template: QueryTemplate) -> QueryTemplate:
        """A user's own template. If it overrides one of the program and only names its columns, these get the
        types that the program expects.
        """
        header, suffix = template.header, template.path.suffix
        for path in (folder / f"{template.name}{suffix}" for folder in self._program):
            if isinstance(header.returns, dict) or not path.exists():
                continue
            types = _load(path, template.name, None).header.returns
            if isinstance(types, dict):
                returns = {column: types.get(column, "term?") for column in header.returns}
                return replace(template, header=Header(**{**header.model_dump(), "returns": returns}))
        return template

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def __contains__(self, name: object) -> bool:
        return name in self._paths


def _load(path: Path, expected_name: str, calls: Collection[str] | None) -> QueryTemplate:
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
    for column in header.columns:
        if column.type not in COLUMN_TYPES:
            raise TemplateError(
                tr("{path}: parameter {key} has an unknown type, {type}").format(
                    path=path, key=column.name, type=column.type
                )
            )
    return QueryTemplate(header, body, path, calls)
