"""The rows of the tables of Microsoft GraphRAG 0.x to 3.x, by one set of names.

Versions renamed some columns; each field lists the names that it had. `number` is the `human_readable_id` by
which reports cite a row.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from graphrag_rdf.wings.msgraphrag import cells

Text: TypeAlias = Annotated[str, BeforeValidator(cells.text)]
RawText: TypeAlias = Annotated[str, BeforeValidator(cells.raw_text)]
MaybeText: TypeAlias = Annotated[str | None, BeforeValidator(cells.text)]
MaybeInt: TypeAlias = Annotated[int | None, BeforeValidator(cells.integer)]
MaybeNumber: TypeAlias = Annotated[float | None, BeforeValidator(cells.number)]
Texts: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(cells.texts)]
Records: TypeAlias = Annotated[tuple[dict[str, Any], ...], BeforeValidator(cells.records)]


def _called(*names: str) -> AliasChoices:
    return AliasChoices(*names)


class TableRow(BaseModel):
    """What every table has.

    Attributes:
        id: of the run that made the tables; "" if there is none.
        number: the `human_readable_id`.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: Annotated[str, BeforeValidator(lambda cell: cells.text(cell) or "")] = ""
    number: MaybeInt = Field(None, validation_alias=_called("human_readable_id", "short_id"))

    @property
    def name(self) -> str:
        """The row for people: its number, or its id."""
        return str(self.number) if self.number is not None else self.id or "?"


class DocumentRow(TableRow):
    """A document."""

    id: Text
    title: MaybeText = None
    text: RawText | None = Field(None, validation_alias=_called("text", "raw_content"))
    created: MaybeText = Field(None, validation_alias=_called("creation_date"))


class TextUnitRow(TableRow):
    """A chunk."""

    id: Text
    text: RawText = Field(validation_alias=_called("text", "chunk"))
    document_ids: Texts = Field((), validation_alias=_called("document_id", "document_ids"))


class EntityRow(TableRow):
    """An entity."""

    title: Text = Field(validation_alias=_called("title", "name"))
    type: MaybeText = None
    description: MaybeText = None
    text_unit_ids: Texts = ()


class RelationshipRow(TableRow):
    """A relationship of two titles."""

    source: Text
    target: Text
    description: MaybeText = None
    weight: MaybeNumber = None
    text_unit_ids: Texts = ()


class CovariateRow(TableRow):
    """A claim."""

    covariate_type: MaybeText = None
    type: Text
    description: Text
    subject: Text = Field(validation_alias=_called("subject_id"))
    object: MaybeText = Field(None, validation_alias=_called("object_id"))
    status: MaybeText = None
    start: MaybeText = Field(None, validation_alias=_called("start_date"))
    end: MaybeText = Field(None, validation_alias=_called("end_date"))
    quote: MaybeText = Field(None, validation_alias=_called("source_text"))
    text_unit_id: Text


class CommunityRow(TableRow):
    """A community."""

    community: MaybeInt = Field(validation_alias=_called("community", "raw_community", "id"))
    level: MaybeInt = 0
    parent: MaybeInt = None
    entity_ids: Texts = ()
    relationship_ids: Texts = ()
    text_unit_ids: Texts = ()
    period: MaybeText = None


class ReportRow(TableRow):
    """A report of a community."""

    community: MaybeInt
    title: Text
    summary: Text
    rank: MaybeNumber = None
    rank_explanation: MaybeText = Field(
        None, validation_alias=_called("rating_explanation", "rank_explanation")
    )
    findings: Records = ()
    period: MaybeText = None


ROWS: dict[str, type[TableRow]] = {
    "documents": DocumentRow,
    "text_units": TextUnitRow,
    "entities": EntityRow,
    "relationships": RelationshipRow,
    "covariates": CovariateRow,
    "communities": CommunityRow,
    "community_reports": ReportRow,
}
"""Table → what a row of it is."""


def required_columns(kind: type[TableRow]) -> list[tuple[str, ...]]:
    """The columns without which no row of a table can be read; of each one of these names."""
    found = []
    for name, field in kind.model_fields.items():
        if field.is_required():
            alias = field.validation_alias
            found.append(tuple(map(str, alias.choices)) if isinstance(alias, AliasChoices) else (name,))
    return found
