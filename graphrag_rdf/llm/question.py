"""A question to a model about the whole store, with a JSON object as its answer: links, groups of relations,
a draft of an ontology."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from pydantic import BaseModel

from graphrag_rdf.i18n import later, tr
from graphrag_rdf.llm.jsonl import parse_items
from graphrag_rdf.llm.repair import ask_for, in_form

if TYPE_CHECKING:
    from graphrag_rdf.llm.gateway import LlmGateway

A = TypeVar("A", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Question(Generic[A]):
    """What is asked.

    Attributes:
        answer: the form of the answer.
        keys: of which the answer has one at least.
        what: what is asked for, as the model is told; `form`: what a good answer is.
        purpose: in the log of calls.
        hint: a way out for people.
    """

    answer: type[A]
    keys: tuple[str, ...]
    what: str
    form: str
    purpose: str
    hint: str = later("use a model that follows instructions better")

    def ask(self, gateway: LlmGateway, prompt: str, model: str) -> A:
        """Ask the model.

        Raises:
            LlmError: the call failed, or the second answer cannot be read either.
        """
        answer, _ = ask_for(
            gateway,
            prompt,
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
