"""Quotes that do not state what a model read in them."""

import pytest

from graphrag_rdf.extract.modality import doubt_of_quote


@pytest.mark.parametrize(
    ("quote", "predicate", "target", "reason"),
    [
        ("Children under 12 must not take Ferrimol.", "take", "Ferrimol", "negated"),
        ("She never sold the mill.", "sold", "Lindow Mill", "negated"),
        ("It doesn't contain nuts.", "contains", "nuts", "negated"),
        ("The firm does not expect to pay a dividend.", "expects to pay", "dividend", "negated"),
        ("He did not join Acme; he joined Borea in 1920.", "joined", "Acme", "negated"),
        ("She worked for Orr, but not for Hale.", "worked for", "Hale", "negated"),
        ("Das Werk baute nie Taschenuhren, sondern Wecker.", "baute", "Taschenuhren", "negated"),
        ("Das Werk baute keine Taschenuhren.", "baute", "Taschenuhren", "negated"),
        ("该桥现在不允许汽车通行。", "允许汽车通行", "是", "negated"),
        ("She might come to your party.", "comes to", "party", "hedged"),
        ("Heute soll dort ein Archiv entstehen.", "ist", "Archiv", "hedged"),
        ("这座桥可能建于明代。", "建于", "明代", "hedged"),
        ("Do you still work for Halden Press?", "works for", "Halden Press", "question"),
        ("他是谁的老师？", "是", "老师", "question"),
    ],
)
def test_a_quote_that_denies_supposes_or_asks(quote: str, predicate: str, target: str, reason: str) -> None:
    assert doubt_of_quote(quote, predicate, target) == reason


@pytest.mark.parametrize(
    ("quote", "predicate", "target"),
    [
        ("He did not join Acme; he joined Borea in 1920.", "joined", "Borea"),
        ("He did not marry and moved to Leeds.", "moved to", "Leeds"),
        ("She worked for Orr, but not for Hale.", "worked for", "Orr"),
        ("She wrote not only novels but plays.", "wrote", "novels"),
        ("The mill did not open until 1920.", "opened in", "1920"),
        ("The dose must not exceed 40 mg.", "maximum dose", "40 mg"),
        ("It does not contain lactose.", "is free of", "lactose"),
        ("Das Werk baute nie Taschenuhren, sondern Wecker.", "baute", "Wecker"),
        ("Ferrimol may cause dizziness.", "may cause", "dizziness"),
        ("The bridge opened in May 1902.", "opened in", "May 1902"),
        ("No. 5 was built by Orr.", "was built by", "Orr"),
        ("相传桥下有古剑,但没有证据。", "建造", "古剑"),
        ("", "founded", "Lindow Mill"),
    ],
)
def test_a_quote_that_states_it(quote: str, predicate: str, target: str) -> None:
    assert doubt_of_quote(quote, predicate, target) == ""
