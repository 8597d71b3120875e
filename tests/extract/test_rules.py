"""What the rules read out of sentences."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_rdf.documents.sentences import split_sentences
from graphrag_rdf.extract.lexicon import lexicon
from graphrag_rdf.extract.model import Extraction
from graphrag_rdf.extract.names import RuleSettings
from graphrag_rdf.wings.rules.extractor import RuleExtractor

RULES = RuleExtractor()


def extract(
    text: str,
    language: str | None = "en",
    *,
    title: str | None = None,
    topic: str | None = None,
    names: dict[str, str] | None = None,
    rules: RuleExtractor = RULES,
) -> Extraction:
    sentences = split_sentences(text, language)
    return rules.extract(text, sentences, language=language, title=title, topic=topic, names=names)


def facts(text: str, language: str = "en", topic: str | None = None) -> list[str]:
    found = extract(text, language, topic=topic).relations
    return [f"{fact.subject} | {fact.predicate} | {fact.object}" for fact in found]


# (sentence, facts that must be read, in any order, and no others)
EXACT = [
    ("Ada Venn built Orrin Bridge.", ["Ada Venn | built | Orrin Bridge"]),
    (
        "Ada Venn was born in Kelm in 1871 and worked for Orrin Ltd.",
        [
            "Ada Venn | was born in | Kelm",
            "Ada Venn | was born in | 1871",
            "Ada Venn | worked for | Orrin Ltd",
        ],
    ),
    (
        "Ada Venn and Bob Hale founded Orrin Ltd in 1902.",
        [
            "Ada Venn | founded | Orrin Ltd",
            "Bob Hale | founded | Orrin Ltd",
        ],
    ),
    (
        "Ada Venn, the chief engineer of Orrin Ltd, lived in Kelm.",
        ["Ada Venn | lived in | Kelm"],
    ),
    ("Paris is the capital of France.", ["Paris | capital of | France"]),
    ("The capital of France is Paris.", ["Paris | capital of | France"]),
    ("France's capital is Paris.", ["Paris | capital of | France"]),
    ("Kelm is a village in Kent.", ["Kelm | is | village", "Kelm | village in | Kent"]),
    ("Kelm has a population of 1,234.", ["Kelm | has | population of 1,234"]),
    (
        "Orrin's director Bob Hale lived in Kelm.",
        ["Bob Hale | lived in | Kelm"],
    ),
    (
        "The bridge, which was opened by King Olaf, is a work of Ada Venn.",
        [],  # which bridge?
    ),
    (
        "Orrin Bridge, which was opened by King Olaf in 1902, crosses the River Orrin.",
        ["Orrin Bridge | crosses | River Orrin"],
    ),
    (
        "Founded in 1879, the Crandon Institute is a school in Uruguay.",
        [
            "Crandon Institute | is | school",
            "Crandon Institute | school in | Uruguay",
        ],
    ),
    (
        "Demon Dice is a dice game created by Lester Smith and Tim Brown.",
        ["Demon Dice | is | dice game"],
    ),
    (
        "Ada Venn is the daughter of Olaf Venn and Una Hale.",
        ["Ada Venn | daughter of | Olaf Venn", "Ada Venn | daughter of | Una Hale"],
    ),
    (
        "Orrin Bridge is named after Bob Hale, the founder of Orrin Ltd and Kelm Works.",
        ["Orrin Bridge | is named after | Bob Hale"],
    ),
    ("Ada Venn was the former mayor of Kelm.", ["Ada Venn | former mayor of | Kelm"]),
    (
        "Ada Venn filed a suit against Orrin Ltd.",
        ["Ada Venn | filed | suit against Orrin Ltd"],
    ),
    # where the order is not plain, the rest gives nothing
    ("Drawing on work in design, science and trade, our staff are growing.", []),
    ("Ada Venn took the risk that Orrin Ltd fell.", []),
    ("I met you in Kelm.", []),
    (
        "Counting Crows is an American rock band from Berkeley, California, formed in 1991.",
        [
            "Counting Crows | is | American rock band",
            "Counting Crows | rock band from | Berkeley",
        ],
    ),
    # things that a name owns, and kinds of things
    (
        "The mill of Orrin was built in 1873 by Ada Bell.",
        ["mill of Orrin | was built in | 1873", "mill of Orrin | was built by | Ada Bell"],
    ),
    ("Orrin's mill burned down in 1902.", ["Orrin's mill | burned down in | 1902"]),
    ("The bridge in Kelm crosses the River Orrin.", ["bridge in Kelm | crosses | River Orrin"]),
    ("The pancreas produces insulin.", ["pancreas | produces | insulin"]),
    ("Water boils at 100 degrees Celsius.", ["water | boils at | 100 degrees Celsius"]),
    ("The cost of repairs includes wages.", ["cost of repairs | includes | wages"]),
    ("This mill produces flour.", []),
    ("The mill produced flour.", []),
    ("The winner is Ada Venn's mill.", []),
    ("The second gate leads to Kelm.", []),
    ("The cost of these repairs includes wages.", []),
    # what is given, and to whom
    ("Ada gave Tom the key.", ["Ada | gave to | Tom", "Ada | gave | key"]),
    (
        "Orrin Works paid Voss & Sons 12,400 crowns.",
        ["Orrin Works | paid to | Voss & Sons", "Orrin Works | paid | 12,400 crowns"],
    ),
    (
        "Orrin Works paid Voss & Sons 12 crowns.",
        ["Orrin Works | paid to | Voss & Sons", "Orrin Works | paid | 12 crowns"],
    ),
    ("Ada Venn gave Tom Hask $1,500.", ["Ada Venn | gave to | Tom Hask", "Ada Venn | gave | $1,500"]),
    (
        "Ada Venn sold Tom Hask 1,200.50 shares.",
        ["Ada Venn | sold to | Tom Hask", "Ada Venn | sold | 1,200.50 shares"],
    ),
    ("Ada Venn sold the mill to Tom Hask.", ["Ada Venn | sold to | Tom Hask", "Ada Venn | sold | mill"]),
    ("Orrin Works uses a crane to lift stones.", ["Orrin Works | uses | crane"]),
    ("Ada Venn has the right to vote.", []),
    ("Ada Venn is famous for Orrin Bridge.", ["Ada Venn | is famous for | Orrin Bridge"]),
]


@pytest.mark.parametrize(("text", "expected"), EXACT, ids=[text[:40] for text, _ in EXACT])
def test_english(text: str, expected: list[str]) -> None:
    assert sorted(fact.casefold() for fact in facts(text)) == sorted(fact.casefold() for fact in expected)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Surgery is not an option.", "negated"),
        ("Ada Venn did not build Orrin Bridge.", "negated"),
        ("Ada Venn never lived in Kelm.", "negated"),
        ("Ada Venn had no children.", "negated"),
        ("Ada Venn may have built Orrin Bridge.", "hedged"),
        ("Ada Venn is expected to build Orrin Bridge.", "hedged"),
        ("Ada Venn will build Orrin Bridge.", "hedged"),
        ("Ada Venn probably built Orrin Bridge.", "hedged"),
        ("Ada Venn builds Orrin Bridge if Bob Hale pays.", "conditional"),
        ("When Ada Venn built Orrin Bridge, Kelm grew.", "conditional"),
        ("Ada Venn built Orrin Bridge, Bob Hale said.", "reported"),
        ("According to Bob Hale, Ada Venn built Orrin Bridge.", "reported"),
        ("It is told that Ada Venn built Orrin Bridge.", "reported"),
        ("“Ada Venn built Orrin Bridge and then she left for Narne,” he wrote.", "reported"),
        ("Ada Venn built Orrin Bridge?", "question"),
    ],
)
def test_what_is_not_asserted_is_rejected_with_the_reason(text: str, reason: str) -> None:
    found = extract(text)
    assert found.relations == ()
    assert reason in {rejected.reason for rejected in found.rejected}


def test_what_people_say_in_a_story_is_reported() -> None:
    text = "'Ada Venn built Orrin Bridge. Bob Hale lives in Kelm,' said the mayor. Una Moor left Kelm."
    assert facts(text) == ["Una Moor | left | Kelm"]
    assert facts("Ada Venn's brother crossed Orrin Bridge. Bob Hale lived in Kelm.") != []


# (text of several sentences, a fact that rests on who is meant)
REFERENCES = [
    ("Ada Venn lived in Kelm. She founded Orrin Ltd.", "Ada Venn | founded | Orrin Ltd"),
    ("Ada Venn lived in Kelm. Venn founded Orrin Ltd.", "Ada Venn | founded | Orrin Ltd"),
    ("Kelm is a village. It has a population of 12.", "Kelm | has | population of 12"),
    ("Orrin Ltd is a company. The company built Long Bridge.", "Orrin Ltd | built | Long Bridge"),
    ("Ada Venn lived in Kelm. Her brother taught in Narne.", "Ada Venn's brother | taught in | Narne"),
]


@pytest.mark.parametrize(("text", "expected"), REFERENCES, ids=[text for text, _ in REFERENCES])
def test_references(text: str, expected: str) -> None:
    assert expected in facts(text)


def test_names_with_an_article_are_no_people() -> None:
    assert "Ada Venn | wrote | letters" in facts(
        "Ada Venn copied the Tide Register. The Tide Register fills volumes. She wrote letters."
    )


@pytest.mark.parametrize(
    "text",
    [
        "Ada Venn met Una Moor. She lived in Kelm.",
        "Kelm saw Bob. He opened Orrin Bridge, and she left. Bob paid. She lived in Kelm.",
        "Orrin Ltd built Long Bridge and Kelm Works. They opened Narne Hall.",
    ],
)
def test_a_pronoun_that_may_mean_several_means_nobody(text: str) -> None:
    assert "lived in" not in str(facts(text))
    assert "opened | Narne Hall" not in str(facts(text))


def test_a_leading_he_is_the_person_that_the_text_is_about() -> None:
    text = "Bob Hale taught in Narne with Olaf Moor and Jan Orr. He died in Kelm."
    assert "Bob Hale | died in | Kelm" in facts(text, topic="Bob Hale")
    assert "died in" not in str(facts(text))


def test_first_words_of_sentences_are_no_names() -> None:
    found = extract("Staying warm helps. Glad to hear that! Hey Una, Kelm is cold. Check the Orrin Valley.")
    assert [mention.name for mention in found.mentions] == ["Una", "Kelm", "Orrin Valley"]


def test_it_is_what_the_sentence_before_brought_in() -> None:
    assert "Orrin Hall | was opened in | 1936" not in facts(
        "Orrin Hall holds a blue book. It was opened in 1936."
    )
    assert "Orrin Hall | was opened in | 1936" in facts("Orrin Hall is a museum. It was opened in 1936.")


def test_a_heading_that_is_a_name_is_what_a_pronoun_after_it_means() -> None:
    """Not who was spoken of before it; other headings lead nowhere."""
    before = "The mayor was Friedrich Ohm. Friedrich Ohm founded the fire brigade.\n\n"
    for heading in ("Agathe Hollerbach", "## Agathe Hollerbach"):
        found = facts(f"{before}{heading}\n\nShe died in Korbach. Agathe Hollerbach liked beer.")
        assert "Agathe Hollerbach | died in | Korbach" in found
    found = facts(f"{before}## Later years\n\nHe died in Korbach.")
    assert "Friedrich Ohm | died in | Korbach" in found


def test_it_after_something_new_means_nobody_from_before() -> None:
    text = "Orrin Works is a company. Orrin Works built a generator. It lit the quay of Kelm."
    assert not any("lit" in fact for fact in facts(text))


def test_a_title_is_no_he() -> None:
    """What the nearest sentence does not tell stays open."""
    text = "Journal of Yusuf Demir\n\nOn 19 August it rained in my arms. He asked for Elinor Finch."
    assert facts(text, topic="Journal of Yusuf Demir") == []


def test_the_topic_stands_in_for_a_pronoun() -> None:
    assert facts("It was founded in 1902.", topic="Orrin Ltd") == ["Orrin Ltd | was founded in | 1902"]
    assert facts("The film was released in 1902.", topic="Kelm (film)") == ["Kelm | was released in | 1902"]
    assert facts("It was founded in 1902.", topic="notes.txt") == []
    assert facts("It was founded in 1902.") == []


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        (
            "de",
            "Ada Venn, die Chefingenieurin der Orrin GmbH, wurde 1871 in Kelm geboren.",
            [
                "Ada Venn | wurde geboren im Jahr | 1871",
                "Ada Venn | wurde geboren in | Kelm",
            ],
        ),
        ("de", "Bern ist die Hauptstadt der Schweiz.", ["Bern | Hauptstadt von | Schweiz"]),
        ("de", "Herr Ahlers wurde in Bern geboren.", ["Ahlers | wurde geboren in | Bern"]),
        ("de", "Frau Peters gründete die Orrin GmbH.", ["Peters | gründete | Orrin GmbH"]),
        (
            "de",
            "Ada Venn gründete die Kelmer Brückenbau GmbH.",
            ["Ada Venn | gründete | Kelmer Brückenbau GmbH"],
        ),
        ("nl", "Amsterdam is de hoofdstad van Nederland.", ["Amsterdam | hoofdstad van | Nederland"]),
        (
            "nl",
            "Ada Venn stichtte het Kelm Instituut in 1902.",
            ["Ada Venn | stichtte | Kelm Instituut"],
        ),
    ],
)
def test_german_and_dutch(language: str, text: str, expected: list[str]) -> None:
    found = facts(text, language)
    assert [fact for fact in expected if fact not in found] == []


@pytest.mark.parametrize(
    ("language", "text", "dates"),
    [
        ("en", "Ada Venn founded Orrin Ltd in 1902.", "at 1902"),
        ("en", "Ada Venn was the mayor of Kelm from 1902 to May 1911.", "from 1902 to 1911-05"),
        ("en", "Ada Venn is the mayor of Kelm since 3 May 1902.", "from 1902-05-03"),
        ("en", "The mayor of Kelm was Ada Venn until 1911.", "to 1911"),
        ("en", "Orrin Ltd had a revenue of $4.2 million in 1902.", "at 1902"),
        ("en", "Tom Hask has owned the mill since 1901.", "from 1901"),
        ("en", "Orrin Ltd bought the mill for $3 million in 1902.", "amount $3 million at 1902"),
        ("en", "Ada Venn founded Orrin Ltd.", ""),
        ("de", "Ada Venn gründete 1902 die Orrin GmbH.", "at 1902"),
        ("nl", "Ada Venn stichtte het Kelm Instituut in 1902.", "at 1902"),
        ("en", "From 1902 to 1911 Ada Venn was the mayor of Kelm.", "from 1902 to 1911"),
        ("de", "Ada Venn war von 1902 bis 1911 Bürgermeisterin von Kelm.", "from 1902 to 1911"),
        ("de", "Ada Venn war Bürgermeisterin von Kelm von 1902 bis 1911.", "from 1902 to 1911"),
        ("de", "Ada Venn ist seit dem 3. Mai 1902 Bürgermeisterin von Kelm.", "from 1902-05-03"),
        (
            "de",
            "Ada Venn war vom 3. Mai 1902 bis zum 4. Juni 1911 Rektorin von Kelm.",
            "from 1902-05-03 to 1911-06-04",
        ),
        ("de", "Ada Venn gründete im Jahr 1902 die Orrin GmbH.", "at 1902"),
        ("de", "Ada Venn wurde 1902 Bürgermeisterin von Kelm.", "at 1902"),
    ],
)
def test_a_date_or_sum_beside_an_object_qualifies_the_fact(language: str, text: str, dates: str) -> None:
    (fact,) = extract(text, language).relations
    assert " ".join(f"{name} {lexical}" for name, lexical, _ in fact.qualifiers) == dates
    assert not any(char.isdigit() for char in fact.object) or fact.object == "revenue of $4.2 million"
    assert not any(char.isdigit() for char in fact.predicate)


@pytest.mark.parametrize("text", ["Der Bericht von 2008 liegt in Kelm.", "Es waren 2015 Gäste in Kelm."])
def test_a_number_before_a_noun_is_no_date(text: str) -> None:
    assert all(not fact.qualifiers for fact in extract(text, "de").relations)


def test_types_and_aliases() -> None:
    text = (
        "The European Space Agency (ESA) hired Captain Olaf Orrin. Kelm is a village in Kent. "
        "Ada Venn (1871–1930), also known as Bridge Ada, was a Scottish engineer."
    )
    found = {entity.name: entity for entity in extract(text).entities}
    assert found["European Space Agency"].type == "Organisation"
    assert found["European Space Agency"].aliases == ("ESA",)
    assert found["Captain Olaf Orrin"].type == "Person"
    assert (found["Kelm"].type, found["Kelm"].definition) == ("Place", None)  # a fact says so
    assert found["Ada Venn"].type == "Person"


def test_lives_in_brackets() -> None:
    found = facts("Ada Venn (1871–1930) was an engineer. Bob Hale (born 3 May 1880) was a painter.")
    assert {
        "Ada Venn | was born in | 1871",
        "Ada Venn | died in | 1930",
        "Bob Hale | was born on | 1880-05-03",
    } <= set(found)


def test_the_years_of_a_war_are_no_life() -> None:
    assert facts("The Orrin War (1871–1875) was a war between Kelm and Narne.")[:1] == [
        "Orrin War | is | war"
    ]
    assert not any("born" in fact for fact in facts("The Orrin War (1871–1875) was a war."))


def test_literals_are_typed() -> None:
    relation = extract("Ada Venn was born on 3 May 1871.").relations[0]
    assert (relation.object, relation.datatype) == ("1871-05-03", "http://www.w3.org/2001/XMLSchema#date")
    assert not relation.object_is_entity


def test_evidence_is_the_sentence() -> None:
    text = "Nothing here. Ada Venn built Orrin Bridge."
    relation = extract(text).relations[0]
    assert relation.span is not None
    offset, length = relation.span
    assert text[offset : offset + length] == relation.quote == "Ada Venn built Orrin Bridge."
    assert relation.confidence is not None
    assert 0.4 <= relation.confidence <= 0.9


def test_synonyms_give_the_canonical_name() -> None:
    found = extract("A. Venn built Orrin Bridge.", names={"A. Venn": "Ada Venn"})
    assert found.relations[0].subject == "Ada Venn"
    assert found.mentions[0].name == "Ada Venn"
    assert next(entity for entity in found.entities if entity.name == "Ada Venn").aliases == ("A. Venn",)


def test_what_is_left_out_is_told() -> None:
    reasons = {rejected.reason for rejected in extract("They built it. The company moved to Kelm.").rejected}
    assert reasons == {"pronoun_object", "unresolved_description"} or "unresolved_pronoun" in reasons


def test_a_language_without_grammar_gives_names_and_a_warning() -> None:
    found = extract("Ada Venn est née à Kelm en 1871.", "fr")
    assert [mention.name for mention in found.mentions] == ["Ada Venn", "Kelm"]
    assert found.relations == ()
    assert found.language_warning is not None
    assert "no grammar" in found.language_warning
    assert "'fr'" in found.language_warning


def test_settings() -> None:
    text = "Kelm is a village in Kent. Ada Venn was an engineer in Kelm."
    typed = extract(text, rules=RuleExtractor(RuleSettings(entity_types=("person",))))
    assert {entity.name: entity.type for entity in typed.entities}["Ada Venn"] == "person"
    assert {entity.name: entity.type for entity in typed.entities}["Kelm"] is None
    assert len(extract(text, rules=RuleExtractor(RuleSettings(max_facts=1))).relations) == 1
    assert extract(text, rules=RuleExtractor(RuleSettings(min_confidence=0.95))).relations == ()


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=200), st.sampled_from(["en", "de", "nl", "ja", None]))
def test_any_text_gives_valid_spans_and_always_the_same(text: str, language: str | None) -> None:
    found = extract(text, language, title=text[:10])
    check_spans(found, text)
    assert extract(text, language, title=text[:10]) == found


ROW = """Ada Venn the a of bridge built was is and , . ( )
who which in 1871 she it Kelm's not to Orrin said “ ” ' - Dr. U.S. 3.5% € Nº ’s"""
WORDS = st.sampled_from(ROW.split())
LANGUAGES = ("en", "de", "nl")
GRAMMAR = {
    language: [*sorted(lexicon(language).words), *sorted(map(" ".join, lexicon(language).compounds)) * 5]
    for language in LANGUAGES
}


def rows_of_words(language: str) -> st.SearchStrategy[tuple[str, list[str]]]:
    """A language with some of its function words among names, marks and numbers, in any order."""
    words = st.one_of(WORDS, st.sampled_from(GRAMMAR[language]))
    return st.tuples(st.just(language), st.lists(words, max_size=40))


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(LANGUAGES).flatmap(rows_of_words))
def test_any_row_of_words_gives_valid_spans(row: tuple[str, list[str]]) -> None:
    """Grammar meets every order of words."""
    language, words = row
    text = " ".join(words)
    check_spans(extract(text, language), text)


# texts at which the reading by rules once failed
AWKWARD = [
    ("en", "The plan was drawn according to"),
    ("en", "Ada Venn spoke on behalf of"),
]


@pytest.mark.parametrize(("language", "text"), AWKWARD)
def test_awkward_texts(language: str, text: str) -> None:
    check_spans(extract(text, language), text)


def check_spans(found: Extraction, text: str) -> None:
    for relation in found.relations:
        assert relation.span is not None
        offset, length = relation.span
        assert text[offset : offset + length] == relation.quote
        assert relation.subject.strip()
        assert relation.predicate.strip()
        assert relation.object.strip()
    for entity in found.entities:
        if entity.span:
            assert 0 <= entity.span[0] < sum(entity.span) <= len(text)
    for mention in found.mentions:
        assert 0 <= mention.offset < mention.offset + mention.length <= len(text)


@pytest.mark.parametrize(
    "text",
    [
        "Orrin Works entered into three- and five-year agreements.",
        "Components of Ada Venn's Wall reach Kelm.",
        "The speed of Kelm Mill is 3600 revolutions per minute.",
        "The margin of Orrin Works ranges from 2% to 5%.",
        "Ada Venn painted a picture of this event.",
        "Orrin Works received $134 million, $114 million and $30 million.",
        "Orrin Works has fares approved by the council.",
        "Orrin Works invests in our business.",
        "Cash flows from sales rose in 1902.",
        "Harbour Safety Rules.",
        "In the event Orrin Works builds it, Kelm pays.",
    ],
)
def test_no_fact_of_a_part_of_a_phrase(text: str) -> None:
    assert facts(text) == []


def test_an_amount_of_something_of_a_name() -> None:
    assert facts("The population of Kelm was 1,200.") == ["population of Kelm | was | 1200"]


@pytest.mark.parametrize("object_", ["$14 million in fares", "costs related to the new ferry"])
def test_an_object_has_what_leads_on_from_it(object_: str) -> None:
    assert facts(f"Orrin Works excluded {object_}.") == [f"Orrin Works | excluded | {object_}"]


def test_no_german_fact_while_the_clause_has_another_noun() -> None:
    assert facts("Ada Venn erhielt 1930 in Kelm das Gut.", "de") == []
