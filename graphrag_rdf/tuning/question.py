"""A question to a model about the whole store, with a JSON object as its answer: links, groups of relations,
a draft of an ontology."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel

from graphrag_rdf.i18n import later, tr
from graphrag_rdf.ingest.extractors import prompt_folder
from graphrag_rdf.llm.jsonl import parse_items
from graphrag_rdf.llm.repair import ask_for, in_form
from graphrag_rdf.steps.prompts import render

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine

A = TypeVar("A", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Question(Generic[A]):
    """What is asked.

    Attributes:
        pipeline, prompt: folder and file of the prompt.
        answer: the form of the answer.
        keys: of which the answer has one at least.
        what: what is asked for, as the model is told; `form`: what a good answer is.
        purpose: in the log of calls.
        hint: a way out for people.
    """

    pipeline: str
    prompt: str
    answer: type[A]
    keys: tuple[str, ...]
    what: str
    form: str
    purpose: str
    hint: str = later("use a model that follows instructions better")

    def ask(self, engine: Engine, model: str, **values: Any) -> A:
        """Ask the model.

        Args:
            values: of the prompt.

        Raises:
            LlmError: the call failed, or the second answer cannot be read either.
        """
        folders = (prompt_folder(engine.settings, self.pipeline, self.prompt),)
        answer, _ = ask_for(
            engine.gateway,
            render(folders, self.prompt, **values),
            lambda completion: self.read(completion.text),
            what=self.what,
            form=self.form,
            hint=tr(self.hint),
            purpose=self.purpose,
            model=model,
            json_mode=True,
        )
        return answer

    def read(self, text: str) -> A:
        """The answer in a text.

        Raises:
            ValueError: why there is none, without words of the text.
        """
        objects = [item for item in parse_items(text)[0] if isinstance(item, dict)]
        item = next((each for each in objects if not each.keys().isdisjoint(self.keys)), None)
        if item is None:
            keys = " or ".join(f'"{key}"' for key in self.keys)
            raise ValueError(f"there is no JSON object with {keys}")
        return in_form(self.answer, item)
