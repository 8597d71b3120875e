"""Settings: command line > environment (`GRAPHRAG_RDF_…`, nesting by `__`) > `graphrag.toml` > settings in
the store (see `live_settings`) > defaults.

Unknown keys are errors. Where each value comes from is kept, for `doctor`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from graphrag_rdf.errors import ConfigError, without_credentials

CONFIG_FILE = "graphrag.toml"
ENV_PREFIX = "GRAPHRAG_RDF_"
_LISTS = frozenset(
    {
        "extract.entity_types",
        "server.allow_hosts",
        "server.cors",
        "server.allow_service",
        "server.trusted_proxies",
    }
)
"""Settings that the environment gives as a list with commas."""
_NOT_IN_A_STORE = (
    *("store", "collection", "queries", "pipelines", "server", "client", "remote", "trace.graph"),
    *("llm.api_base", "rerank.api_base", "extract.synonyms", "cache.max_bytes"),
)
"""Settings and sections that say where things are, what this computer gives, or who may do what: whoever may
write to a store does not decide that."""
_IRI = r"^[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|\\^`]+$"
Iri = Annotated[str, StringConstraints(pattern=_IRI)]
"""An absolute IRI."""
Role = Literal["nothing", "read", "write", "admin"]
"""What a client of the server may do; each role may what those before it may."""
Origin = Literal["command line", "program", "environment", "file", "store", "default"]
"""Where a setting comes from; `program`: whoever opened the store by the Python API gave it."""


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
        default=True, description="give an answer of a model again while nothing that it rests on has changed"
    )


class TraceSection(Section):
    """[trace] - what is kept of each question."""

    graph: Iri = Field(default="urn:graph:retrieval", description="named graph of traces")
    detail: Literal["full", "summary"] = "full"


class ServerSection(Section):
    """[server] - `graphrag-rdf serve`."""

    host: str = Field(default="127.0.0.1", description="address to listen on")
    port: int = Field(default=7878, ge=0, le=65535, description="0 takes any free one")
    allow_hosts: tuple[str, ...] = Field(
        default=(), description="names this server is called by, beside localhost and its own address"
    )
    cors: tuple[str, ...] = Field(default=(), description="origins whose pages may ask; * for any")
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
    """[client] - `graphrag-rdf ask --server`, `ingest --server`."""

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


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings with where each came from.

    Attributes:
        origins: dotted key → origin.
        file: the settings file that was read, None without one.
    """

    settings: Settings
    origins: Mapping[str, Origin]
    file: Path | None


def given_settings(settings: Settings) -> Loaded:
    """Settings that a program made itself."""
    origins: dict[str, Origin] = dict.fromkeys(_flat(settings.model_dump()), "default")
    origins.update(dict.fromkeys(explicit_values(settings), "program"))
    return Loaded(settings, origins, None)


def load_settings(file: Path | None = None, overrides: Mapping[str, Any] | None = None) -> Loaded:
    """Read all settings.

    Args:
        file: a settings file; None reads `graphrag.toml` in the current folder if there is one.
        overrides: dotted key → value, from the command line; None values do not count.

    Raises:
        ConfigError: for a missing or malformed file, an unknown key, or an impossible value.
    """
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    path = file or (Path(CONFIG_FILE) if Path(CONFIG_FILE).is_file() else None)
    from_file = _flat(_read(path)) if path else {}
    from_env = _environment()
    merged = {**from_file, **from_env, **given}
    try:
        settings = Settings(**_nested(merged))
    except ValidationError as error:
        raise ConfigError(_explain(error, given, from_env, path)) from error
    origins: dict[str, Origin] = dict.fromkeys(_flat(settings.model_dump()), "default")
    for keys, origin in ((from_file, "file"), (from_env, "environment"), (given, "command line")):
        origins.update(dict.fromkeys(keys, origin))  # type: ignore[arg-type]
    return Loaded(settings, origins, path)


def flat_values(settings: Settings) -> dict[str, Any]:
    """Dotted key → value as JSON has it. A secret shows as asterisks, also one inside an address."""
    values = _flat(settings.model_dump(mode="json"))
    return {
        key: without_credentials(value) if isinstance(value, str) else value for key, value in values.items()
    }


def explicit_values(settings: Settings) -> dict[str, Any]:
    """Dotted key → value of those settings that were given, not left at their default."""
    found: dict[str, Any] = {}
    for name in settings.model_fields_set:
        value = getattr(settings, name)
        if isinstance(value, Section):
            found |= {f"{name}.{key}": getattr(value, key) for key in value.model_fields_set}
        else:
            found[name] = value
    return found


def with_stored(settings: Settings, stored: Mapping[str, Any]) -> Settings:
    """Settings with those of the store in place of defaults; what was given wins.

    Args:
        stored: dotted key → value, each fit for `check_stored`.
    """
    return Settings(**_nested({**stored, **explicit_values(settings)})) if stored else settings


def is_setting(key: str) -> bool:
    """Whether there is a setting, or a section, of this name."""
    return key in flat_values(Settings.model_construct()) or key in Settings.model_fields


def check_stored(key: str, value: Any) -> Any:
    """A setting for the store.

    Args:
        key: dotted.
        value: as JSON has it, or as text.

    Returns:
        its value as JSON has it.

    Raises:
        ConfigError: when it is unknown, a secret or otherwise not for a store, or the value is impossible;
            the message says nothing of the value.
    """
    known = flat_values(Settings.model_construct())
    if key not in known:
        import difflib

        near = difflib.get_close_matches(key, known, n=3)
        hint = f"did you mean {', '.join(near)}?" if near else "graphrag-rdf config list shows all"
        raise ConfigError("there is no such setting", hint=hint)
    if _is_secret(key) or (isinstance(value, str) and without_credentials(value) != value):
        raise ConfigError("a store never holds a secret", hint="give it by a variable of the environment")
    if any(key == name or key.startswith(f"{name}.") for name in _NOT_IN_A_STORE):
        raise ConfigError("this is not for a store to say", hint=f"set it in {CONFIG_FILE}")
    given = _list(value) if key in _LISTS and isinstance(value, str) else value
    try:
        return flat_values(Settings(**_nested({key: given})))[key]
    except ValidationError as error:
        problem = error.errors()[0]
        raise ConfigError(_WHAT.get(problem["type"], problem["msg"])) from None


def _is_secret(key: str) -> bool:
    section, _, name = key.partition(".")
    part = getattr(Settings.model_construct(), section, None)
    field = type(part).model_fields.get(name) if isinstance(part, Section) else None
    return field is not None and "SecretStr" in str(field.annotation)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error


def _environment() -> dict[str, Any]:
    found = {}
    for name, value in os.environ.items():
        if name.upper().startswith(ENV_PREFIX) and value:
            key = name[len(ENV_PREFIX) :].lower().replace("__", ".")
            if key.split(".")[0] == "test":  # switches of the test suite
                continue
            found[key] = _list(value) if key in _LISTS else value
    return found


def _list(value: str) -> list[str]:
    return [item.strip() for item in value.split(",") if item.strip()]


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            out |= _flat(value, f"{prefix}{key}.")
        else:
            out[prefix + key] = value
    return out


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in flat.items():
        *parents, last = key.split(".")
        table = out
        for parent in parents:
            table = table.setdefault(parent, {})
            if not isinstance(table, dict):
                raise ConfigError(f"setting {key}: {parent} is not a table")
        table[last] = _none(value)
    return out


def _none(value: Any) -> Any:
    return None if isinstance(value, str) and value.lower() == "none" else value


_WHAT = {"extra_forbidden": "unknown setting", "string_pattern_mismatch": "not an absolute IRI"}


def _explain(
    error: ValidationError, given: Mapping[str, Any], env: Mapping[str, Any], path: Path | None
) -> str:
    lines = []
    for problem in error.errors():
        key = ".".join(str(part) for part in problem["loc"])
        if key in given:
            place = "command line"
        elif key in env:
            place = ENV_PREFIX + key.replace(".", "__").upper()
        else:
            place = str(path) if path else "settings"
        what = _WHAT.get(problem["type"], problem["msg"])
        lines.append(f"{place}: {key}: {what}")
    return "; ".join(lines)


def commented_toml() -> str:
    """A settings file with every key, its default and what it does, all commented out."""
    lines = [
        "# Settings of graphrag-rdf.",
        "# The command line and the environment (GRAPHRAG_RDF_LLM__MODEL=…) win over this file.",
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


ORIGINS: tuple[Origin, ...] = get_args(Origin)
