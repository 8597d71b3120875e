"""Bodies of requests, checked: a question, a pipeline, entities, numbers up to a cap, a style of citations.

Clients choose no model, store, path, template or address.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeVar

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails
from starlette.requests import Request

from graphrag_rdf.client import PARAMETERS
from graphrag_rdf.errors import in_words
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.prepare import MAX_QUESTION, or_overview
from graphrag_rdf.server.http.body import read_body
from graphrag_rdf.server.http.negotiation import content_type
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.trace.citations import Style
from graphrag_rdf.wing import wings

Question = Annotated[str, StringConstraints(min_length=1, max_length=MAX_QUESTION)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=500)]
PipelineName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
_FullName = Annotated[
    str, StringConstraints(pattern=r"^(urn:[a-z:]{1,40}:)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
]
Session = Annotated[_FullName | None, BeforeValidator(lambda text: None if text == "" else text)]
"""A full name: on a server, `last` may be another client's. An empty one, as older clients send, is none."""
Day = Annotated[str, StringConstraints(pattern=r"^\d{4}(-\d\d(-\d\d)?)?$")]
Names = Annotated[list[Name], Field(max_length=50)]

_BY_HOPS = "of pipelines that explore hop by hop"
_STEPS = {name: parameter for parameter, name in PARAMETERS.items()}


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    question: Question
    pipeline: PipelineName = "graph_rag"
    include: Names = []
    exclude: Names = []
    entity_limit: int | None = Field(default=None, ge=1, le=200, description=f"seed entities ({_BY_HOPS})")
    triple_limit: int | None = Field(
        default=None, ge=1, le=100, description=f"facts of an entity ({_BY_HOPS})"
    )
    max_path_length: int | None = Field(default=None, ge=0, le=4, description=f"hops ({_BY_HOPS})")
    edge_limit: int | None = Field(
        default=None, ge=0, le=100, description=f"facts kept at each hop ({_BY_HOPS})"
    )

    since: Day | None = Field(
        default=None, alias="from", description="only text written on this day, month or year, or later"
    )
    until: Day | None = Field(
        default=None, alias="to", description="only text written on this day, month or year, or earlier"
    )
    valid: Day | None = Field(
        default=None, description="leave out facts that began after this date, or ended before it"
    )
    dates: bool | None = Field(default=None, description="false: ignore dates that the question's words name")

    def steps(self) -> dict[str, str]:
        """`step.parameter` → value, of the parameters that were given; false asks for nothing."""
        values = self.model_dump(by_alias=True, exclude_none=True)
        return {
            _STEPS[name]: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in values.items()
            if name in _STEPS and (value is not False or name == "dates")
        }


class AskRequest(_Request):
    """The body of `/ask`."""

    question: Annotated[str, StringConstraints(max_length=MAX_QUESTION)] = Field(
        description="an empty one asks for an overview of the documents, by the pipeline overview"
    )
    session: Session = Field(
        default=None,
        validation_alias=AliasChoices("session", "session_id"),
        description="the trace of the question that this goes on with, or the name of a new one",
    )
    collection: Name | None = Field(default=None, description="that of this server; another one is an error")
    max_sentences: int | None = Field(default=None, ge=1, le=20, description="of an answer without a model")
    suggestions: int | None = Field(default=None, ge=0, le=10, description="questions to ask next")
    allow_general_knowledge: bool | None = Field(
        default=None, description="let the model add what it knows, in marked sentences"
    )
    citation_style: Style | None = Field(
        default=None, description="[1] or [S1]; by default as the server's settings say"
    )

    @model_validator(mode="before")
    @classmethod
    def _or_overview(cls, data: dict[str, Any]) -> dict[str, Any]:
        question, pipeline = data.get("question"), data.get("pipeline", "graph_rag")
        if not isinstance(question, str) or not isinstance(pipeline, str):
            return data
        question, pipeline = or_overview(question, pipeline)
        return {**data, "question": question, "pipeline": pipeline}


class RetrieveRequest(_Request):
    """The body of `/retrieve`."""

    k: int = Field(default=10, ge=1, le=100, description="chunks, and edges")
    preview: bool = Field(default=False, description="also the paths behind each score")
    trace: bool = Field(default=False, description="store a trace")


class PreviewRequest(RetrieveRequest):
    """The body of `/ranking/preview`."""

    pipeline: PipelineName = next((wing.preview for wing in wings() if wing.preview), "graph_rag")
    preview: bool = True


R = TypeVar("R", bound=BaseModel)


async def read_json(request: Request, model: type[R], limit: int) -> R:
    """A request from its JSON body.

    Args:
        limit: bytes.

    Raises:
        Problem: 415 for another type, and as `read_body` and `read_request`.
    """
    if content_type(request.headers.get("content-type"))[0] != "application/json":
        raise Problem(
            415, tr("send the body as application/json"), headers={"Accept-Post": "application/json"}
        )
    return read_request(model, await read_body(request, limit))


def read_object(text: str) -> dict[str, Any]:
    """A message of a WebSocket, or of a client of TrustGraph.

    Raises:
        Problem: 400 if it is not a JSON object.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Problem(400, tr("the message is not a JSON object"))
    return value


def read_request(model: type[R], data: bytes | str | dict[str, Any]) -> R:
    """A request from its JSON.

    Raises:
        Problem: 400 if it is not JSON; 422 if it is not an object, or has unknown or invalid fields.
    """
    if not isinstance(data, dict):
        try:
            data = json.loads(data)
        except (ValueError, RecursionError):
            raise Problem(400, tr("the body is not JSON")) from None
        if not isinstance(data, dict):
            raise Problem(422, tr("the body is not a JSON object"))
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise Problem(422, "; ".join(map(_in_words, error.errors()[:10]))) from None


_SESSION = later("give the question_iri of an answer, or its UUID")
_DAY = later("not a date, such as 1911-11-17, 1911-11 or 1911")
_SAID = {
    ("from", "string_pattern_mismatch"): _DAY,
    ("to", "string_pattern_mismatch"): _DAY,
    ("valid", "string_pattern_mismatch"): _DAY,
    ("pipeline", "string_pattern_mismatch"): later("not the name of a pipeline"),
    ("session", "string_pattern_mismatch"): _SESSION,
    ("session_id", "string_pattern_mismatch"): _SESSION,
}
"""(field, kind of fault) → message in place of pydantic's."""


def _in_words(fault: ErrorDetails) -> str:
    field = ".".join(map(str, fault["loc"])) or "body"
    return f"{field}: {tr(_SAID.get((field, fault['type']), '')) or in_words(fault)}"
