"""Other SPARQL endpoints: what each knows by its VoID description or SHACL shapes, and example queries."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import pyoxigraph as ox
from pyoxigraph import NamedNode, Quad

from graphrag_rdf.errors import ConfigError, EndpointError, GraphRagError, system_cause
from graphrag_rdf.i18n import language, tr
from graphrag_rdf.index.analyse import analyse
from graphrag_rdf.loopback import is_loopback
from graphrag_rdf.rdf.namespaces import RDF
from graphrag_rdf.rdf.terms import local_name
from graphrag_rdf.sparql.columns import records
from graphrag_rdf.steps.state import Context, Parameters, State
from graphrag_rdf.store.answers import read_json
from graphrag_rdf.store.base import Answer, Changes, Row, Store
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.store.endpoint import RESULTS
from graphrag_rdf.wings.text2sparql.matching import Recipe, Recipes, Vocabulary
from graphrag_rdf.wings.text2sparql.schema import written
from graphrag_rdf.wings.text2sparql.settings import Endpoint, FederationSection

_GRAPH = NamedNode("urn:graph:examples")
_RDF = "text/turtle, application/n-triples;q=0.9, application/rdf+xml;q=0.8, application/ld+json;q=0.7"
_HOUR = 3600  # seconds after which a description is fetched again
_RETRY = 60.0  # seconds after which an endpoint without one is tried again
_SECONDS = 10.0  # for fetching one
_CONNECT = 3.0  # for a connection
_PARALLEL = 8
_TERMS, _EXAMPLES = 20_000, 5_000
_DESCRIPTION, _ANSWER = 1 << 26, 1 << 24
"""Their bytes at most."""
_LABEL = 60  # characters of it that are shown
_NAMES = frozenset({"label", "preflabel", "name", "title"})  # local names of properties
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_-]+")


@dataclass(frozen=True, slots=True)
class Described:
    """What an endpoint knows.

    Attributes:
        classes: class → its properties → classes and datatypes of their objects; the most frequent first.
        properties: the same of all properties.
        labels: of properties that have one.
        examples: its example queries.
    """

    classes: Mapping[NamedNode, Mapping[NamedNode, Sequence[NamedNode]]]
    properties: Mapping[NamedNode, Sequence[NamedNode]]
    labels: Mapping[NamedNode, str]
    examples: Sequence[Recipe] = ()

    @property
    def terms(self) -> set[NamedNode]:
        """All classes and properties."""
        ranges = {kind for kinds in self.properties.values() for kind in kinds}
        return {*self.classes, *self.properties, *ranges}


_kept: dict[Endpoint, tuple[object, Described]] = {}
"""Endpoint → the state of its description, and what that says."""
_failures: dict[tuple[Endpoint, str], tuple[float, str]] = {}
"""Endpoint and language → when its description could not be fetched (`time.monotonic`), and why."""


def listed_endpoints(context: Context, state: State) -> dict[str, tuple[Endpoint, Described]]:
    """The endpoints of the settings by address. One that cannot be described is left out, with a warning.

    Raises:
        ConfigError: a file of the settings cannot be read.
    """
    endpoints = context.section(FederationSection).endpoints
    if not endpoints:
        return {}
    described = {}
    with ThreadPoolExecutor(_PARALLEL) as threads:
        tasks = [
            threads.submit(copy_context().run, _described_lately, context.store, endpoint)
            for endpoint in endpoints
        ]
    for endpoint, task in zip(endpoints, tasks, strict=True):
        try:
            described[endpoint.url] = endpoint, task.result()
        except ConfigError:
            raise
        except GraphRagError as error:
            message = tr("the endpoint {name} is left out: {cause}")
            state.warn("endpoint_failed", message.format(name=endpoint.name, cause=error))
    return described


def _described_lately(store: Store, endpoint: Endpoint) -> Described:
    """As `_described`, but a failure counts for some time: not each question waits for an endpoint that is
    down.
    """
    key = endpoint, language()
    failed_at, cause = _failures.get(key, (-_RETRY, ""))
    if time.monotonic() < failed_at + _RETRY:
        raise EndpointError(cause, "unreachable")
    try:
        return _described(store, endpoint)
    except EndpointError as error:
        _failures[key] = time.monotonic(), str(error)
        raise


def _described(store: Store, endpoint: Endpoint) -> Described:
    files = _files(endpoint)
    fetched = None if Path(endpoint.schema_from).is_file() else time.time() // _HOUR
    version = fetched, *((file, file.stat().st_mtime_ns) for file in files)
    kept = _kept.get(endpoint)
    if kept is None or kept[0] != version:
        kept = _kept[endpoint] = version, _read(store, endpoint, files)
    return kept[1]


def _files(endpoint: Endpoint) -> list[Path]:
    """The files that the settings name; the schema is the first, if it is one."""
    examples = Path(endpoint.examples) if endpoint.examples else None
    files = sorted(each for each in examples.rglob("*.*") if each.is_file()) if examples else []
    if examples and not examples.is_dir():
        files = [examples]
    if endpoint.schema_from and "://" not in endpoint.schema_from:
        files.insert(0, Path(endpoint.schema_from))
    for file in files:
        if not file.is_file():
            raise ConfigError(
                tr("the endpoint {name}: there is no file {file}").format(name=endpoint.name, file=file),
                hint=tr("correct federation.endpoints in the settings file"),
            )
    return files


def _read(store: Store, endpoint: Endpoint, files: Sequence[Path]) -> Described:
    source, kept = endpoint.schema_from, EmbeddedStore(store.templates)
    template = store.templates["schema/described"]
    if source:
        data, form = _fetched(source) if "://" in source else _bytes_of(files[0])
        kept.commit(Changes(add=_quads(source, data, form)))
        rows = kept.select(template.name, limit=_TERMS)
    else:
        answer = ask_endpoint(endpoint.url, kept.render(template.name, limit=_TERMS), _SECONDS)
        rows = records(template.name, template.header.columns, answer.rows or ())
    for file in files[1:] if source and "://" not in source else files:
        quads = _quads(str(file), *_bytes_of(file), _GRAPH)
        kept.commit(Changes(add=quads))
    examples = [
        Recipe(row["executable"], row["about"], query=row["query"])
        for row in kept.select("schema/executables", limit=_EXAMPLES)
    ]
    if not rows:
        raise EndpointError(
            tr("{source} lists no classes and properties, neither in VoID nor in SHACL").format(
                source=source or endpoint.url
            ),
            "refused",
        )
    return _of_rows(rows, examples)


def _of_rows(rows: Iterable[Row], examples: Sequence[Recipe]) -> Described:
    classes: dict[NamedNode, dict[NamedNode, list[NamedNode]]] = {}
    properties: dict[NamedNode, list[NamedNode]] = {}
    labels: dict[NamedNode, str] = {}
    for row in rows:
        of_class = classes.setdefault(row["class"], {}) if row["class"] is not None else {}
        if (property_ := row["property"]) is None:
            continue
        for places in (of_class, properties):
            ranges = places.setdefault(property_, [])
            if row["range"] is not None and row["range"] not in ranges:
                ranges.append(row["range"])
        if row["label"]:
            labels[property_] = row["label"][:_LABEL]
    return Described(classes, properties, labels, examples)


def _quads(source: str, data: bytes, form: ox.RdfFormat | None, graph: NamedNode | None = None) -> list[Quad]:
    base = source if "://" in source else Path(source).resolve().as_uri()
    try:
        quads = ox.parse(data, format=form or ox.RdfFormat.TURTLE, base_iri=base, rename_blank_nodes=True)
        return [Quad(quad.subject, quad.predicate, quad.object, graph) for quad in quads]
    except (SyntaxError, ValueError) as error:
        message = tr("{file} is not RDF: {cause}").format(file=source, cause=error)
        if "://" in source:
            raise EndpointError(message, "refused") from error
        raise ConfigError(message, hint=tr("correct federation.endpoints in the settings file")) from error


def _bytes_of(file: Path) -> tuple[bytes, ox.RdfFormat | None]:
    try:
        return file.read_bytes(), ox.RdfFormat.from_extension(file.suffix.removeprefix(".").lower())
    except OSError as error:
        raise ConfigError(
            tr("cannot read {path}: {cause}").format(path=file, cause=system_cause(error))
        ) from error


def _fetched(address: str) -> tuple[bytes, ox.RdfFormat | None]:
    data, headers = _received("GET", address, _SECONDS, _DESCRIPTION, headers={"Accept": _RDF})
    return data, ox.RdfFormat.from_media_type(headers.get("content-type", "").partition(";")[0])


def ask_endpoint(address: str, query: str, seconds: float) -> Answer:
    """The result of a SELECT at an endpoint, with no other variables. Redirects are not followed.

    Args:
        query: that our engine can parse.
        seconds: for the whole answer.

    Raises:
        EndpointError: there is none, it is no complete SPARQL result in JSON, too long or too late.
    """
    asking: dict[str, Any] = {"data": {"query": query}, "headers": {"Accept": RESULTS}}
    data, headers = _received("POST", address, seconds, _ANSWER, **asking)
    of_virtuoso = "x-sparql-maxrows" in headers or headers.get("x-sql-state", "").startswith("S1T")
    if not of_virtuoso:  # which reached a limit of its own then
        with suppress(ValueError, KeyError, TypeError, AttributeError):
            return _of_query(read_json(data), address, query)
    message = tr("{url} sends no complete SPARQL results in JSON")
    raise EndpointError(message.format(url=address), "refused")


def _of_query(answer: Answer, address: str, query: str) -> Answer:
    """An answer with the variables of its query only. Their names become part of another query.

    Raises:
        EndpointError: one is no name of a variable.
        ValueError: it is not of a SELECT.
    """
    if answer.rows is None:
        raise ValueError("not a SELECT")
    try:
        names = dict.fromkeys(ox.Variable(name).value for name in answer.variables)
    except ValueError as error:
        message = tr("{url} sends names of variables that SPARQL does not allow")
        raise EndpointError(message.format(url=address), "refused") from error
    solutions: Any = ox.Store().query(query)
    own = {variable.value for variable in solutions.variables}
    return replace(answer, variables=tuple(name for name in names if name in own))


class _TimeLimit:
    """Ends a request when its time is over: the limits of httpx are of each read, not of all together.

    Attributes:
        over: the time is over.
    """

    def __init__(self, seconds: float) -> None:
        self.over = False
        self._sockets: list[socket.socket] = []
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Learn of the connections: the trace extension of httpx."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._sockets.append(info["return_value"].get_extra_info("socket"))
            if self.over:
                self._shut()

    def _end(self) -> None:
        self.over = True
        self._shut()

    def _shut(self) -> None:
        for each in self._sockets:
            with suppress(OSError):  # closed already, or TLS has taken it over
                socket.socket.shutdown(each, socket.SHUT_RDWR)  # wakes a read, which close() does not


def _received(
    method: str, address: str, seconds: float, most: int, **asking: Any
) -> tuple[bytes, Mapping[str, str]]:
    """The body and headers of a response with status 200. Redirects of GET within the server are followed, as
    those of /.well-known/void.

    Args:
        most: bytes.
    """
    import httpx

    url, limit = address, _TimeLimit(seconds)
    timeout = httpx.Timeout(seconds, connect=min(seconds, _CONNECT))
    asking["extensions"] = {"trace": limit.trace}
    near = is_loopback(urlsplit(address).hostname or "")
    try:
        with limit, httpx.Client(timeout=timeout, trust_env=not near) as client:
            for _ in range(3):
                with client.stream(method, url, **asking) as response:
                    if method == "GET" and response.is_redirect:
                        url = urljoin(url, response.headers.get("location", ""))
                        if urlsplit(url)[:2] == urlsplit(address)[:2]:
                            continue
                    data = bytearray()
                    for piece in response.iter_bytes():
                        data += piece
                        if len(data) > most:
                            raise EndpointError(tr("{url} sends too much").format(url=address), "refused")
                    if limit.over:
                        raise httpx.ReadTimeout("")
                    if response.status_code == 200:
                        return bytes(data), response.headers
                    words = " ".join(data[:500].decode(errors="replace").split())
                    text = response.headers.get("location", words)
                    message = tr("{url} answers with status {status}: {text}")
                    message = message.format(url=address, status=response.status_code, text=text)
                    raise EndpointError(message, "refused")
        raise EndpointError(tr("{url} redirects for ever").format(url=address), "refused")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        if limit.over or isinstance(error, httpx.ReadTimeout | httpx.WriteTimeout):
            message = tr("{url} did not answer within {seconds:g} seconds")
            raise EndpointError(message.format(url=address, seconds=seconds), "timeout") from error
        message = tr("cannot reach {url}: {error}")
        raise EndpointError(message.format(url=address, error=error), "unreachable") from error


# --- for the prompt ---------------------------------------------------------------------------------------


def shown_endpoint(
    endpoint: Endpoint, described: Described, state: State, parameters: Parameters
) -> dict[str, Any]:
    """What a model is told of an endpoint. Where it knows more than fits, what shares words with the question
    comes first.
    """
    asked = set(analyse(state.question, state.language))

    def shared(*terms: NamedNode) -> int:
        names = (f"{local_name(term.value)} {described.labels.get(term, '')}" for term in terms)
        return len(asked & {*analyse(_CAMEL.sub(" ", " ".join(names)), state.language)})

    room: int = parameters["relations"]

    def fitting(properties: Mapping[NamedNode, Sequence[NamedNode]]) -> list[dict[str, str]]:
        nonlocal room
        ordered = sorted(properties, key=lambda term: -shared(term))[:room]
        room -= len(ordered)
        return [_shown_property(term, properties[term], described) for term in ordered]

    by_fit = sorted(described.classes.items(), key=lambda entry: -shared(entry[0], *entry[1]))
    classes = [
        {"iri": str(kind), "properties": fitting(properties)}
        for kind, properties in by_fit[: parameters["types"]]
    ]
    of_classes = {property_ for properties in described.classes.values() for property_ in properties}
    beside = {term: kinds for term, kinds in described.properties.items() if term not in of_classes}
    return {
        "name": endpoint.name,
        "url": endpoint.url,
        "about": endpoint.about,
        "classes": classes,
        "properties": fitting(beside),
        "examples": list(_shown_examples(described, state, parameters)),
    }


def service_example(shown: Mapping[str, Any]) -> dict[str, str] | None:
    """Terms of an endpoint for an example of a SERVICE block: `url`, `kind`, `value`, and `name` or "".

    None if it has none, or examples of its own.

    Args:
        shown: as `shown_endpoint` returns.
    """
    for kind in () if shown["examples"] else shown["classes"]:
        properties = [NamedNode(shown_property["iri"][1:-1]) for shown_property in kind["properties"]]
        names = [term for term in properties if local_name(term.value).lower() in _NAMES]
        values = [term for term in properties if term not in (RDF.type, *names)]
        if values:
            name = written(names[0]) if names else ""
            return {"url": shown["url"], "kind": kind["iri"], "value": written(values[0]), "name": name}
    return None


def _shown_property(term: NamedNode, ranges: Sequence[NamedNode], described: Described) -> dict[str, str]:
    named = " or ".join(map(str, ranges[:3]))
    return {"iri": str(term), "label": described.labels.get(term, ""), "range": named}


def _shown_examples(described: Described, state: State, parameters: Parameters) -> Iterator[dict[str, str]]:
    room = parameters["example_tokens"]
    recipes = Recipes(described.examples, state.language)
    for match in recipes.like(state.question, Vocabulary(), parameters["examples"]):
        room -= len(match.recipe.query) // 4
        if room < 0:
            break
        yield {"about": match.recipe.about, "query": match.recipe.query}
