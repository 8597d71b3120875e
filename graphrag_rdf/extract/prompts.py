"""The prompts of the ingest: templates, and `extract.yaml`, which says what they are told of the documents.

`tune prompts` writes that file, and people may. The templates beside it read it as `tuned`; its
texts are values there, so that nothing in them is taken for a template. Worked examples are held to what is
asked of a model: one whose quote is not in its chunk would teach to make quotes up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from graphrag_rdf.errors import ConfigError, LlmError, TemplateError, in_words
from graphrag_rdf.extract.answers import Found
from graphrag_rdf.extract.names import match_key
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.llm.model import encodable, fenced
from graphrag_rdf.wing import load, wings

if TYPE_CHECKING:
    import jinja2


FILE = "extract.yaml"
"""Its name, beside the template."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
_IRI = r"^[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|\\^`]+$"


def one_line(text: str) -> str:
    """A text as it stands in the prompt: on one line, without control characters and lone surrogates."""
    return " ".join(_CONTROL.sub(" ", encodable(text)).split())


def _one_line(value: object) -> object:
    return one_line(value) if isinstance(value, str) else value


def is_clean(text: str) -> bool:
    """Whether a chunk may stand in an example: no control characters, such as the break of a page."""
    return not _CONTROL.search(text) and encodable(text) == text


def _whole(value: str) -> str:
    if not is_clean(value):
        raise ValueError("it holds control characters")
    return value


Line = Annotated[str, BeforeValidator(_one_line)]
"""Text on one line."""
Name = Annotated[Line, StringConstraints(min_length=1, max_length=60)]
Meaning = Annotated[Line, StringConstraints(max_length=200)]
Sentence = Annotated[Line, StringConstraints(min_length=1, max_length=400)]
Verbatim = Annotated[str, AfterValidator(_whole), StringConstraints(min_length=1, max_length=4000)]
Iri = Annotated[str, StringConstraints(pattern=_IRI)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Kind(_Part):
    """A type of entities, or a relation, with its meaning; a text alone is its name."""

    name: Name
    meaning: Meaning = ""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: object) -> object:
        return {"name": data} if isinstance(data, str) else data


class ExampleEntity(_Part):
    """An entity of an example, as a model is asked for it."""

    name: Line
    type: Line | None = None
    definition: Line | None = None
    definition_evidence: Verbatim | None = None
    aliases: tuple[Line, ...] = ()


class ExampleRelation(_Part):
    """A relation of an example, as a model is asked for it."""

    subject: Line
    predicate: Line
    object: Line
    object_is_entity: bool = True
    datatype: Literal["string", "date", "year", "integer", "decimal", "boolean"] | None = None
    evidence: Verbatim
    confidence: float = Field(default=1.0, ge=0, le=1)


def _said(item: ExampleEntity | ExampleRelation) -> dict[str, Any]:
    example = item.model_dump(exclude_defaults=True)
    if example.pop("object_is_entity", True) is False:
        example.setdefault("datatype", "string")
    return example


class Example(_Part):
    """A chunk with what should be found in it.

    Attributes:
        source: the chunk that it was taken from.
    """

    text: Verbatim
    source: Iri | None = None


class WorkedExample(Example):
    """A chunk with its entities and relations."""

    entities: tuple[ExampleEntity, ...] = Field(min_length=1)
    relations: tuple[ExampleRelation, ...] = Field(min_length=1)

    def answer(self) -> str:
        """The JSON that a model should answer, an item on each line, without defaults."""
        entities, relations = (
            ",\n ".join(json.dumps(_said(item), ensure_ascii=False) for item in items)
            for items in (self.entities, self.relations)
        )
        return f'{{"entities": [\n {entities}],\n"relations": [\n {relations}]}}'

    @model_validator(mode="after")
    def _holds(self) -> WorkedExample:
        if faults := list(self._faults()):
            raise ValueError("; ".join(faults))
        return self

    def _faults(self) -> Iterator[str]:
        """The faults that the reader of models' answers finds in it."""
        read_back = Found()
        try:
            read_back.read(self.answer())
        except LlmError as error:
            yield error.message
            return
        for rejected in read_back.rejected:
            yield f"{rejected.reason}: {rejected.item}"
        if read_back.size != len(self.entities) + len(self.relations) and not read_back.rejected:
            yield "an entity or a relation is in it twice"
        for relation in self.relations:
            if relation.evidence not in self.text:
                yield f"the passage does not say {relation.evidence!r}"
            ends = [relation.subject, *([relation.object] if relation.object_is_entity else [])]
            for name in ends:
                if match_key(name) not in read_back.entities:
                    yield f"{name!r} is not among its entities"
        for entity in self.entities:
            if entity.definition_evidence and entity.definition_evidence not in self.text:
                yield f"the passage does not say {entity.definition_evidence!r}"


class ExampleClaim(_Part):
    """A claim of an example, as a model is asked for it."""

    subject: Line
    object: Line | None = None
    type: Line
    status: Literal["TRUE", "FALSE", "SUSPECTED"]
    start: Line | None = None
    end: Line | None = None
    description: Line
    quotes: tuple[Verbatim, ...] = Field(min_length=1)


class ClaimExample(Example):
    """A chunk with its claims."""

    claims: tuple[ExampleClaim, ...] = Field(min_length=1)

    def answer(self) -> str:
        """The JSON that a model should answer, an item on each line."""
        items = (json.dumps(claim.model_dump(), ensure_ascii=False) for claim in self.claims)
        return '{"claims": [\n ' + ",\n ".join(items) + "]}"

    @model_validator(mode="after")
    def _holds(self) -> ClaimExample:
        faults = [
            fault
            for wing in wings()
            if "claims" in wing.examples
            for fault in load(wing.examples["claims"])(self.answer(), len(self.claims))
        ]
        quotes = (quote for claim in self.claims for quote in claim.quotes)
        faults += [f"the passage does not say {quote!r}" for quote in quotes if quote not in self.text]
        if faults:
            raise ValueError("; ".join(faults))
        return self


class PromptData(_Part):
    """What the prompts of the ingest are told of the documents.

    The prompts of extraction, claims, merged descriptions and reports read domain, persona and language.

    Attributes:
        domain: what the documents are about.
        persona: who the model is to be.
        language: that predicates, types and definitions are written in; None for the chunk's own.
        entity_types, relation_types: preferred ones; others are taken too.
        examples: they stand in place of the built-in one.
        claim_description: what a claim is, unless the setting claims.description says it.
        claim_examples: they stand in place of the built-in one of claims.
        importance: what makes a group of things important, for the ratings of reports.
        tuned_by: the activity that made it, as recorded in a store.
    """

    domain: Sentence | None = None
    persona: Sentence | None = None
    language: Name | None = None
    entity_types: tuple[Kind, ...] = ()
    relation_types: tuple[Kind, ...] = ()
    examples: tuple[WorkedExample, ...] = ()
    claim_description: Sentence | None = None
    claim_examples: tuple[ClaimExample, ...] = ()
    importance: Sentence | None = None
    tuned_by: Iri | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the extraction prompt is the same as without it."""
        return self.values() == NO_DATA.values()

    @property
    def all_examples(self) -> list[Example]:
        """Those of facts, then those of claims."""
        return [*self.examples, *self.claim_examples]

    def shared(self) -> dict[str, Any]:
        """What the prompts of claims, merged descriptions and reports see as `tuned`, as `values`."""
        names = ("domain", "persona", "language", "importance")
        return {
            **{name: _fenced(getattr(self, name)) for name in names},
            "claim_examples": [
                {"text": fenced(example.text), "answer": fenced(example.answer())}
                for example in self.claim_examples
            ],
        }

    def values(self) -> dict[str, Any]:
        """What the extraction template sees as `tuned`; tags that could end the chunk lose their first
        bracket.
        """
        return {
            **{name: _fenced(getattr(self, name)) for name in ("domain", "persona", "language")},
            **{
                name: [
                    {"name": fenced(kind.name), "meaning": fenced(kind.meaning)}
                    for kind in getattr(self, name)
                ]
                for name in ("entity_types", "relation_types")
            },
            "examples": [
                {"text": fenced(example.text), "answer": fenced(example.answer())}
                for example in self.examples
            ],
        }

    def canonical(self) -> str:
        """All that the prompt depends on, as one text: equal texts are equal prompts."""
        return json.dumps(self.values(), sort_keys=True, ensure_ascii=False)


NO_DATA = PromptData()


def tuned_for(data: PromptData, source: str) -> tuple[dict[str, Any], str]:
    """What a prompt of claims, merged descriptions or reports is told of the documents.

    Args:
        source: of the template.

    Returns:
        (its value `tuned`; what that adds to the template in hashes: nothing, if there is nothing to tell).
    """
    tuned = data.shared()
    used = {name: value for name, value in tuned.items() if value and f"tuned.{name}" in source}
    return tuned, "\0" + json.dumps(used, sort_keys=True, ensure_ascii=False) if used else ""


def _fenced(text: str | None) -> str | None:
    return None if text is None else fenced(text)


# --- the file --------------------------------------------------------------------------------------

_HEADER = """\
# What the prompts of the ingest are told of the documents. Written by `graphrag-rdf tune prompts`, for you to
# edit; a change makes the next ingest extract anew. A quote (evidence) must stand in its chunk.
"""


def as_yaml(data: PromptData) -> str:
    """The file's text."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Chunks of several lines as they are."""

    def text(dumper: Any, value: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, text)
    whole = data.model_dump(mode="json")
    return _HEADER + yaml.dump(whole, Dumper=Dumper, allow_unicode=True, sort_keys=False, width=100)


_WAY_OUT = later("correct it, or take the file away; docs/how-to/tune-prompts.md shows one")


def read_prompt_data(path: Path) -> PromptData:
    """Read the file.

    Raises:
        ConfigError: it cannot be read, or is invalid.
    """
    import yaml

    try:
        content = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            tr("{path} cannot be read: {cause}").format(path=path, cause=error), hint=tr(_WAY_OUT)
        ) from error
    except (yaml.YAMLError, ValueError) as error:
        what = " ".join(str(error).split())
        raise ConfigError(
            tr("{path} is not valid YAML: {what}").format(path=path, what=what), hint=tr(_WAY_OUT)
        ) from error
    try:
        return PromptData.model_validate({} if content is None else content)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc'])) or 'the whole'}: {in_words(fault)}"
            for fault in error.errors()[:3]
        )
        raise ConfigError(f"{path}: {faults}", hint=tr(_WAY_OUT)) from error


# --- templates -----------------------------------------------------------------------------------------


def read_prompt(path: Path) -> tuple[jinja2.Template, str]:
    """A prompt template and its source.

    Raises:
        TemplateError: it is missing or malformed.
    """
    import jinja2
    import jinja2.sandbox

    # a user's own prompts are not trusted with more than text; and prompts are no markup to escape
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, trim_blocks=False, autoescape=False
    )
    try:
        source = path.read_text("utf-8")
        return environment.from_string(source), source
    except (OSError, UnicodeDecodeError) as error:
        raise TemplateError(
            tr("the prompt {path} cannot be read: {error}").format(path=path, error=error),
            tr("install again, or copy it anew"),
        ) from error
    except jinja2.TemplateSyntaxError as error:
        raise TemplateError(
            tr("the prompt {path} is malformed in line {lineno}: {message}").format(
                path=path, lineno=error.lineno, message=error.message
            )
        ) from error


def names_in(source: str) -> set[str]:
    """The values that a prompt template reads.

    Args:
        source: of a template that `read_prompt` took.
    """
    import jinja2
    import jinja2.meta

    return jinja2.meta.find_undeclared_variables(jinja2.Environment(autoescape=False).parse(source))  # noqa: S701


def fill_prompt(template: jinja2.Template, path: Path, values: Mapping[str, Any], names: str) -> str:
    """A prompt for these values.

    Args:
        names: what a prompt may use, for people.

    Raises:
        TemplateError: it uses something else.
    """
    import jinja2

    try:
        return template.render(values)
    except jinja2.TemplateError as error:
        raise TemplateError(
            tr("the prompt {path} cannot be filled in: {message}").format(path=path, message=error.message),
            tr("it may use {names}").format(names=names),
        ) from error
