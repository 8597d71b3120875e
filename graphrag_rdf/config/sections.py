"""All settings: their tables, defaults and descriptions, and the settings file that `init` writes."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    SecretStr,
    StringConstraints,
    create_model,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from graphrag_rdf.i18n import later, tr
from graphrag_rdf.section import NONE_IS_A_WAY, Section
from graphrag_rdf.wing import all_of, load

ENV_PREFIX = "GRAPHRAG_RDF_"
_IRI = r"^[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|\\^`]+$"
Iri = Annotated[str, StringConstraints(pattern=_IRI)]
"""An absolute IRI."""
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_ORIGIN = re.compile(r"\*|null|[a-z][a-z0-9+.-]*://[^/?#@\s]+")


def _host(name: str) -> str:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        if _HOST.fullmatch(name) is None:
            raise PydanticCustomError(
                "host", later("not a host name: give it without scheme, port and quotation marks")
            ) from None
    return name


def _origin(text: str) -> str:
    if _ORIGIN.fullmatch(text) is None:
        raise PydanticCustomError(
            "origin",
            later("not an origin: give scheme and host, without a path, as in https://example.org"),
        )
    return text


def _ontology(text: str) -> str:
    if re.fullmatch(_IRI, text) is None:
        raise PydanticCustomError(
            "ontology",
            later(
                "not an IRI: load the file with graphrag-rdf ontology load FILE, and set the IRI that it "
                "prints"
            ),
        )
    return text


def _authority(text: str) -> str:
    glob, _, number = text.rpartition("=")
    if not glob.strip() or re.fullmatch(r"\s*(?:0(?:\.\d+)?|1(?:\.0+)?)\s*", number) is None:
        raise PydanticCustomError(
            "authority", later("not a line 'glob = number' with a number from 0 to 1, as in 'laws/* = 0.9'")
        )
    return text


def _temperature(text: str) -> str:
    purpose, equals, value = text.rpartition("=")
    try:
        well_formed = bool(purpose.strip()) and bool(equals) and 0 <= float(value) <= 2
    except ValueError:
        well_formed = False
    if not well_formed:
        raise PydanticCustomError("temperature", later("not PURPOSE=NUMBER from 0 to 2, as in relations=0.2"))
    return text


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _graph(name: object) -> object:
    """A bare name, as TrustGraph calls its collections, names a graph of ours."""
    return f"urn:graph:{name}" if isinstance(name, str) and re.fullmatch(r"[\w-]+", name) else name


AuthorityRule = Annotated[str, AfterValidator(_authority)]
"""A glob of paths, and the authority of their documents."""
GraphName = Annotated[Iri, BeforeValidator(_graph)]
"""The IRI of a named graph."""
OntologyIri = Annotated[str, AfterValidator(_ontology)]
"""The IRI of a loaded ontology."""
Temperature = Annotated[str, AfterValidator(_temperature)]
"""A purpose of calls, and their sampling temperature."""
Host = Annotated[str, AfterValidator(_host)]
"""A host name or address, as in a request."""
Origin = Annotated[str, AfterValidator(_origin)]
"""An origin, as browsers send it, or * for any."""
S = TypeVar("S", bound=Section)
Role = Literal["nothing", "read", "write", "admin"]
"""What a client of the server may do. Each role includes those before it."""


class LlmSection(Section):
    """[llm] - the language model; without one, the program uses rules."""

    model: str | None = Field(
        default=None,
        description="a litellm model name, e.g. openai/gpt-4.1 or ollama/llama3; none: rules only",
    )
    api_base: str | None = Field(default=None, description="address of an OpenAI-compatible server")
    api_key: SecretStr | None = Field(
        default=None, description="use the provider's own environment variable instead, e.g. OPENAI_API_KEY"
    )
    temperature: float | None = Field(default=0.0, description="0: the most repeatable answers")
    temperatures: tuple[Temperature, ...] = Field(
        default=(),
        description="temperatures of some calls, as relations=0.2: the purposes that `llm log` shows",
    )
    max_tokens: int | None = Field(default=None, ge=1, description="token limit of one answer")
    timeout: float = Field(default=120.0, gt=0, description="time limit of one call, in seconds")
    max_retries: int = Field(
        default=5,
        ge=0,
        description="retries after rate limits, time-outs, lost connections and server errors",
    )
    jobs: int | None = Field(
        default=None,
        ge=1,
        le=1024,
        description="concurrent calls of ingest and questions together; none: as many as extract.jobs and "
        "server.answers need",
    )
    requests_per_minute: int | None = Field(default=None, ge=1, description="rate limit; none: no limit")
    tokens_per_minute: int | None = Field(default=None, ge=1, description="rate limit; none: no limit")
    seed: int | None = Field(default=None, description="random seed for the model, if it supports one")
    style: Literal["default", "small"] = Field(
        default="default",
        description="small: ask for names first, then for relations, which helps small models",
    )
    budget_tokens: int | None = Field(
        default=None, ge=1, description="a run stops after this number of tokens"
    )
    budget_usd: float | None = Field(default=None, gt=0, description="a run stops after this cost")


class EmbeddingSection(Section):
    """[embedding] - vectors, for search by meaning."""

    model: str | None = Field(default=None, description="a litellm name, local:DIR, fastembed:NAME, or none")


class RerankSection(Section):
    """[rerank] - reranking of the best chunks and facts by a model that reads them with the question."""

    model: str | None = Field(
        default=None,
        description="a litellm name, local:DIR (ONNX cross-encoder), lexical, vector, or none",
    )
    api_base: str | None = Field(default=None, description="address of its server; none: the provider's")

    @property
    def calls_provider(self) -> bool:
        """Whether reranking calls a model through litellm, rather than a local one."""
        return self.model is not None and not (
            self.model in ("lexical", "vector") or self.model.startswith("local:")
        )


class DocumentSection(Section):
    """[documents] - reading documents and splitting them into chunks."""

    max_bytes: int = Field(default=200 * 1024 * 1024, ge=1, description="size limit of a file")
    chunk_size: int = Field(default=2000, ge=50)
    chunk_overlap: int = Field(default=0, ge=0)
    chunk_unit: Literal["characters", "tokens"] = "characters"
    authority: Annotated[tuple[AuthorityRule, ...], BeforeValidator(_listed)] = Field(
        default=(),
        description="authority of documents by path, 0 to 1: lines 'glob = number'; the longest glob counts",
    )


class ExtractSection(Section):
    """[extract] - extraction of facts."""

    use: Annotated[Literal["auto", "rules", "llm", "none"], NONE_IS_A_WAY] = Field(
        default="auto",
        description="auto: the model, if one is set, otherwise rules; none: no facts and names, only search",
    )
    entity_types: tuple[str, ...] = Field(default=(), description="entity types to extract; empty: any")
    predicates: tuple[str, ...] = Field(
        default=(),
        description="predicates that the model may use; empty: any",
    )
    ontology: Annotated[tuple[OntologyIri, ...], BeforeValidator(_listed)] = Field(
        default=(), description="IRIs of loaded ontologies whose classes and properties guide extraction"
    )
    ontology_mode: Literal["strict", "open"] = Field(
        default="strict",
        description="strict: only facts with a property of the ontology; open: others, too, as proposals",
    )
    ontology_terms: int = Field(
        default=80, ge=5, description="maximum number of terms of the ontology that a prompt shows"
    )
    ontology_repairs: int = Field(
        default=0,
        ge=0,
        le=3,
        description="number of times to ask the model to correct facts that break the ontology",
    )
    call_chunks: int = Field(
        default=8,
        ge=1,
        le=64,
        description="chunks that one call of the model may extract from; 1: each alone",
    )
    call_tokens: int = Field(
        default=4000,
        ge=100,
        description="tokens of their texts, estimated; a longer chunk is asked about alone",
    )
    incremental: bool = Field(
        default=True,
        description="skip chunks whose facts are stored, by their hash; false: ingest as with --refresh",
    )
    gleaning_rounds: int = Field(
        default=0, ge=0, le=5, description="number of times to ask the model for missed facts"
    )
    entity_min_length: int = Field(
        default=2,
        ge=1,
        description="least number of characters of a name; one fewer in Chinese, Japanese and Korean",
    )
    normalise: bool = Field(
        default=True, description="merge entities by synonyms and by other forms of their names"
    )
    synonyms: Path | None = Field(
        default=None, description="file with lines 'Preferred name = other name; other name'"
    )
    link_entities: bool = Field(
        default=False,
        description="link entities to the concepts and individuals of loaded vocabularies after each ingest",
    )
    namespace: Iri = Field(
        default="http://trustgraph.ai/", description="base IRI of documents, entities, relations and types"
    )
    jobs: int = Field(
        default=4, ge=1, le=256, description="concurrent model calls of an ingest; see also llm.jobs"
    )


class RelationSection(Section):
    """[relations] - relations between chunks, and between entities."""

    build: bool = Field(default=False, description="build relations after each ingest that changes something")
    use: Literal["auto", "structure", "llm"] = Field(
        default="auto",
        description="auto: by a model, if one is set; structure: only by shared entities and order",
    )
    window: int = Field(
        default=2,
        ge=1,
        le=50,
        description="the model reads each chunk with each of this number of next chunks",
    )
    truncate: int = Field(
        default=1000, ge=100, description="characters of each chunk of a pair that the model reads"
    )
    min_confidence: float = Field(default=0.5, ge=0, le=1, description="minimum confidence of the model")
    min_count: int = Field(
        default=2, ge=1, description="two entities co-occur if this number of sentences name both, or more"
    )
    hub_limit: int = Field(
        default=25, ge=2, le=10_000, description="chunks are not related by entities in more chunks than this"
    )


class ReasoningSection(Section):
    """[reasoning] - what follows from facts and ontologies."""

    auto: bool = Field(
        default=False,
        description="keep inferences up to date at the end of each change of facts or ontologies",
    )

    profile: Literal["rdfs", "rl"] = Field(
        default="rl", description="rdfs: RDF Schema; rl: also rules of OWL 2 RL, such as inverse relations"
    )

    @property
    def keep(self) -> Literal["rdfs", "rl"] | None:
        """The profile whose inferences changes keep up to date; None if they do not."""
        return self.profile if self.auto else None


class ValidationSection(Section):
    """[validation] - SHACL shapes of yours, as a gate of what is written (needs pySHACL)."""

    in_store = False

    shapes: Annotated[tuple[str, ...], BeforeValidator(_listed)] = Field(
        default=(), description="files, or IRIs of graphs in the store, with the shapes; empty: no validation"
    )
    mode: Literal["reject", "report", "off"] = Field(
        default="report",
        description="reject: do not write what breaks the shapes; report: write and report it; off: neither",
    )
    keep: int = Field(default=20, ge=0, description="number of reports that the store keeps, the newest")

    @property
    def is_on(self) -> bool:
        """Whether anything is validated."""
        return bool(self.shapes) and self.mode != "off"


class CacheSection(Section):
    """[cache] - answers of models, cached on disk."""

    enabled: bool = True
    max_bytes: int = Field(default=1 << 30, ge=1 << 20)


class AnswersSection(Section):
    """[answers] - cached answers."""

    cache: bool = Field(
        default=False,
        description="return the former answer of a model while its sources are unchanged",
    )


class SynthesisSection(Section):
    """[synthesis] - the text of answers."""

    citation_style: Literal["number", "source"] = Field(
        default="number",
        description="how answers cite: number, [1]; source, [S1], with the id of the source in `sources`",
    )


class TraceSection(Section):
    """[trace] - the trace of each question."""

    graph: GraphName = Field(
        default="urn:graph:retrieval", description="named graph of traces; a bare NAME is urn:graph:NAME"
    )
    detail: Literal["full", "summary"] = "full"
    keep: str = Field(
        default="all",
        pattern=r"^(all|marked|[1-9]\d{0,8}|[1-9]\d{0,4} days?)$",
        description="traces that a server keeps: all, a number of the newest (1000), those of so many days "
        "(30 days), or marked, which takes those that nobody marked within a day",
    )


class ForgetSection(Section):
    """[forget] - erasing documents while a server runs."""

    rewrite_after: float = Field(
        default=600,
        ge=0,
        le=600,
        description="seconds after a DELETE until the database is rewritten, once for all documents deleted "
        "meanwhile; until then its files may hold their text",
    )


class ServerSection(Section):
    """[server] - `graphrag-rdf serve`."""

    in_store = False

    host: str = Field(default="127.0.0.1", description="address to listen on")
    port: int = Field(default=7878, ge=0, le=65535, description="port to listen on; 0: any free one")
    allow_hosts: tuple[Host, ...] = Field(
        default=(), description="host names of this server, in addition to localhost and its own address"
    )
    public_url: Origin | None = Field(
        default=None,
        description="address of the pages in links of answers; none: the address that the client uses",
    )
    cors: tuple[Origin, ...] = Field(
        default=(), description="origins whose pages may send requests; * for any"
    )
    anonymous: Role = Field(default="read", description="role of clients without a token")
    token_file: Path | None = Field(default=None, description="file with lines 'read|write|admin TOKEN'")
    read_token: SecretStr | None = Field(default=None, description="use the environment variable instead")
    write_token: SecretStr | None = Field(default=None, description="use the environment variable instead")
    admin_token: SecretStr | None = Field(default=None, description="use the environment variable instead")
    query_timeout: float = Field(default=30.0, gt=0, description="time limit of a query, in seconds")
    query_memory_mb: int = Field(
        default=1024, ge=64, description="memory limit of a process that runs queries"
    )
    max_rows: int = Field(default=1_000_000, ge=1, description="limit of rows or triples in a result")
    max_result_mb: int = Field(default=256, ge=1, description="size limit of a result")
    max_query_kb: int = Field(default=512, ge=1, description="size limit of a query")
    max_body_mb: int = Field(default=64, ge=1, description="size limit of an update or an uploaded graph")
    readers: int | None = Field(
        default=None,
        ge=1,
        le=64,
        description="number of processes that run queries; none: from the number of cores",
    )
    requests_per_minute: int | None = Field(
        default=None, ge=1, description="rate limit of one client; none: no limit"
    )
    answers: int = Field(default=4, ge=1, le=64, description="number of questions answered concurrently")
    title: str = Field(
        default="Knowledge graph with sources", description="title in the description of the dataset"
    )
    licence: Iri | None = Field(
        default=None, description="licence of the dataset, e.g. a Creative Commons address"
    )
    publisher: str | None = Field(default=None, description="name of the publisher of the dataset")
    ingest_folder: Path | None = Field(
        default=None, description="folder from which clients with the role write may ingest documents"
    )
    union_default_graph: bool = Field(
        default=False,
        description="queries without FROM see the union of all graphs; not on a remote store",
    )
    rdf_version: Literal["1.1", "1.2"] = Field(
        default="1.1", description="version of RDF in answers to clients that name none"
    )
    allow_service: tuple[str, ...] = Field(default=(), description="addresses that SERVICE and LOAD may call")
    trusted_proxies: tuple[str, ...] = Field(
        default=(), description="addresses whose X-Forwarded-For and -Proto headers are trusted"
    )


class ClientSection(Section):
    """[client] - the server that commands with `--server` use."""

    in_store = False

    server: str | None = Field(
        default=None,
        description="address of a running server, to use instead of a local store",
    )
    token: SecretStr | None = Field(default=None, description="use the environment variable instead")
    token_file: Path | None = Field(
        default=None, description="file with the token; with 'role TOKEN' lines, the first one is used"
    )


class RemoteSection(Section):
    """[remote] - a store behind a SPARQL endpoint (`store` is a URL)."""

    in_store = False

    query_url: str | None = Field(default=None, description="address for queries, if it differs from the URL")
    update_url: str | None = Field(
        default=None, description="address for updates, if it differs from the URL"
    )
    user: str | None = Field(default=None, description="user for HTTP Basic authentication")
    password: SecretStr | None = Field(default=None, description="use the environment variable instead")
    token: SecretStr | None = Field(
        default=None, description="for HTTP Bearer authentication; use the environment variable instead"
    )
    timeout: float = Field(default=60.0, gt=0, description="time limit of one request, in seconds")
    retries: int = Field(
        default=5,
        ge=0,
        le=20,
        description="retries after lost connections and the statuses 429, 502, 503 and 504",
    )
    batch: int = Field(default=5_000, ge=1, description="maximum number of quads in one update request")
    batch_mb: int = Field(default=4, ge=1, le=1024, description="maximum size of one update request")
    lag: float = Field(
        default=10.0, ge=0, le=600, description="seconds that reads may be behind writes, as with replicas"
    )
    replicas: int = Field(
        default=1,
        ge=1,
        le=64,
        description="servers that answer queries in turn; each must have a write before it is relied on",
    )
    folder: Path = Field(
        default=Path("graphrag-remote"),
        description="folder for indexes, caches and long texts, with a subfolder for each endpoint",
    )


class _CoreSettings(Section, defer_build=True):
    """All settings, as `load_settings` reads them."""

    store: str = Field(
        default="./graphrag-store", description="folder of the store, or URL of a SPARQL endpoint"
    )
    collection: str = Field(default="default", description="name of a separate store in the same folder")
    queries: Path | None = Field(
        default=None, description="folder of your own query templates, which override the built-in ones"
    )
    pipelines: Path | None = Field(
        default=None, description="folder of your own pipelines, which override the built-in ones"
    )
    llm: LlmSection = LlmSection()
    embedding: EmbeddingSection = EmbeddingSection()
    rerank: RerankSection = RerankSection()
    documents: DocumentSection = DocumentSection()
    extract: ExtractSection = ExtractSection()
    relations: RelationSection = RelationSection()
    reasoning: ReasoningSection = ReasoningSection()
    validation: ValidationSection = ValidationSection()
    cache: CacheSection = CacheSection()
    answers: AnswersSection = AnswersSection()
    synthesis: SynthesisSection = SynthesisSection()
    trace: TraceSection = TraceSection()
    forget: ForgetSection = ForgetSection()
    server: ServerSection = ServerSection()
    client: ClientSection = ClientSection()
    remote: RemoteSection = RemoteSection()

    def of(self, kind: type[S]) -> S:
        """The section of a wing, which type checkers do not know by its name."""
        return next(value for _, value in self if isinstance(value, kind))


if TYPE_CHECKING:
    Settings = _CoreSettings
else:
    _brought = {name: load(place) for name, place in all_of(lambda wing: wing.settings).items()}
    Settings = create_model(
        "Settings",
        __base__=_CoreSettings,
        __doc__=_CoreSettings.__doc__,
        __module__=__name__,
        **{name: (model, model()) for name, model in _brought.items()},
    )


def field_of(key: str) -> FieldInfo:
    """The field of a setting of a section, such as `relations.window`. Raises KeyError."""
    section, _, name = key.partition(".")
    model = Settings.model_fields[section].annotation
    assert isinstance(model, type)  # noqa: S101 - see `Settings`
    assert issubclass(model, Section)  # noqa: S101
    return model.model_fields[name]


def commented_toml() -> str:
    """A settings file with every key, its default and what it does, all commented out."""
    lines = [
        tr("# Settings of graphrag-rdf."),
        tr("# The command line and the environment (GRAPHRAG_RDF_LLM__MODEL=…) win over this file."),
        tr("# After naming a model, an address or who may write, run: graphrag-rdf config trust"),
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
        lines += ["", f"[{name}]  # {tr(section_about(model))}"]
        for key, field in model.model_fields.items():
            lines += [*_comment(field.description), f"# {key} = {_toml(getattr(values, key))}"]
    return "\n".join(lines) + "\n"


def section_about(model: type[BaseModel]) -> str:
    """What the settings of a section are about."""
    return (model.__doc__ or "").split(" - ", 1)[-1].rstrip(".")


def _comment(text: str | None) -> list[str]:
    return [f"# {tr(text)}"] if text else []


def _toml(value: object) -> str:
    if value is None:
        return '"none"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(f'"{item}"' for item in value) + "]"
    return str(value) if isinstance(value, int | float) else f'"{value}"'
