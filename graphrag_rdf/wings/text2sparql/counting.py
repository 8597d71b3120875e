"""Whether a template of the cookbook answers a question, so that the step `route` can choose it."""

from __future__ import annotations

import re
from dataclasses import replace

from graphrag_rdf.steps.ground import concepts_by_rules
from graphrag_rdf.steps.kinds import check_values
from graphrag_rdf.steps.search import QuestionSearch
from graphrag_rdf.steps.state import Context, State
from graphrag_rdf.trace.recorder import Step
from graphrag_rdf.wings.text2sparql.querying import SIMILARITY, MatchParameters
from graphrag_rdf.wings.text2sparql.schema import recipes_of, vocabulary_of

_SURE = 0.6  # likeness of a question and a template
_PARTICULAR = frozenset({"entity", "subject", "object", "words", "text"})
_COUNTS = re.compile(r"\b(?:COUNT|SUM|MIN|MAX)\s*\(", re.IGNORECASE)


def counting_template(context: Context, state: State, step: Step) -> str | None:
    """The template that fits the whole question, if it counts or is about no entity in particular. Other
    questions are about single facts, which other pipelines find too, with the sentences around them.
    """
    asked = replace(state)
    asked.concepts = concepts_by_rules(context, asked, step)
    parameters = check_values(MatchParameters, step.kind.name, {})
    asked.seeds = QuestionSearch(context, asked, parameters, step, similarity=SIMILARITY).find_seeds()
    vocabulary = vocabulary_of(context, asked, step)
    for match in recipes_of(context, asked, step).matches(state.question, vocabulary)[:1]:
        template = match.recipe.template
        if match.score < _SURE or match.ignored or template is None:
            return None
        particular = bool(_PARTICULAR & match.values.keys())
        return match.recipe.name if not particular or _COUNTS.search(template.body) else None
    return None
