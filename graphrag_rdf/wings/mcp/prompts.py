"""The prompts: queries that answer people's questions, with their parameters as arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pyoxigraph import NamedNode

from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import TemplateError, UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.sparql.library import QueryTemplate, TemplateLibrary
from graphrag_rdf.sparql.parameters import Parameter, parse, read_texts
from graphrag_rdf.store.base import Store
from graphrag_rdf.trace.facts import things_called
from graphrag_rdf.trace.sources import find_document

if TYPE_CHECKING:
    import mcp_types as types

_PLACE = re.compile(r"\{(\w+)\}")
_COMMA = re.compile(r"\s*,\s*")


def list_prompts(engine: Engine, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    """The queries of the cookbook and of the user's own folder."""
    import mcp_types as types

    del params
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=name,
                title=(*template.header.asks, template.header.summary)[0],
                description=template.header.summary,
                arguments=[
                    types.PromptArgument(name=key, description=_about(each), required=not each.optional)
                    for key, each in template.params.items()
                ],
            )
            for name, template in _prompts(engine.store.templates).items()
        ]
    )


def get_prompt(engine: Engine, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    """A prompt with its arguments in place: the question, and the query to run.

    Raises:
        Problem: 404 when there is no such prompt; 400 when an argument is missing, unknown or does not fit.
    """
    import mcp_types as types

    template = _prompts(engine.store.templates).get(params.name)
    if template is None:
        raise Problem(404, tr("there is no prompt {name!r}").format(name=params.name[:80]))
    content = types.TextContent(type="text", text=_filled(engine.store, template, params.arguments or {}))
    message = types.PromptMessage(role="user", content=content)
    return types.GetPromptResult(description=template.header.summary, messages=[message])


def _prompts(library: TemplateLibrary) -> dict[str, QueryTemplate]:
    """The templates by the names of their prompts, which clients show as commands."""
    names = library.for_people
    return {name.removeprefix("cookbook/").replace("/", "."): library[name] for name in names}


def _about(parameter: Parameter) -> str:
    """What an argument takes."""
    kind, many = parameter.type.removesuffix("[]"), parameter.type.endswith("[]")
    takes = ("names or IRIs" if many else "a name or an IRI") if kind == "iri" else kind
    parts = [parameter.about, takes, "separated by commas" if many else ""]
    samples = parameter.sample if isinstance(parameter.sample, list) else [parameter.sample]
    if samples:
        parts.append(f"such as {', '.join(map(str, samples[:2]))}")
    return "; ".join(filter(None, parts))


def _filled(store: Store, template: QueryTemplate, arguments: Mapping[str, str]) -> str:
    given = {key: text for key, text in arguments.items() if text.strip()}
    values: dict[str, Any] = dict(given)
    unknown: list[str] = []
    for key in filter(template.params.__contains__, given):
        values[key], missing = _value(store, key, template.params[key], given[key])
        unknown += missing
    try:
        query = template.render(store.renderer, **values).strip()
    except TemplateError as error:
        raise Problem(400, error.message) from None
    task = tr("Run this query with the tool sparql, and answer from its rows.")
    if unknown:
        task = tr(
            "Nothing is called {names}. Find the IRIs with the tools schema and sparql, put them into this "
            "query in place of its samples, run it with the tool sparql, and answer from its rows."
        ).format(names=", ".join(map(repr, unknown)))
    return f"{_question(template, given)}\n\n{task}\n\n```sparql\n{query}\n```"


def _value(store: Store, key: str, parameter: Parameter, text: str) -> tuple[Any, list[str]]:
    """A value of a parameter, and the names that name nothing; then the value is the sample."""
    many = parameter.type.endswith("[]")
    texts = _COMMA.split(text.strip()) if many else [text.strip()]
    if parameter.type.removesuffix("[]") != "iri":
        try:
            return read_texts(key, parameter, texts), []
        except UsageError as error:
            raise Problem(400, error.message) from error
    nodes = {each: list(_nodes(store, each)) for each in texts}
    unknown = [each for each, named in nodes.items() if not named]
    if unknown:
        return parse(parameter.type, parameter.sample), unknown
    together = [node for named in nodes.values() for node in named]
    return (together if many else together[0]), []


def _nodes(store: Store, text: str) -> Iterator[NamedNode]:
    """The things, relations, types or documents of a name; the IRI itself if it is one."""
    name = text.strip("<>")
    if named := things_called(store, name):
        yield from named
        return
    try:
        yield find_document(store, name)
    except UsageError:
        with suppress(ValueError):
            yield NamedNode(name)


def _question(template: QueryTemplate, arguments: Mapping[str, str]) -> str:
    """How people ask for it, in the form that has a place for most arguments; without one what it gives."""
    asks = [ask for ask in template.header.asks if arguments.keys() >= {*_PLACE.findall(ask)}]
    if not asks:
        return template.header.summary
    question = max(asks, key=lambda ask: len({*_PLACE.findall(ask)}))
    for name in dict.fromkeys(_PLACE.findall(question)):
        texts, place = _COMMA.split(arguments[name].strip()), f"{{{name}}}"
        while question.count(place) > 1 and len(texts) > 1:
            question = question.replace(place, texts.pop(0), 1)
        question = question.replace(place, ", ".join(texts))
    return question
