"""The settings, table by table: names, defaults, what each does."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, StringConstraints
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

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
                "host", "no request has this name: give a host, without scheme, port and quotation marks"
            ) from None
    return name


def _origin(text: str) -> str:
    if _ORIGIN.fullmatch(text) is None:
        raise PydanticCustomError(
            "origin",
            "no page has this origin: give scheme and host, without a path, as in https://example.org",
        )
    return text


Host = Annotated[str, AfterValidator(_host)]
"""A name as requests have it, or an address."""
Origin = Annotated[str, AfterValidator(_origin)]
"""An origin as browsers send it, or * for any."""
Role = Literal["nothing", "read", "write", "admin"]
"""What a client of the server may do; each role may what those before it may."""


class Section(BaseModel):
    """A table of the settings file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class LlmSection(Section):
    """[llm] - the language model. None works by rules."""

    model: str | None = Field(
        default=None,
        description="a litellm model name, e.g. openai/gpt-4.1 or ollama/llama3; none works by rules",
    )
    api_base: str | None = Field(default=None, description="address of an OpenAI-compatible server")
    api_key: SecretStr | None = Field(
        default=None, description="better given by the provider's own variable, e.g. OPENAI_API_KEY"
    )
    temperature: float | None = Field(default=0.0, description="0 for the most repeatable answers")
    max_tokens: int | None = Field(default=None, ge=1, description="limit of one answer")
    timeout: float = Field(default=120.0, gt=0, description="seconds for one call")
    max_retries: int = Field(
        default=5, ge=0, description="of rate limits, time-outs, lost connections and server errors"
    )
    jobs: int | None = Field(
        default=None,
        ge=1,
        le=1024,
        description="calls at once, of ingest and of questions together; none: as many as extract.jobs and "
        "server.answers make",
    )
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    seed: int | None = Field(default=None, description="passed to the model, where it takes one")
    style: Literal["default", "small"] = Field(
        default="default",
        description="small: ask for names first, then for relations, as small models need it",
    )
    budget_tokens: int | None = Field(
        default=None, ge=1, description="a run stops cleanly when it has used so many"
    )
    budget_usd: float | None = Field(
        default=None, gt=0, description="a run stops cleanly when it has cost so much"
    )


class EmbeddingSection(Section):
    """[embedding] - vectors, beside words."""

    model: str | None = Field(default=None, description="a litellm name, local:DIR, fastembed:NAME, or none")


class RerankSection(Section):
    """[rerank] - a second look at the best passages and facts, each read together with the question."""

    model: str | None = Field(
        default=None,
        description="a litellm name, local:DIR (ONNX cross-encoder), lexical, vector, or none",
    )
    api_base: str | None = Field(default=None, description="address of its server; none: that of the model")

    @property
    def calls_provider(self) -> bool:
        """Whether reranking calls a model over litellm, not one of this computer's own."""
        return self.model is not None and not (
            self.model in ("lexical", "vector") or self.model.startswith("local:")
        )


class DocumentSection(Section):
    """[documents] - reading and cutting."""

    max_bytes: int = Field(default=200 * 1024 * 1024, ge=1, description="larger files are refused")
    chunk_size: int = Field(default=2000, ge=50)
    chunk_overlap: int = Field(default=0, ge=0)
    chunk_unit: Literal["characters", "tokens"] = "characters"


class ExtractSection(Section):
    """[extract] - from text to facts."""

    use: Literal["auto", "rules", "llm"] = Field(
        default="auto", description="auto: the model when one is set, else rules"
    )
    entity_types: tuple[str, ...] = Field(default=(), description="types to look for; empty: any")
    predicates: tuple[str, ...] = Field(
        default=(),
        description="the only predicates that the model may use, the same for every passage; empty: any",
    )
    ontology: Path | None = Field(
        default=None,
        description="RDF file; without extract.predicates, the labels of its properties are the predicates",
    )
    gleaning_rounds: int = Field(
        default=0, ge=0, le=5, description="times to ask the model for what it missed"
    )
    entity_min_length: int = Field(default=2, ge=1)
    entity_max_length: int = Field(default=120, ge=1)
    synonyms: Path | None = Field(
        default=None, description="file with lines 'Preferred name = other name; other name'"
    )
    namespace: Iri = Field(
        default="http://trustgraph.ai/", description="base IRI of entities, relations and types"
    )
    jobs: int = Field(
        default=4, ge=1, le=256, description="chunks at the model at once; questions have llm.jobs"
    )


class RelationSection(Section):
    """[relations] - between passages, and between entities."""

    build: bool = Field(default=False, description="build them anew after each ingest that changed something")
    use: Literal["auto", "structure", "llm"] = Field(
        default="auto",
        description="auto: a model, when one is set, relates passages; structure: only what they share and "
        "how they stand does",
    )
    window: int = Field(
        default=2, ge=1, le=50, description="a passage and each of so many after it are a pair for the model"
    )
    truncate: int = Field(
        default=1000, ge=100, description="characters of each passage of a pair that the model sees"
    )
    min_confidence: float = Field(
        default=0.5, ge=0, le=1, description="relations that the model is less sure of are left out"
    )
    sentence_window: int = Field(
        default=2, ge=1, le=100, description="sentences within which two entities count as named together"
    )
    min_count: int = Field(default=2, ge=1, description="co-occurrences below are left out")
    hub_limit: int = Field(
        default=25, ge=2, le=10_000, description="an entity in more passages makes no relation"
    )


class CacheSection(Section):
    """[cache] - answers of models, kept on disk."""

    enabled: bool = True
    max_bytes: int = Field(default=1 << 30, ge=1 << 20)


class AnswersSection(Section):
    """[answers] - what a follow-up sees, and what is given again."""

    history: int = Field(
        default=5, ge=0, le=50, description="former questions of a session that a follow-up sees"
    )
    cache: bool = Field(
        default=False,
        description="give an answer of a model again while nothing that it rests on has changed; "
        "its trace leads to the first one and has no steps of its own",
    )


class TraceSection(Section):
    """[trace] - what is kept of each question."""

    graph: Iri = Field(default="urn:graph:retrieval", description="named graph of traces")
    detail: Literal["full", "summary"] = "full"


class ServerSection(Section):
    """[server] - `graphrag-rdf serve`."""

    host: str = Field(default="127.0.0.1", description="address to listen on")
    port: int = Field(default=7878, ge=0, le=65535, description="0 takes any free one")
    allow_hosts: tuple[Host, ...] = Field(
        default=(), description="names this server is called by, beside localhost and its own address"
    )
    cors: tuple[Origin, ...] = Field(default=(), description="origins whose pages may ask; * for any")
    anonymous: Role = Field(default="read", description="what clients without a token may do")
    token_file: Path | None = Field(default=None, description="lines 'read|write|admin TOKEN'")
    read_token: SecretStr | None = Field(default=None, description="better given by the environment")
    write_token: SecretStr | None = Field(default=None, description="better given by the environment")
    admin_token: SecretStr | None = Field(default=None, description="better given by the environment")
    query_timeout: float = Field(default=30.0, gt=0, description="seconds until a query is ended")
    query_memory_mb: int = Field(default=1024, ge=64, description="memory of a query's process")
    max_rows: int = Field(default=1_000_000, ge=1, description="rows, or statements, of an answer")
    max_result_mb: int = Field(default=256, ge=1, description="size of an answer")
    max_query_kb: int = Field(default=512, ge=1, description="size of a query")
    max_body_mb: int = Field(default=64, ge=1, description="size of an update or an uploaded graph")
    readers: int | None = Field(
        default=None, ge=1, le=64, description="processes that answer queries; none: by the number of CPUs"
    )
    queries_per_client: int = Field(default=64, ge=1, description="at once, running or waiting")
    requests_per_minute: int | None = Field(default=None, ge=1, description="of one client; none: any number")
    answers: int = Field(default=4, ge=1, le=64, description="questions that are answered at once")
    title: str = Field(
        default="Knowledge graph with sources", description="of the dataset, in its description"
    )
    licence: Iri | None = Field(
        default=None, description="of the dataset, e.g. an address of Creative Commons"
    )
    publisher: str | None = Field(default=None, description="of the dataset, a name")
    ingest_folder: Path | None = Field(
        default=None, description="folder whose documents clients of role write may have read"
    )
    allow_service: tuple[str, ...] = Field(
        default=(), description="endpoints that SERVICE, and addresses that LOAD, may call"
    )
    trusted_proxies: tuple[str, ...] = Field(
        default=(), description="addresses whose X-Forwarded-For and -Proto headers are believed"
    )


class ClientSection(Section):
    """[client] - what `ask`, `ingest`, `facts` and `trace replay` take as `--server`."""

    server: str | None = Field(
        default=None,
        description="address of a server that works instead of a store of this computer",
    )
    token: SecretStr | None = Field(default=None, description="better given by the environment")
    token_file: Path | None = Field(
        default=None, description="holds the token; in a file of 'role TOKEN' lines the first one counts"
    )


class RemoteSection(Section):
    """[remote] - a store behind a SPARQL endpoint (`store` is a URL)."""

    query_url: str | None = Field(default=None, description="where queries go, if the URL does not tell")
    update_url: str | None = Field(default=None, description="where updates go, if the URL does not tell")
    user: str | None = Field(default=None, description="for HTTP Basic authentication")
    password: SecretStr | None = Field(default=None, description="better given by the environment")
    token: SecretStr | None = Field(
        default=None, description="for HTTP Bearer authentication; better given by the environment"
    )
    timeout: float = Field(default=60.0, gt=0, description="seconds for one request")
    retries: int = Field(
        default=5, ge=0, le=20, description="of lost connections and of the statuses 429, 502, 503 and 504"
    )
    batch: int = Field(default=5_000, ge=1, description="quads of one update request at most")
    batch_mb: int = Field(default=4, ge=1, le=1024, description="size of one update request at most")
    folder: Path = Field(
        default=Path("graphrag-remote"),
        description="where indexes, caches and long texts are kept, a folder for each endpoint",
    )


class Settings(BaseSettings):
    """All settings."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True, env_ignore_empty=True
    )

    store: str = Field(
        default="./graphrag-store", description="folder of the store, or URL of a SPARQL endpoint"
    )
    collection: str = Field(default="default", description="a store beside the others of the folder")
    queries: Path | None = Field(default=None, description="folder of query templates that override ours")
    pipelines: Path | None = Field(default=None, description="folder of pipelines that override ours")
    llm: LlmSection = LlmSection()
    embedding: EmbeddingSection = EmbeddingSection()
    rerank: RerankSection = RerankSection()
    documents: DocumentSection = DocumentSection()
    extract: ExtractSection = ExtractSection()
    relations: RelationSection = RelationSection()
    cache: CacheSection = CacheSection()
    answers: AnswersSection = AnswersSection()
    trace: TraceSection = TraceSection()
    server: ServerSection = ServerSection()
    client: ClientSection = ClientSection()
    remote: RemoteSection = RemoteSection()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what `load_settings` hands over, which has read file and environment."""
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)
