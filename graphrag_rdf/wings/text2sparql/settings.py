"""The settings of questions as SPARQL: other endpoints that a query may call."""

from __future__ import annotations

from typing import Annotated, ClassVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from graphrag_rdf.i18n import later
from graphrag_rdf.section import Section


def _address(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or set(text) & set('<>"{}|\\^` \n'):
        raise PydanticCustomError("address", later("not an http:// or https:// address"))
    if parts.username is not None or parts.password is not None:
        raise PydanticCustomError("address", later("an address with a user or password: remove them"))
    return text


def _distinct(listed: tuple[Endpoint, ...]) -> tuple[Endpoint, ...]:
    if len({entry.url for entry in listed}) < len(listed) or len({entry.name for entry in listed}) < len(
        listed
    ):
        raise PydanticCustomError("endpoints", later("two endpoints have the same name or url"))
    return listed


class Endpoint(BaseModel):
    """A SPARQL endpoint that a query may call.

    Attributes:
        name: what answers and errors call it.
        url: its address, as it stands after SERVICE.
        about: what it knows, for the model.
        schema_from: file or address of its VoID description or SHACL shapes, `schema` in settings files; ""
            if its own data has the former.
        examples: file, or folder of files, with example queries (sh:SPARQLExecutable).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, serialize_by_alias=True)

    name: str = Field(min_length=1, max_length=80)
    url: Annotated[str, AfterValidator(_address)]
    about: str = ""
    schema_from: str = Field("", alias="schema")
    examples: str = ""


class FederationSection(Section):
    """[federation] - other endpoints that queries may call, each a table `[[federation.endpoints]]`."""

    in_store: ClassVar[bool] = False

    endpoints: Annotated[tuple[Endpoint, ...], AfterValidator(_distinct)] = Field(
        default=(),
        description="tables with name, url, about, schema (VoID or SHACL: file or address) and examples "
        "(file or folder)",
    )
