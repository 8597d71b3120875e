"""Claims of a chunk, read by a model: one prompt a chunk, and further rounds for what was missed.

Each answer is read by itself and adds to the claims of the answers before. A wrong item is returned as
`Rejected`, with a reason:

    invalid_claim            type or description is missing, or a field is of an impossible kind
    subject_…                the subject is no name: a reason of `extract.names.reject_reason`
    status_not_listed        neither TRUE, FALSE nor SUSPECTED
    no_evidence              it quotes nothing
    object_too_long          kept without its object, which is no name
    invalid_date             kept without a date that cannot be read
    period_reversed          kept without its dates, because it would end before it begins
    gleaning_failed          nothing in the answer of a further round can be read
    answer_truncated, and the reasons of `llm.jsonl.Bad`    pieces of an answer
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, ValidationError

from graphrag_rdf.errors import LlmError
from graphrag_rdf.extract.answers import OptionalText, Text, quotes_of
from graphrag_rdf.extract.model import Rejected
from graphrag_rdf.extract.names import LONGEST_NAME, fold, is_placeholder, match_key, reject_reason
from graphrag_rdf.extract.numbers import typed_literal
from graphrag_rdf.extract.prompts import NO_DATA, PromptData, fill_prompt, read_prompt, tuned_for
from graphrag_rdf.llm.jsonl import Section, parse_sections
from graphrag_rdf.llm.model import Completion, Message, encodable, fenced

if TYPE_CHECKING:
    from graphrag_rdf.llm.gateway import LlmGateway

CLAIMS_VERSION = "1"
"""Changes when the same answer would be read otherwise: part of the key."""

PROMPT, GLEAN = "claims.j2", "glean_claims.j2"
STATUSES = ("TRUE", "FALSE", "SUSPECTED")

_SECTIONS = {"claims": Section(("claims", "covariates"), ("subject", "subject_id"))}
_NOTHING = re.compile(r"\s*(?:```\w*\s*)?\[\s*\](?:\s*```)?\s*", re.ASCII)
_TIME = re.compile(r"(?<=\d\d\d\d-\d\d-\d\d)[T ]\d\d:\d\d.*", re.ASCII)
_DATES = ("date", "gYearMonth", "gYear")
_UNKNOWN = frozenset({"unknown", "present", "ongoing", "now"})


class AnsweredClaim(BaseModel):
    """A claim as models write it."""

    subject: OptionalText = Field(None, validation_alias=AliasChoices("subject", "subject_id"))
    object: OptionalText = Field(None, validation_alias=AliasChoices("object", "object_id"))
    type: Text = Field(validation_alias=AliasChoices("type", "claim_type"), min_length=1)
    status: OptionalText = Field(None, validation_alias=AliasChoices("status", "claim_status"))
    start: OptionalText = Field(None, validation_alias=AliasChoices("start", "start_date", "from"))
    end: OptionalText = Field(None, validation_alias=AliasChoices("end", "end_date", "to"))
    description: Text = Field(validation_alias=AliasChoices("description", "claim_description"), min_length=1)
    quotes: Annotated[list[str], BeforeValidator(quotes_of)] = Field(
        [], validation_alias=AliasChoices("quotes", "quote", "evidence", "source_text", "claim_source_text")
    )


@dataclass(frozen=True, slots=True)
class ClaimDate:
    """A date as RDF has it.

    Attributes:
        lexical: such as 1911-05.
        datatype: IRI of xsd:date, xsd:gYearMonth or xsd:gYear.
    """

    lexical: str
    datatype: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim.

    Attributes:
        subject, object: names; the object may be None.
        type: in lower case.
        status: one of `STATUSES`.
        start, end: None if the text does not say.
        quotes: at least one, as the model repeats them.
    """

    subject: str
    object: str | None
    type: str
    status: str
    start: ClaimDate | None
    end: ClaimDate | None
    description: str
    quotes: tuple[str, ...]

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Claims of a chunk with equal keys are one."""
        return (match_key(self.subject), match_key(self.object or ""), self.type, fold(self.description))


@dataclass(slots=True)
class ClaimAnswer:
    """What the answers of a model say of a chunk.

    Attributes:
        claims: each once, by `Claim.key`.
        completions: the answers, in order.
    """

    claims: dict[tuple[str, str, str, str], Claim] = field(default_factory=dict)
    rejected: list[Rejected] = field(default_factory=list)
    completions: list[Completion] = field(default_factory=list)

    def read(self, completion: Completion) -> None:
        """Add an answer to what the answers before it gave.

        Raises:
            LlmError: of kind `unparsable`, when nothing of it can be read.
        """
        self.completions.append(completion)
        self.read_text(completion.text)
        if completion.truncated:
            self.reject("answer_truncated", completion.text[-200:])

    def read_text(self, text: str) -> None:
        """As `read`, for the text of an answer."""
        if _NOTHING.fullmatch(text):
            return
        sections, bad = parse_sections(text, _SECTIONS)
        for item in sections["claims"]:
            self._take(item)
        self.rejected += [Rejected(piece.reason, piece.text) for piece in bad]

    def reject(self, reason: str, item: object) -> None:
        """Note an item, or a part of one, that was left out."""
        text = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
        self.rejected.append(Rejected(reason, encodable(text)))

    def _take(self, item: object) -> None:
        try:
            answered = AnsweredClaim.model_validate(item)
        except ValidationError:
            self.reject("invalid_claim", item)
            return
        subject, status = answered.subject or "", (answered.status or "").upper()
        unfit = reject_reason(subject)
        faults = (
            (unfit is not None, f"subject_{unfit}"),
            (status not in STATUSES, "status_not_listed"),
            (not answered.quotes, "no_evidence"),
        )
        if fault := next((reason for holds, reason in faults if holds), None):
            self.reject(fault, item)
            return
        start, end = (self._date(text, item) for text in (answered.start, answered.end))
        if start and end and _is_after(start, end):
            self.reject("period_reversed", item)
            start = end = None
        claim = Claim(
            subject,
            self._object(answered.object, item),
            " ".join(answered.type.replace("_", " ").lower().split()),
            status,
            start,
            end,
            answered.description,
            tuple(answered.quotes),
        )
        earlier = self.claims.get(claim.key)
        if earlier is not None:
            claim = replace(earlier, quotes=tuple(dict.fromkeys((*earlier.quotes, *claim.quotes))))
        self.claims[claim.key] = claim

    def _object(self, name: str | None, item: object) -> str | None:
        if name is None or not fold(name) or is_placeholder(name):
            return None
        if len(name) > LONGEST_NAME:
            self.reject("object_too_long", item)
            return None
        return name

    def _date(self, text: str | None, item: object) -> ClaimDate | None:
        if text is None or is_placeholder(text) or fold(text) in _UNKNOWN:
            return None
        lexical, datatype, fits = typed_literal(_TIME.sub("", text), "date")
        if not fits or datatype is None or not datatype.endswith(_DATES):
            self.reject("invalid_date", item)
            return None
        return ClaimDate(lexical, datatype)


class ClaimReader:
    """Asks a model for the claims of chunks.

    Args:
        prompts: folder with `claims.j2` and, for gleaning, `glean_claims.j2`.
        model: litellm's name; part of the key.
        description: what a claim is, in a sentence.
        gleaning_rounds: how often to ask for what was missed; it ends when a round adds nothing.
        data: what the prompt is told of the documents, as `tuned`.

    Attributes:
        key: everything that a result depends on but the chunk.

    Raises:
        TemplateError: a prompt is missing or malformed.
    """

    def __init__(
        self,
        prompts: Path,
        *,
        model: str,
        description: str,
        gleaning_rounds: int = 0,
        data: PromptData = NO_DATA,
    ) -> None:
        self._path = prompts / PROMPT
        self._template, source = read_prompt(self._path)
        self._tuned, tuning_source = tuned_for(data, source)
        source += tuning_source
        self._glean = ""
        if gleaning_rounds:
            glean, glean_source = read_prompt(prompts / GLEAN)
            self._glean = fill_prompt(glean, prompts / GLEAN, {}, "no values")
            source += "\0" + glean_source
        self.model = model
        self.description = description
        self.rounds = gleaning_rounds
        digest = hashlib.sha256(source.encode()).hexdigest()
        wanted = hashlib.sha256(description.encode()).hexdigest()
        self.key = (
            f"claims/{CLAIMS_VERSION};model={model};prompt={digest};"
            f"description={wanted};gleaning={gleaning_rounds}"
        )

    def prompt(self, text: str, *, title: str, names: Sequence[str]) -> str:
        """The first prompt for a chunk; tags in it that could end the chunk lose their first bracket.

        Args:
            text: the chunk.
            title: of its document.
            names: of entities in the chunk, so that claims use the same.
        """
        values = {
            "text": fenced(text),
            "title": fenced(" ".join(title.split())),
            "names": [fenced(" ".join(name.split())) for name in names],
            "description": fenced(self.description),
            "tuned": self._tuned,
        }
        return fill_prompt(self._template, self._path, values, "text, title, names, description and tuned")

    def read(
        self, text: str, gateway: LlmGateway, *, title: str, names: Sequence[str], use_cache: bool = True
    ) -> ClaimAnswer:
        """Ask the model which claims a chunk makes.

        Args:
            text, title, names: see `prompt`.
            use_cache: False asks again, whatever was answered before.

        Raises:
            LlmError: a call failed, or nothing in the first answer can be read (kind `unparsable`; it is
                then taken out of the cache, so that another run asks again).
        """
        answer = ClaimAnswer()
        messages: list[Message] = [{"role": "user", "content": self.prompt(text, title=title, names=names)}]
        for number in range(1 + self.rounds):
            before = len(answer.claims)
            completion = gateway.chat(
                messages, purpose="claims", json_mode=True, model=self.model, use_cache=use_cache
            )
            try:
                answer.read(completion)
            except LlmError:
                gateway.discard(completion)
                if number == 0:
                    raise
                answer.reject("gleaning_failed", completion.text)
            if number and len(answer.claims) == before:
                break
            messages += [
                {"role": "assistant", "content": completion.text},
                {"role": "user", "content": self._glean},
            ]
        return answer


def _is_after(first: ClaimDate, second: ClaimDate) -> bool:
    """Whether a date is after another, as far as both are precise. Years before Christ are not compared."""
    if "-" in (first.lexical[0], second.lexical[0]):
        return False
    shared = min(len(first.lexical), len(second.lexical))
    return first.lexical[:shared] > second.lexical[:shared]


def faults_of(answer: str, claims: int) -> Iterator[str]:
    """The faults that the reader of answers finds in an example.

    Args:
        answer: the whole JSON.
        claims: how many claims are in it.
    """
    read_back = ClaimAnswer()
    try:
        read_back.read_text(answer)
    except LlmError as error:
        yield error.message
        return
    for rejected in read_back.rejected:
        yield f"{rejected.reason}: {rejected.item}"
    if len(read_back.claims) != claims and not read_back.rejected:
        yield "a claim is in it twice"
