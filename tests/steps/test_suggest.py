"""Questions for one end of a fact."""

from __future__ import annotations

import pytest

from graphrag_rdf.steps.suggest import ask_for_object, ask_for_subject, base_form, is_name


@pytest.mark.parametrize(
    ("relation", "date", "question"),
    [
        ("was born on", True, "When was Ada Orr born?"),
        ("was born in", False, "Where was Ada Orr born?"),
        ("died in", False, "Where did Ada Orr die?"),
        ("sank", True, "When did Ada Orr sink?"),
        ("founded", False, "What did Ada Orr found?"),
        ("belonged to", False, "What did Ada Orr belong to?"),
        ("completed", False, "What was completed by Ada Orr?"),
        ("had ordered", False, "What had Ada Orr ordered?"),
        ("directed by", False, "Who or what was Ada Orr directed by?"),
        ("is", False, "Who or what is Ada Orr?"),
        ("has", False, None),
        ("payee", False, None),
        ("13 weeks ended", False, None),
        ("Net sales", False, None),
    ],
)
def test_for_the_object(relation: str, date: bool, question: str | None) -> None:
    assert ask_for_object("Ada Orr", relation, date=date) == question


@pytest.mark.parametrize(
    ("relation", "question"),
    [
        ("built", "Who or what built Petrel?"),
        ("was named after", "Who or what was named after Petrel?"),
        ("captain of", "Who or what is the captain of Petrel?"),
        ("directed by", "What was directed by Petrel?"),
        ("is", None),
        ("payee", None),
    ],
)
def test_for_the_subject(relation: str, question: str | None) -> None:
    assert ask_for_subject(relation, "Petrel") == question


@pytest.mark.parametrize(
    ("past", "base"),
    [
        ("died", "die"),
        ("married", "marry"),
        ("planned", "plan"),
        ("filled", "fill"),
        ("travelled", "travel"),
        ("created", "create"),
        ("treated", "treat"),
        ("produced", "produce"),
        ("settled", "settle"),
        ("visited", "visit"),
        ("designed", "design"),
        ("wrote", "write"),
        ("edited", None),
        ("payee", None),
    ],
)
def test_base_forms_where_spelling_tells(past: str, base: str | None) -> None:
    assert base_form(past) == base


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("Skell Tidal Power Company", True),
        ("Haymo of Faversham", True),
        ("The Prestige", True),
        ("Petrel", True),
        ("周文英", True),
        ("Loan for the dam", False),
        ("Net sales", False),
        ("hole with 9,000 tonnes of stone", False),
        ("She", False),
        ("1936", False),
        ("Ulta Beauty Announces Fourth Quarter Fiscal 2022 Results", False),
    ],
)
def test_proper_names(label: str, name: bool) -> None:
    assert is_name(label) is name
