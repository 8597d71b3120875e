"""What models write as an answer: citations in all forms, and whether it stands in what it cites."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.steps.checking import (
    SENTINEL,
    Claim,
    check_answer,
    cited_numbers,
    is_sentinel,
    may_become_sentinel,
    not_answered,
    nothing_found,
    refuses,
    sentence_spans,
    with_markers,
    without_sentinel,
)

KNOWN = {1, 2, 6, 7}

FORMS = [
    ("It was Ada. [1]", "It was Ada. [1]"),
    ("It was Ada [S1].", "It was Ada [1]."),
    ("It was Ada[^1].", "It was Ada[1]."),
    ("It was Ada【1】.", "It was Ada[1]."),
    ("It was Ada【1†source】.", "It was Ada[1]."),
    ("是她［1］。", "是她[1]。"),
    ("It was Ada [1, 2].", "It was Ada [1][2]."),
    ("It was Ada [1; 2] [1 and 2].", "It was Ada [1][2] [1][2]."),
    ("It was Ada [6-7].", "It was Ada [6][7]."),
    ("It was Ada [1, 6–7].", "It was Ada [1][6][7]."),
    ("It was Ada [7-6].", "It was Ada [7][6]."),
    ("It was Ada [1-900].", "It was Ada [1][900]."),
    ("It was Ada [77].", "It was Ada [77]."),
    ("It was Ada (1).", "It was Ada [1]."),
    ("It was Ada (1, 2)(6).", "It was Ada [1][2][6]."),
    ("It was Ada (77).", "It was Ada (77)."),
    ("It was Ada (1) and Bob [2].", "It was Ada (1) and Bob [2]."),
    ("The reign of Ada [1911-1913] ended.", "The reign of Ada [1911-1913] ended."),
    ("The tuple f(1) is not cited", "The tuple f(1) is not cited"),
    ("He [Bob] said [sic] so.", "He [Bob] said [sic] so."),
]


@pytest.mark.parametrize(("written", "read"), FORMS)
def test_forms(written, read):
    assert with_markers(written, KNOWN) == read


@given(st.text(alphabet="a1,2-[]()^S【】 .", max_size=30))
def test_what_was_read_once_stays(text):
    once = with_markers(text, KNOWN)
    assert cited_numbers(with_markers(once, KNOWN)) == cited_numbers(once)


@given(st.text(alphabet="aB.! []12\n", max_size=40))
def test_sentences_lie_in_the_answer_in_order(text):
    end = 0
    for offset, length in sentence_spans(text, "en"):
        assert end <= offset < offset + length <= len(text)
        end = offset + length


EVIDENCE = {
    1: "Rhoda Tennant built three mills and four looms in Corrie in 1867, and died on 5 May 1911.",
    2: "The mill at Corrie cost 1,200 pounds; in 1870 it was sold for 1,500 pounds to the United Nations.",
    3: "Frau Tennant gründete 1867 die Mühle in Corrie und leitete sie als Chefin.",
}


def sentences(answer, language="en"):
    return [answer[at : at + length] for at, length in sentence_spans(answer, language)]


def warnings(answer, question="Who built the mill at Corrie?", language="en", evidence=EVIDENCE):
    claims = [
        Claim(text, tuple(evidence[n] for n in cited_numbers(text) if n in evidence))
        for text in sentences(answer, language)
    ]
    return dict(check_answer(question, claims, language))


REFUSALS = [
    "I don't know.",
    "I'm sorry. I can't answer that from these statements.",
    "I’m unable to answer this question.",
    "The documents do not mention who built it. [1][2]",
    "There is no information about the bridge in the statements. They are about mills.",
    "The provided context does not contain the answer.",
    "This cannot be determined.",
    "It is not mentioned.",
    "Das weiß ich nicht.",
    "Leider. Die Dokumente enthalten dazu keine Angaben.",
    "Das lässt sich aus den Aussagen nicht beantworten.",
    "Je ne sais pas.",
    "Les documents ne mentionnent pas le pont. [1]",
    "No lo sé.",
    "Los documentos no mencionan quién lo construyó.",
    "Non lo so.",
    "Ik weet het niet.",
    "Não sei. O texto não menciona a ponte.",
    "我不知道。",
    "文档中没有提到这座桥。[1]",
    "無関係です。" + "分かりません。",
]
NOTHING_SAID = [
    "The passages are silent on this.",
    "None of the sentences names the owner.",
    "Dazu steht in den Sätzen leider nichts.",
    "Anhand der Unterlagen ist keine Aussage möglich.",
    "Rien dans les extraits ne répond à la question.",
    "Nada en los textos responde a la pregunta.",
    "Nei testi non c'è nulla.",
    "Daarover staat niets in de teksten.",
    "Nos textos não há nada sobre a ponte.",
    "资料中并无记载。",
    "Der Name des Käufers fehlt.",
    "缺少买主的名字。",
]
ANSWERS = [
    "Rhoda Tennant built it. [1]",
    "Rhoda Tennant built it [1]. The documents do not say when.",
    "The documents do not say who sold it, but Rhoda Tennant built it. [1]",
    "I don't know who sold it, but it was Rhoda Tennant who built it. [1]",
    "It is unknown who built it. [1]",
    "Rhoda Tennant built it.",
    "The documents do not say. In general, mills are built by millers. [LLM: verify]",
    "Die Dokumente nennen den Käufer nicht, aber Rhoda Tennant baute sie. [1]",
    "",
]


@pytest.mark.parametrize("answer", [*REFUSALS[:-1], *NOTHING_SAID])
def test_refusals(answer):
    assert refuses(sentences(answer, None), {1, 2, 3})


@pytest.mark.parametrize("answer", ANSWERS)
def test_answers_that_are_no_refusals(answer):
    assert not refuses(sentences(answer), {1, 2, 3})


@pytest.mark.parametrize(
    "answer", ["文件中沒有提到這一點。", "無法確定。", "資料沒有說明是誰造的。", "文書には記載がありません。"]
)
def test_refusals_in_traditional_characters_and_in_japanese(answer):
    assert refuses(sentences(answer, None), set())


def test_a_question_in_traditional_characters_gets_traditional_ones():
    assert not_answered("zh", "誰造的？") == "我不知道：在文件中找到的內容沒有回答這個問題。"
    assert not_answered("zh", "谁造的？") == not_answered("zh") != not_answered("zh", "誰造的？")
    assert not_answered("en", "誰造的？") == not_answered("en")
    for said in (not_answered("zh", "誰造的？"), nothing_found("zh", "誰造的？")):
        assert refuses(sentences(said, "zh"), set())


def test_names_in_traditional_characters_stand_in_simplified_evidence():
    cited = ("临港机器厂制造了三座水轮机。梁静宜到场。",)
    found = check_answer("誰造的？", [Claim("臨港機器廠製造了三座水輪機，梁靜宜到場。[1]", cited)], "zh")
    assert list(found) == []
    found = check_answer("誰造的？", [Claim("臨港機器廠的陳立文製造了三座水輪機。[1]", cited)], "zh")
    assert [kind for kind, _ in found] == ["unsupported_name"]


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "it", "nl", "pt", "zh", "ja", "sw", None])
def test_what_the_program_says_is_a_refusal_in_every_language(language):
    for said in (not_answered(language), nothing_found(language)):
        assert refuses(sentences(said, language), set())
    assert (not_answered(language) == not_answered("en")) == (language in ("en", "sw", None))


@pytest.mark.parametrize(
    "text", [SENTINEL, f"**{SENTINEL}**", f" {SENTINEL}.\n", f"{SENTINEL}: nothing fits", "NO_ANSWER"]
)
def test_the_sentinel(text):
    assert is_sentinel(text)
    assert all(may_become_sentinel(text[:end]) for end in range(len(text) + 1))


@pytest.mark.parametrize(
    "text", ["NO ANSWERS were given.", "Norway.", "No answer was given by Ada. [1]", "It was NO ANSWER"]
)
def test_what_only_looks_like_the_sentinel(text):
    assert not is_sentinel(text)
    assert not may_become_sentinel(text)


def test_a_sentinel_after_a_partial_answer_is_left_out():
    assert without_sentinel(f"It was Ada. [1]\n\n{SENTINEL}") == "It was Ada. [1]"


FINE = [
    "Rhoda Tennant built it in 1867. [1]",
    "Yes. Rhoda Tennant built it. [1]",
    "These were built:\n- three mills [1]\n- four looms [1]",
    "The buildings are: mills and looms. [1]",
    "Rhoda Tennant built it. [1] The documents do not say for whom.",
    "Rhoda Tennant built it. [1] The name of her partner is missing.",
    "Tennant's mill was sold to the UN in 1870. [2]",
    "Rhoda Tennant's mill cost 1,200 pounds. [2] She died in 1911. [1]",
    "She was 44 years at work, from 1867 to 1911. [1]",
    "She built 7 things. [1]",
    "The gain was 300 pounds, or 25 %. [2]",
    "It cost 1200 pounds. [2]",
    "She built 3 mills. [1]",
    "In Corrie there were two owners. [1][2]",
    "The gain was 0.3 thousand pounds, from 1.2 thousand to 1.5 thousand. [2]",
    "The year was 3 after the sale. [2] [LLM: verify]",
    "**Answer:** Rhoda Tennant built it. [1]\n\n- Died: 5 May 1911 [1]\n- Mills: three [1]",
    "Rhoda Tennant built it. [1] The question names no bridge, and the sentences speak of one only.",
    "Corrie.\n\nThe mill was built in Corrie. [1]\n\nThe mill was built in Corrie.",
    "| Mill | Owner |\n|---|---|\n| Corrie | Rhoda Tennant [1] |",
    "The mill was sold for 125 % of what it cost, so its cost was 80 % of that. [2]",
]


@pytest.mark.parametrize("answer", FINE)
def test_answers_that_deserve_no_warning(answer):
    assert warnings(answer) == {}


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        ("Rhoda Tennant built it. She was a great engineer. [1]", "uncited_sentence", "1 of 2"),
        ("Rhoda Tennant built it. [1] It rained.", "uncited_sentence", "It rained"),
        ("It was built in 1867.", "unreferenced_numeric", "1867"),
        ("It was built in 1867.", "uncited_sentence", "built in 1867"),
        ("Rhoda Tennant of Glasgow built it. [1]", "unsupported_name", "Glasgow"),
        ("It was built by James Watt. [1]", "unsupported_name", "James Watt"),
        ("It cost 1,300 pounds. [2]", "unsupported_numeric", "1,300"),
        ("She died on 6 May 1911. [1]", "unsupported_numeric", "6 May 1911"),
        ("The gain was 31 %. [2]", "unsupported_numeric", "31"),
        ("It was sold for 1.6 thousand pounds. [2]", "unsupported_numeric", "1.6 thousand"),
        (
            "La fábrica de Corrie fue construida por Rhoda Tennant, que murió en 1911. [1]",
            "answer_language",
            "es",
        ),
    ],
)
def test_what_is_warned_of(answer, kind, words):
    found = warnings(answer)
    assert words in found[kind]


def test_names_and_numbers_of_the_question_need_no_other_evidence():
    assert warnings("In 1899 Otto Bode saw the mill. [1]", "What did Otto Bode see in 1899?") == {}


def test_names_in_another_language_than_the_evidence_are_not_judged():
    answer = "Die Mühle in Schottland wurde von Frau Tennant nach dem Jahr 1867 an die Briten verkauft. [2]"
    found = warnings(answer, "Wann wurde die Mühle in Schottland verkauft?", "de")
    assert "unsupported_name" not in found


def test_a_german_noun_is_no_name():
    answer = "Als die Mühle 1867 gegründet wurde, war Frau Tennant die Leiterin in Corrie. [3]"
    assert warnings(answer, "Wer hat die Mühle in Corrie gegründet?", "de") == {}
    answer = answer.replace("Frau Tennant", "Frau Erna Schulz")
    assert "Schulz" in warnings(answer, "Wer hat die Mühle in Corrie gegründet?", "de")["unsupported_name"]


def test_names_that_the_cited_document_has_elsewhere_are_supported():
    """A sentence with a pronoun does not say whom it means; names may be written together or apart."""
    said = "Adam Smith offers to help LiHua with it. [1]"
    (claim,) = [Claim(said, ("AdamSmith: I'll help you with it!",), "AdamSmith: Hey Li Hua!")]
    assert not list(check_answer("Who offers to help?", [claim], "en"))
    (alone,) = [Claim(said, claim.cited)]
    ((kind, detail),) = check_answer("Who offers to help?", [alone], "en")
    assert kind == "unsupported_name"
    assert "LiHua" in detail
    assert "Adam" not in detail.partition("“")[0]


def test_a_date_may_have_its_year_from_the_cited_document():
    claim = Claim("It sank on 4 August 1910. [1]", ("It sank on the 4th of August.",), "The log of 1910")
    assert not list(check_answer("When did it sink?", [claim], "en"))
    kinds = [
        kind for kind, _ in check_answer("When?", [Claim(claim.text, claim.cited, "The log of 1911")], "en")
    ]
    assert kinds == ["unsupported_numeric"]


def test_nothing_is_said_of_evidence_whose_words_are_not_at_hand():
    assert warnings("James Watt built it in 1777. [1]", evidence={1: " "}) == {}


def test_the_language_is_that_of_the_question():
    answer = "Rhoda Tennant built the three mills and the four looms, and that was in Corrie. [1]"
    assert warnings(answer) == {}
    question = "Wer hat die Mühle in Corrie gebaut und wann war das?"
    assert (
        warnings(answer, question, "de")["answer_language"] == "the question is in “de”, the answer in “en”"
    )
    assert "answer_language" in warnings(answer, "谁在科里建造了磨坊？", "zh")
    assert "answer_language" not in warnings("Rhoda Tennant. [1]", question, "de")


FILING = {
    1: "Purchases of property, plant and equipment: 2022 $1,222; 2021 $980.",
    2: "Operating cash flow was $3.5 billion in 2022, compared with $(3.4) billion in 2021.",
    3: "Net sales | 2023: 383,285 | 2022: 394,328",
    4: "Of these costs, 90% was paid.",
    5: "There are 1,012 helpers and 59,100 parcels.",
    6: "She was born on 2 February 1841 and exhibited from the age of nineteen.",
    7: "She went to hospital on 25 November 1919 and died on 14 December 1919.",
    8: "The train left at half past six.",
}


@pytest.mark.parametrize(
    ("answer", "supported"),
    [
        ("They rose from $980 million to $1,222 million, by $242 million or 24.7%. [1]", True),
        ("They rose from $980 million to $1.22 billion. [1]", True),
        ("Cash flow improved by $6.9 billion. [2]", True),
        ("Sales fell from $394.3 billion to $383.3 billion, by 3%. [3]", True),
        ("They rose by $243 million. [1]", False),
        ("They rose by 25.7%. [1]", False),
        ("Sales were $384.3 billion. [3]", False),
        ("Some 90% was paid, which leaves 10%. [4]", True),
        ("Some 90% was paid, which leaves 20%. [4]", False),
        ("There are about 58 parcels for each of the 1,000 helpers. [5]", True),
        ("There are about 85 parcels for each of the 1,000 helpers. [5]", False),
        ("Born in 1841, she first exhibited in 1860. [6]", True),
        ("Born in 1841, she first exhibited in 1863. [6]", False),
        ("She died at the age of 78, of which 19 days in hospital. [6][7]", True),
        ("She died at the age of 80. [6][7]", False),
        ("The train left at 6:30 p.m. [8]", True),
        ("The train left at 18:30. [8]", True),
        ("The train left at 18:45. [8]", False),
        ("Sales fell by 5%. [3]", False),
    ],
)
def test_numbers_of_tables(answer, supported):
    """The head of a table, "in millions", is seldom part of what is cited; results are rounded."""
    found = warnings(answer, "How did it change?", evidence=FILING)
    assert ("unsupported_numeric" not in found) is supported


@pytest.mark.parametrize(("number", "supported"), [(3, True), (4, False)])
def test_things_that_a_sentence_lists_may_be_counted(number, supported):
    evidence = {1: "Family letters, 1901\nTheir children were Anna, Karl, and Louise."}
    found = warnings(f"They had {number} children. [1]", "How many children?", evidence=evidence)
    assert ("unsupported_numeric" not in found) is supported


@pytest.mark.parametrize(
    "said",
    [
        "It is not said whether Ada came.",
        "Who built the mill is not said.",
        "It is nowhere recorded who came.",
        "Es wird nicht gesagt, wer die Mühle baute.",
        "Il n'est pas dit qui a construit le moulin.",
        "No se dice quién construyó el molino.",
        "Non viene detto chi costruì il mulino.",
        "Er wordt niet gezegd wie de molen bouwde.",
        "Não se diz quem construiu o moinho.",
        "没有说明是谁建造了磨坊。",
    ],
)
def test_what_says_that_nothing_is_said_needs_no_citation(said):
    claims = [Claim("Rhoda Tennant lived in Varn. [1]", ("Rhoda Tennant lived in Varn.",)), Claim(said, ())]
    assert "uncited_sentence" not in dict(check_answer("Who built the mill?", claims, None))


@pytest.mark.parametrize("said", ["Ada has not said a word to Bob.", "Ada n'a pas dit la vérité."])
def test_what_somebody_did_not_say_is_a_statement(said):
    claims = [Claim("Rhoda Tennant lived in Varn. [1]", ("Rhoda Tennant lived in Varn.",)), Claim(said, ())]
    assert "uncited_sentence" in dict(check_answer("Who built the mill?", claims, None))


SALES, COSTS = "Sales were 7,500.", "Costs were 2,400."


@pytest.mark.parametrize(
    ("right", "wrong", "cited"),
    [
        ("Sales of 7,500 are 3 times the costs of 2,400. [1][2]", "3 times", (SALES, COSTS)),
        ("1800 lamps in 12 houses are 150 in each. [1]", "150", ("1800 lamps stand in 12 houses.",)),
        ("With 2000 seats in 16 cars, a car has 125. [1]", "125", ("2000 seats, 16 cars",)),
    ],
)
def test_the_quotient_of_numbers_in_a_sentence_may_be_rounded(right, wrong, cited):
    assert not list(check_answer("?", [Claim(right, cited)], "en"))
    false = right.replace(wrong, wrong.replace("3", "9").replace("1", "7"))
    assert [kind for kind, _ in check_answer("?", [Claim(false, cited)], "en")] == ["unsupported_numeric"]


def test_a_quotient_may_follow_from_numbers_that_sentences_before_cite():
    before = [Claim("Sales were 7,500. [1]", (SALES,)), Claim("Costs were 2,400. [2]", (COSTS,))]

    def warned(said):
        return [kind for kind, _ in check_answer("?", [*before, Claim(said, (COSTS,))], "en")]

    assert warned("The ratio is 3.13. [2]") == []
    assert warned("The ratio is 3.23. [2]") == ["unsupported_numeric"]
    assert warned("The ratio is 3. [2]") == ["unsupported_numeric"], "of all numbers before, some give any"
