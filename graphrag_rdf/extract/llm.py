"""Extraction by a language model: one prompt a chunk, one JSON object back, read by `extract.answers`.

The prompt is a template with, where there are any, data about the documents (see `extract.prompts`). Several
chunks may be asked about in one call, because the instruction is most of a prompt. The answer's part about a
chunk is then kept and read as the answer to the prompt of this chunk alone.
What a further round gives that cannot be read at all is `Rejected` as `gleaning_failed`. Small models are
asked for names first, then for relations between them.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from os.path import commonprefix
from pathlib import Path
from typing import TYPE_CHECKING, Any
from typing import Literal as Choice

from graphrag_rdf.documents.chunk import Context, sentences_before
from graphrag_rdf.documents.sentences import split_sentences
from graphrag_rdf.errors import LlmError
from graphrag_rdf.extract.answers import Found, listed_predicates, listed_types, parts_of
from graphrag_rdf.extract.model import NO_CHUNK_CONTEXT, ChunkContext, Extraction, Passage
from graphrag_rdf.extract.names import match_key
from graphrag_rdf.extract.prompts import NO_DATA, PromptData, fill_prompt, names_in, read_prompt
from graphrag_rdf.i18n import tr
from graphrag_rdf.llm.model import Completion, Message, fenced

if TYPE_CHECKING:
    import jinja2

    from graphrag_rdf.extract.guide import ExtractionGuide
    from graphrag_rdf.llm.gateway import LlmGateway

LLM_VERSION = "2"
"""Changes when the same answer would be read otherwise: part of every subgraph's IRI."""

PROMPTS = {"default": ("extract.j2",), "small": ("extract_names.j2", "extract_relations.j2")}
"""The prompts of each style, in the order in which they are asked."""

_VALUES = (
    "passages, text, title, columns, headings, before, language, entity_types, predicates, ontology and tuned"
)
_OWN_FAULT = frozenset({"bad_request", "server", "timeout"})
"""Kinds of failures that a call may have because of one of its chunks, or because they are too many."""
REPAIR = "repair.j2"
"""The prompt about statements that break the ontology."""
_REPAIR_VALUES = "text, title, before, ontology and statements"
_SHORTEST = 200  # characters; a text is not halved below it


class LlmExtractor:
    """Entities and relations of a chunk, as a model reads them.

    Args:
        prompts: folder with the prompts of the style and, for gleaning, `glean.j2`.
        model: litellm's name; part of the key.
        entity_types: types to ask for; empty for any.
        predicates: the only ones that relations may have; empty for any.
        style: `default`, or `small` for one task at a time, see `PROMPTS`.
        gleaning_rounds: how often to ask for what was missed; it ends when a round adds nothing. Only in the
            default style.
        data: what the prompt is told of the documents, as `tuned`.
        guide: shows the terms of an ontology, as `ontology`.
        repairs: how often to ask about statements that break it, with `repair.j2`.

    Attributes:
        prompt_hash: SHA-256 of the prompt: its templates, that for gleaning, and its data.
        key: everything that a result depends on but the chunk: equal keys give equal subgraph IRIs.
        takes_several: whether a prompt may have several chunks.

    Raises:
        TemplateError: a prompt is missing or malformed.
    """

    def __init__(
        self,
        prompts: Path,
        *,
        model: str,
        entity_types: Sequence[str] = (),
        predicates: Sequence[str] = (),
        style: Choice["default", "small"] = "default",
        gleaning_rounds: int = 0,
        data: PromptData = NO_DATA,
        guide: ExtractionGuide | None = None,
        repairs: int = 0,
    ) -> None:
        self._guide = guide
        self._entity_types = tuple(entity_types)
        self._types = listed_types(self._entity_types)
        self._predicates = listed_predicates(predicates)
        self._tuned = data.values()
        self._rounds = gleaning_rounds
        self._folder = prompts
        read = {name: read_prompt(prompts / name) for name in PROMPTS[style]}
        self._templates = {name: template for name, (template, _) in read.items()}
        first_source = read[PROMPTS[style][0]][1]
        self.takes_several = (
            style == "default"
            and (guide is None or guide.shows_all)  # else each chunk is shown other terms
            and "passages" in names_in(first_source)
        )
        source = "\0".join(text for _, text in read.values())
        self._glean = ""
        if gleaning_rounds:
            glean, glean_source = read_prompt(prompts / "glean.j2")
            self._glean = fill_prompt(
                glean,
                prompts / "glean.j2",
                {
                    "entity_types": self._entity_types,
                    "predicates": list(self._predicates.values()),
                    "ontology": guide is not None,
                    "tuned": self._tuned,
                },
                _VALUES,
            )
            source += "\0" + glean_source
        if not data.is_empty:
            source += "\0" + data.canonical()
        self._repair: jinja2.Template | None = None
        if guide is not None and repairs:
            self._repair, repair_source = read_prompt(prompts / REPAIR)
            source += "\0" + repair_source
        self.prompt_hash = digest = hashlib.sha256(source.encode()).hexdigest()
        types = ",".join(self._entity_types)
        self.key = f"llm/{LLM_VERSION};model={model};prompt={digest};types={types};gleaning={gleaning_rounds}"
        if self._predicates:
            self.key += f";predicates={','.join(self._predicates.values())}"
        if guide is not None:
            self.key += f";{guide.prompt_key}" + (f";repairs={repairs}" if repairs else "")
        self._model = model
        self._constants: dict[tuple[str, bool], str] = {}

    def extract(
        self,
        text: str,
        *,
        language: str | None,
        title: str,
        gateway: LlmGateway,
        context: ChunkContext = NO_CHUNK_CONTEXT,
        use_cache: bool = True,
        first_answer: Completion | None = None,
    ) -> tuple[Extraction, list[Completion]]:
        """Ask the model and read its answers.

        An answer that was cut off at its token limit does not count: both halves of the text are asked about.

        Args:
            text: the chunk.
            language: BCP 47 tag of the text, None if unknown.
            title: of the document.
            gateway: the way to the model.
            context: the model is shown its columns, and what stands before the chunk.
            use_cache: False asks again, whatever was answered before.
            first_answer: the first answer, if `ask_together` has it.

        Returns:
            (what was found, the completions, in order).

        Raises:
            LlmError: a call failed; or (kind `unparsable`) nothing in an answer can be read, or the answer to
                the shortest part was cut off too. Such an answer is not kept in the cache.
        """
        ask = partial(gateway.chat, json_mode=True, model=self._model, use_cache=use_cache)
        gathered = Found(self._types, self._predicates)
        completions: list[Completion] = []
        parts, count = [(0, text)], 1
        while parts:
            offset, part = parts.pop()
            before = sentences_before(text, offset, language) or context.preceding.before
            within = replace(context, preceding=replace(context.preceding, before=before))
            shown = self._shown(part, language)
            fill = partial(self._fill, [Passage(part, language, title, within)], ontology=shown)
            answers, whole = self._read(gathered, part, fill, ask, gateway.discard, first_answer)
            first_answer = None
            completions += answers
            if not whole:
                middle = _middle(part, language)
                if middle is None:
                    raise LlmError(
                        tr(
                            "the model's answer was cut off at its token limit, even for {count} characters"
                        ).format(count=len(part)),
                        "unparsable",
                        tr("raise llm.max_tokens, or the server's context length"),
                    )
                count += 1
                parts += [(offset + middle, part[middle:]), (offset, part[:middle])]
            elif len(part) < len(text):
                gathered.place(part, offset)
        return replace(gathered.extraction(), parts=count), completions

    def group(self, language: str | None) -> str:
        """The group of a language: a prompt may have several chunks of one; they share example and terms."""
        code = language or ""
        return code if self._guide else code.partition("-")[0] if code.startswith("zh") else ""

    def ask_together(
        self, passages: Sequence[Passage], *, gateway: LlmGateway, use_cache: bool = True
    ) -> list[Completion | None]:
        """Ask about several chunks in one call; those with an answer in the cache are left out of it.

        Args:
            passages: of one `group` of languages.

        Returns:
            for each the first answer for `extract`, with its share of the tokens; None if there is none. Then
            `extract` asks about the chunk alone.

        Raises:
            LlmError: the call failed, and calls about single chunks would fail too.
        """
        kept = partial(gateway.kept, purpose="extract", json_mode=True, model=self._model)
        alone = [self._messages(self.prompt_for([passage])) for passage in passages]
        answers = [kept(messages) if use_cache else None for messages in alone]
        asked = [number for number, answer in enumerate(answers) if answer is None]
        if len(asked) < 2:
            return answers
        prompt = self.prompt_for([passages[number] for number in asked])
        since = time.monotonic()
        try:
            whole = gateway.chat(
                self._messages(prompt),
                purpose="extract",
                json_mode=True,
                model=self._model,
                use_cache=False,
                since=since,
                shared=self._shared(prompt, PROMPTS["default"][0], several=True),
                answers=len(asked),
            )
        except LlmError as error:
            if error.kind not in _OWN_FAULT:
                raise
            return answers
        texts = [passages[number].text for number in asked]
        parts = parts_of(whole.text, texts, truncated=whole.truncated)
        sizes = [len(alone[number][0]["content"]) for number in asked]
        base = sum(sizes) - len(prompt)  # what the call saved is saved by each alike
        read = [size - base / len(asked) for size in sizes]
        wrote = [len(part or "") for part in parts]
        shares = zip(
            _shares(whole.in_tokens, read),
            _shares(whole.out_tokens, wrote),
            _shares(whole.cached_in_tokens, [1] * len(asked)),
            strict=True,
        )
        for number, part, (in_tokens, out_tokens, cached) in zip(asked, parts, shares, strict=True):
            if part is not None:
                completion = replace(
                    whole,
                    raw=part,
                    in_tokens=in_tokens,
                    out_tokens=out_tokens,
                    cached_in_tokens=cached,
                    finish_reason="stop",
                )
                answers[number] = gateway.keep_part(
                    completion, alone[number], purpose="extract", json_mode=True, since=since
                )
        return answers

    @staticmethod
    def _messages(prompt: str) -> list[Message]:
        return [{"role": "user", "content": prompt}]

    def repair(
        self,
        extraction: Extraction,
        statements: Sequence[str],
        text: str,
        *,
        language: str | None,
        title: str,
        gateway: LlmGateway,
        context: ChunkContext = NO_CHUNK_CONTEXT,
        use_cache: bool = True,
    ) -> tuple[Extraction, Completion]:
        """Ask once more about statements that break the ontology.

        Args:
            extraction: what was found in the chunk.
            statements: each with the reason.

        Returns:
            (the entities that were found, and the corrected statements; the completion). If nothing of the
            answer can be read, a `Rejected` of reason `repair_failed` instead of statements.

        Raises:
            LlmError: the call failed.
        """
        assert self._repair is not None  # noqa: S101
        values = {
            "text": fenced(text),
            "title": fenced(" ".join(title.split())),
            "before": fenced(context.preceding.before),
            "ontology": self._shown(text, language),
            "statements": [fenced(" ".join(each.split())) for each in statements],
        }
        prompt = fill_prompt(self._repair, self._folder / REPAIR, values, _REPAIR_VALUES)
        again = Found(entities={match_key(each.name): each for each in extraction.entities})
        answer = gateway.chat(
            [{"role": "user", "content": prompt}],
            purpose="repair",
            json_mode=True,
            model=self._model,
            use_cache=use_cache,
        )
        try:
            again.read(answer.text, text=text, truncated=answer.truncated)
        except LlmError:
            gateway.discard(answer)
            again.reject("repair_failed", answer.text)
        return again.extraction(), answer

    def _read(
        self,
        gathered: Found,
        text: str,
        fill: Callable[..., str],
        ask: Callable[..., Completion],
        discard: Callable[[Completion], None],
        first_answer: Completion | None,
    ) -> tuple[list[Completion], bool]:
        """Ask about one text and add what the answers say; False with them if one was cut off."""
        completions: list[Completion] = []
        for name in self._templates:
            prompt = fill(name, names=[entity.name for entity in gathered.entities.values()])
            messages = self._messages(prompt)
            shared = self._shared(prompt, name)
            answer = first_answer or ask(messages, purpose="extract", shared=shared)
            first_answer = None
            completions.append(answer)
            if answer.truncated:
                return completions, False
            try:
                gathered.read(answer.text, text=text)
            except LlmError:
                discard(answer)
                raise
            if not gathered.size:  # no names, so no relations between them
                break
        for _ in range(self._rounds):
            before = gathered.size
            messages += [
                {"role": "assistant", "content": completions[-1].text},
                {"role": "user", "content": self._glean},
            ]
            answer = ask(messages, purpose="glean", shared=shared)
            completions.append(answer)
            try:
                gathered.read(answer.text, text=text, truncated=answer.truncated)
            except LlmError:  # what the answers before gave still holds
                discard(answer)
                gathered.reject("gleaning_failed", answer.text)
            if gathered.size == before:
                break
        return completions, True

    def _shared(self, prompt: str, name: str, *, several: bool = False) -> int:
        """Characters that a prompt has in common with every prompt of its template."""
        same = self._constant(name, several=several)
        return len(same) if prompt.startswith(same) else 0

    def _constant(self, name: str, *, several: bool) -> str:
        """What every prompt of a template about one chunk, or about several, begins with, in whole lines."""
        if (name, several) not in self._constants:
            context = ChunkContext(columns=("-",), preceding=Context(("-",), "-"))
            views = self._guide.samples() if self._guide else (None, None)
            bare, full = (
                self._fill([passage] * (1 + several), name, names=[passage.text], ontology=view)
                for passage, view in (
                    (Passage("", None, ""), views[0]),
                    (Passage("-", "en", "-", context), views[1]),
                )
            )
            same = commonprefix([bare, full])  # noqa: RUF071 - these are no paths
            self._constants[name, several] = same[: same.rfind("\n") + 1]
        return self._constants[name, several]

    def prompt(
        self, text: str, *, language: str | None, title: str, context: ChunkContext = NO_CHUNK_CONTEXT
    ) -> str:
        """The first prompt for a chunk; tags in it that could end the chunk lose their first bracket."""
        return self.prompt_for([Passage(text, language, title, context)])

    def prompt_for(self, passages: Sequence[Passage]) -> str:
        """The first prompt for one chunk, or for several of one `group` of languages."""
        shown = self._shown(passages[0].text, passages[0].language)
        return self._fill(passages, next(iter(self._templates)), ontology=shown)

    def _shown(self, text: str, language: str | None) -> dict[str, Any] | None:
        """The terms of the ontology for a text; None without an ontology."""
        return self._guide.shown(text, language) if self._guide else None

    def _fill(
        self,
        passages: Sequence[Passage],
        name: str,
        *,
        ontology: dict[str, Any] | None,
        names: Sequence[str] = (),
    ) -> str:
        views = [
            {
                "text": fenced(passage.text),
                "language": passage.language,
                "title": fenced(" ".join(passage.title.split())),
                "columns": [fenced(column) for column in passage.context.columns],
                "headings": [fenced(heading) for heading in passage.context.preceding.headings],
                "before": fenced(passage.context.preceding.before),
            }
            for passage in passages
        ]
        values = {
            **(views[0] if len(views) == 1 else {}),
            "passages": views,
            "language": passages[0].language,
            "entity_types": self._entity_types,
            "tuned": self._tuned,
            "predicates": list(self._predicates.values()),
            "ontology": ontology,
            "names": [fenced(each) for each in names],
        }
        return fill_prompt(self._templates[name], self._folder / name, values, _VALUES)


def _shares(total: int | None, weights: Sequence[float]) -> list[int | None]:
    """A number in whole parts in proportion to weights; the parts have its sum."""
    if total is None:
        return [None] * len(weights)
    whole = sum(weights) or 1
    ends = [round(total * sum(weights[: number + 1]) / whole) for number in range(len(weights))]
    return [end - begin for begin, end in zip([0, *ends], ends, strict=False)]


def _middle(text: str, language: str | None) -> int | None:
    """Where the sentence begins that is next to the middle of a text; None for a text too short to halve."""
    starts = [sentence.offset for sentence in split_sentences(text, language)[1:]]
    if len(text) < _SHORTEST or not starts:
        return None
    return min(starts, key=lambda start: abs(start - len(text) // 2))
