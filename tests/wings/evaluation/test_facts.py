"""`eval facts`: facts against labels, and the labelled sample of the project."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from graphrag_rdf.config import Settings
from graphrag_rdf.errors import UsageError
from graphrag_rdf.ingest.extractors import choose_extractor
from graphrag_rdf.ingest.facts import CandidateFilter
from graphrag_rdf.wings.evaluation.facts import Fact, LabelledText, evaluate_facts, judge, load_labelled
from tests.support.stores import open_engine

SAMPLE = Path(__file__).parents[3] / "examples" / "facts.jsonl"


def labelled(**labels: Any) -> LabelledText:
    return LabelledText.model_validate({"id": "1", "kind": "test", "text": "Nothing here.", **labels})


def measured(texts: list[LabelledText]) -> dict[str, Any]:
    """What rules, and recorded models, give."""
    settings = Settings()

    def no_model() -> Any:
        raise AssertionError

    return evaluate_facts(
        texts,
        choose_extractor(settings, no_model, open_engine(":memory:", config=settings).store),
        CandidateFilter(settings.extract.entity_min_length),
    )["runs"]  # type: ignore[no-any-return]


@cache
def sample() -> dict[str, Any]:
    return measured(load_labelled(SAMPLE))["rules"]  # type: ignore[no-any-return]


BUILT = ("Ada Venn", "built", "Orrin Bridge")


@pytest.mark.parametrize(
    "fact",
    [
        ("Ada Venn", "has built", "the Orrin Bridge"),
        ("ada venn", "built", "Orrin bridge"),
        ("Orrin Bridge", "was built by", "Ada Venn"),
        ("Orrin_Bridge", "BUILT_BY", "Ada Venn"),
    ],
)
def test_the_same_fact_in_other_words_is_right(fact: Fact) -> None:
    found = judge(labelled(must=[BUILT]), [fact])
    assert (found.right, found.missed) == ([fact], [])


@pytest.mark.parametrize(
    "fact",
    [
        ("Orrin Bridge", "built", "Ada Venn"),
        ("Ada Venn", "was built by", "Orrin Bridge"),
        ("Ada Venn", "did not build", "Orrin Bridge"),
        ("Ada Venn", "may have built", "Orrin Bridge"),
        ("Ada Venn", "built", "no Orrin Bridge"),
        ("Ada Venn", "built for", "Orrin Bridge"),
        ("Venn", "built", "Orrin Bridge"),
        ("Ada Venn", "is", "Orrin Bridge"),
    ],
)
def test_another_fact_is_wrong(fact: Fact) -> None:
    found = judge(labelled(must=[BUILT]), [fact])
    assert (found.right, found.unlisted, found.missed) == ([], [fact], [BUILT])


def test_being_is_not_having_and_roles_have_a_direction() -> None:
    capital = labelled(may=[("Tarnow", "capital of", "Orsa"), ("Orsa", "has", "capital")])
    facts = [
        ("Orsa", "capital of", "Tarnow"),
        ("Orsa", "is", "capital"),
        ("Tarnow", "is the capital of", "Orsa"),
    ]
    assert judge(capital, facts).unlisted == facts[:2]


def test_the_german_passive_with_its_actor_is_the_active() -> None:
    text = labelled(
        must=[("Reiß", "erbaute|erbaut", "Schloss")], may=[("Bern", "Hauptstadt von", "Orsa")], language="de"
    )
    found = judge(text, [("Schloss", "wurde erbaut von", "Reiß"), ("Orsa", "Hauptstadt von", "Bern")])
    assert (len(found.right), len(found.unlisted)) == (1, 1)


def test_one_of_several_facts_is_enough_and_a_fact_counts_once() -> None:
    either = [["Ada", "sold", "car"], ["Ada", "sold car to", "Finn"]]
    found = judge(
        labelled(must=[either], may=[("Ada", "sold car to", "Finn")]), [("Ada", "sold car to", "Finn")]
    )
    assert (found.required, found.missed, len(found.right)) == (1, [], 1)
    assert len(judge(labelled(must=[BUILT]), [BUILT, ("Ada Venn", "built", "the Orrin Bridge")]).right) == 1


def test_a_fact_that_must_not_come_out_is_forbidden() -> None:
    found = judge(labelled(must_not=[("Ada", "built|designed", "bridge")]), [("Ada", "designed", "a bridge")])
    assert found.forbidden == [("Ada", "designed", "a bridge")]
    assert found.unlisted == []


def test_recorded_facts_of_a_model_are_a_run_of_their_own() -> None:
    recorded = [BUILT, ("Ada Venn", "has lived in", "Kelm"), ("Kelm", "is", "place")]
    read = labelled(
        text="Ada Venn did not build Orrin Bridge. Ada Venn lived in Kelm.",
        traits=["negated"],
        must=[("Ada Venn", "lived in", "Kelm")],
        must_not=[BUILT],
        recorded={"some-model": recorded},
    )
    runs = measured([read, labelled(must=[("No", "such", "fact")])])
    model = runs["some-model"]
    assert (model["texts"], model["facts"], model["forbidden"], model["unlisted"]) == (1, 3, 1, 1)
    assert (model["precision"], model["recall"]) == (pytest.approx(1 / 3, abs=1e-4), 1.0)
    assert model["traits"]["negated"] == {
        k: v for k, v in model.items() if k not in ("kinds", "traits", "faults")
    }
    assert runs["rules"]["texts"] == 2
    assert runs["rules"]["recall"] == 0.5


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"id": "x", "kind": "a"}', "line 1: text: it is missing"),
        ('{"id": "x", "kind": "a", "text": "b", "must": [["s", "p"]]}', "line 1: must"),
        ('{"id": "x", "kind": "a", "text": "b", "wanted": []}', "line 1: wanted: unknown key"),
        (
            '{"id": "x", "kind": "a", "text": "b", "may": [["s", "built", "o"]], '
            '"must_not": [["o", "was built by", "s"]]}',
            "line 1: x: o | was built by | s is in must_not, and in must or may",
        ),
    ],
)
def test_a_malformed_line_is_an_error(tmp_path: Path, line: str, told: str) -> None:
    path = tmp_path / "facts.jsonl"
    path.write_text(line)
    with pytest.raises(UsageError) as raised:
        load_labelled(path)
    assert told in raised.value.message


# --- the sample ---------------------------------------------------------------------------------------


def test_the_sample_has_many_kinds_of_text() -> None:
    texts = load_labelled(SAMPLE)
    assert len({text.id for text in texts}) == len({text.text for text in texts}) == len(texts) >= 120
    assert min(Counter(text.kind for text in texts).values()) >= 15
    traits = Counter(trait for text in texts for trait in text.traits)
    assert min(traits[trait] for trait in ("negated", "hedged", "reported", "conditional", "passive")) >= 8
    assert traits.keys() >= {"question", "pronoun", "abbreviation", "apposition"}


def test_rules_are_right_about_the_sample() -> None:
    """Measured: precision .98, recall .75, none forbidden. Raise the floors with the figures."""
    found = sample()
    assert found["precision"] >= 0.93
    assert found["recall"] >= 0.65
    assert found["forbidden"] == 0
