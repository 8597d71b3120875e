"""The parameters that each kind of step reads, and what they may be.

A pipeline.yaml gives every one of them a value; what is missing, unknown or meaningless is refused
before anything runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from graphrag_rdf.errors import ConfigError

Value: TypeAlias = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Kind:
    """What values a parameter takes.

    Attributes:
        type: int takes whole numbers, float any number.
        least, most: of numbers, both included.
        choices: of texts, where there are only so many.
    """

    type: type[Value]
    name: str
    least: float = 0
    most: float = 0
    choices: tuple[str, ...] = ()

    def read(self, text: str) -> Value:
        """A value written as text, e.g. on the command line.

        Raises:
            ValueError: when the text is not of the type; the range is not looked at.
        """
        if self.type is bool:
            if text.lower() not in ("true", "false"):
                raise ValueError(text)
            return text.lower() == "true"
        return self.type(text)

    def takes(self, value: Value) -> bool:
        """Whether a value is of the type and in the range."""
        if self.type in (bool, str):
            return isinstance(value, self.type) and (not self.choices or value in self.choices)
        if isinstance(value, bool | str) or (self.type is int and not isinstance(value, int)):
            return False
        return math.isfinite(value) and self.least <= value <= self.most

    def __str__(self) -> str:
        if self.type in (bool, str):
            return self.name
        return f"{self.name} from {self.least:g} to {self.most:g}"


LIMIT = Kind(int, "a whole number", 0, 1e6)
SOME = Kind(int, "a whole number", 1, 1e6)
FEW = Kind(int, "a whole number", 0, 10)
HOPS = Kind(int, "a whole number", 0, 20)
SHARE = Kind(float, "a number", 0, 1)
WEIGHT = Kind(float, "a number", 0, 1000)
TEXT = Kind(str, "a text")
FLAG = Kind(bool, "true or false")


def one_of(*choices: str) -> Kind:
    """A text out of a few."""
    return Kind(str, f"one of {', '.join(choices)}", choices=choices)


PARAMETERS: Mapping[str, Mapping[str, Kind]] = {
    "ground": {"max_concepts": SOME},
    "explore": {
        "entity_limit": SOME,
        "seeds_per_concept": SOME,
        "triple_limit": SOME,
        "max_path_length": HOPS,
        "frontier_limit": SOME,
        "edge_limit": LIMIT,
        "max_reranker_input": SOME,
        "sentence_limit": LIMIT,
        "min_similarity": SHARE,
        "lexical_weight": WEIGHT,
        "vector_weight": WEIGHT,
        "graph_weight": WEIGHT,
        "rounds": HOPS,
        "threshold": SHARE,
        "hub_limit": SOME,
        "synonym_weight": SHARE,
        "passages": SOME,
        "passage_limit": SOME,
        "passage_entities": WEIGHT,
        "passage_carrier": WEIGHT,
        "passage_words": WEIGHT,
        "passage_meaning": WEIGHT,
        "passage_further": SHARE,
        "rerank_weight": SHARE,
        "rerank_limit": SOME,
        "relation_hops": HOPS,
        "relation_origins": SOME,
        "fallback_confidence": SHARE,
        "weight_vector": WEIGHT,
        "weight_words": WEIGHT,
        "weight_activation": WEIGHT,
        "weight_degree": WEIGHT,
        "weight_relates": WEIGHT,
        "weight_cooccurs": WEIGHT,
        "weight_causes": WEIGHT,
        "weight_supports": WEIGHT,
        "weight_references": WEIGHT,
        "weight_substep_of": WEIGHT,
        "weight_follows": WEIGHT,
        "weight_part_of": WEIGHT,
        "weight_contrasts": WEIGHT,
        "weight_related_to": WEIGHT,
        "considered_limit": LIMIT,
    },
    "focus": {
        "chunk_limit": LIMIT,
        "chunk_tokens": LIMIT,
        "window_tokens": SOME,
        "edge_limit": LIMIT,
        "sentence_limit": LIMIT,
        "offered_limit": LIMIT,
        "lookups": FEW,
        "lookup_tokens": SOME,
        "min_score": SHARE,
        "min_share": SHARE,
        "filter": one_of("none", "llm", "rerank"),
        "filter_limit": LIMIT,
        "filter_min_score": SHARE,
        "rerank_weight": SHARE,
        "rerank_limit": SOME,
    },
    "synthesise": {
        "max_sentences": SOME,
        "min_share": SHARE,
        "min_margin": SHARE,
        "evidence_tokens": SOME,
        "unchosen_tokens": LIMIT,
        "response_type": TEXT,
        "allow_general_knowledge": FLAG,
        "repair": FLAG,
        "suggestions": FEW,
    },
}
"""Kind of step → parameter → what it takes."""


FOR_A_MODEL: Mapping[str, frozenset[str]] = {
    "synthesise": frozenset(
        {"evidence_tokens", "unchosen_tokens", "response_type", "allow_general_knowledge", "repair"}
    ),
}
"""Kind of step → parameters that only its way by a model, `llm`, follows."""


def check_parameters(step: str, name: str, values: Mapping[str, Value]) -> None:
    """See that a step's parameters are those that it reads, with values that mean something.

    Args:
        step: the kind of step, a key of `PARAMETERS`.
        name: of the step, for the message.

    Raises:
        ConfigError: naming the parameter and what it takes.
    """
    kinds = PARAMETERS[step]
    for parameter in (*kinds, *values):
        if parameter not in kinds:
            raise ConfigError(
                f"step {name} has no parameter {parameter!r}", hint=f"it has: {', '.join(['use', *kinds])}"
            )
        if parameter not in values:
            raise ConfigError(f"step {name} lacks the parameter {parameter!r}", hint="give it a value")
        if not kinds[parameter].takes(values[parameter]):
            raise ConfigError(f"{name}.{parameter}: {values[parameter]!r} is not {kinds[parameter]}")
