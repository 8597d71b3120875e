from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graphrag_rdf.documents import Sentence, split_sentences
from graphrag_rdf.documents.sentences import without_emoji


def split(text: str, language: str | None = "en") -> list[str]:
    return [text[s.offset : s.offset + s.length] for s in split_sentences(text, language)]


# "|" marks where a sentence ends; the text is without it
@pytest.mark.parametrize(
    ("language", "marked"),
    [
        ("en", "Dr. Smith met Mrs. Jones.| They left at 5 p.m. and returned."),
        ("en", "J. R. R. Tolkien wrote it.| He was born in 1892."),
        ("en", "He lives in the U.S. The country is large.".replace("S. ", "S.| ")),
        ("en", "The U.S. Army won.| See No. 5 for details."),
        ("en", "Was it so?| No.| It was not!| Well..."),
        ("en", "It costs 3.50 dollars, approx. 4 euros.| Version 2.0.1 is out."),
        ("en", 'He said "Stop."| Then he left.'),
        ("en", '"Why?" he asked.| "Because!" she said.'),
        ("en", "It ended (at last.)| Nobody cared.[12]| More followed."),
        ("en", "Wait... what?| He paused…| Then he spoke."),
        ("en", "Use e.g. Python or i.e. Perl.| iPhone sales rose.| See example.com for more."),
        ("en", "She joined Acme Inc. in May.| She left Acme Inc.| The firm closed."),
        ("en", "George W. Bush et al. Smith agreed.| **Note.**| The _end._"),
        ("en", "Ph.D. students and Prof. A. Einstein.| In 1990.| In 1991 too."),
        ("en", "He earned $5 million.| 2020 was better."),
        ("en", "Ada (born c. 1100, d. 1160) and her son (fl. 1150) lived.| Plan c.| It began."),
        ("en", "Smith vs. Jones, Fig. 3, pp. 12, Jan. 5, St. Paul's.| Done."),
        ("de", "Am 3. Mai 2020 kam Dr. Müller z. B. nach Köln.| Er blieb bis zum 19. Jahrhundert."),
        ("de", "Das ist z.B. ein Test, d.h. ein Versuch.| Die Fa. Meier kam.".replace("Fa. ", "Firma ")),
        ("de", "Es war 1990.| Niemand kam.| »Hallo.«| Er ging."),
        ("nl", "Dhr. de Vries woont o.a. in Den Haag.| Hij werkt bij Philips N.V. en elders."),
        ("fr", "M. Dupont et Mme. Durand, p. ex. ici.| « Bonjour ! »| Il partit."),
        ("es", "El Sr. García vive en EE.UU. desde 1990.| ¿Quién es?| ¡Hola!"),
        ("zh", "北京是首都。|你好！|他说：「是吗？」|走了。"),
        ("ja", "東京は首都です。|大阪は違います。"),
        ("hi", "यह एक वाक्य है।| यह दूसरा है॥"),
        ("ar", "هل هذا صحيح؟| نعم."),
        ("pl", "W dniu 3. Maja przyszedł.| Potem poszedł."),
        (None, "Dr. Who came.| He left."),
        ("en", "The scale of S. P. L. Sørensen and Wm. Hale is older.| Plan C.| It began."),
        ("en", 'He said: "It is late. We must go."| Then they left.'),
        ("en", "“Where? When?” Mary Hale asked.| ‘Why?’ Tom cried.| “Here.”| She left."),
        ("en", "It is 5 ft. long (see fig. 2) and new.| Ft. Worth lies there."),
        ("en", "Two rules: be kind.| b) Be quick.| (c) Be there."),
        ("de", "Die Fa. Hale, Abt. II, wurde gegr. 1811.| Ludwig XIV. regierte.| Vitamin B.| Es hilft."),
        ("fr", "M. J.-B. Roy est né en 80 av. J.-C.| Il chante.| Le gén. Roux, p. 5, vint."),
        ("es", "La Sra. López vive en EE. UU. desde el s. XIX.| Luego D. Pedro salió."),
        ("it", "L'avv. Neri nacque nel sec. XIX.| Poi il sig. Rossi venne, cfr. pag. 5."),
        ("pt", "O séc. XX foi longo.| A Sra. Costa e D. Pedro saíram."),
        ("nl", "Mevr. Jansen, geb. 1850, kwam bijv. uit Breda.| Zij zong."),
        ("pl", "Prof. Kowalska ur. 5 maja 1900 r. przy ul. Długiej.| Potem śpiewała."),
        ("ru", "А. С. Волков родился в 1799 г. на ул. Лесной.| Он жил там и т. д.| Это всё."),
        ("zh", "他说：「是吗？走吧。」|她走了。|“为什么？”他问。|子曰：“学而时习之？”（《论语》）。|完。"),
        ("en", "Always (; lit. Only You) is a film (R. 2011. See below).| It won."),
        ("en", "It left.| (It was late.| Nobody saw it.)| Then came Help! (1965), a film.| (So it was.)"),
        ("en", "Cheer Up! (; lit. Sassy, Go Go) is a series.| Help! (1965) is a film."),
        ("en", "MOOR INC. AND SUBSIDIARIES.| In Hale v. Moor it won.| Let x. y. be given."),
        ("en", "2.7. Are there others?| Yes.| See 2.7.| It is late."),
        ("en", "Note 7. Financial instruments are listed.| 3.1.2. Ropes"),
        ("en", "See you then! 🎉🎉|\n\nGreat! 😊| Really."),
        ("de", "Um 750 n. Chr. (973–1048 n. Chr. Geburt) lebte er.|\n\nKapitel 12. Weitere Hilfe"),
        ("zh", "表 1.8. 列表|\n\n他运行该文件 （例如 root 组）。|然后停止。"),
        ("en", "# A heading\n|Text follows here\nand goes on.| More."),
        ("en", "Intro:\n|- one item\n  continued\n|- another. |With two.\n\n|Para"),
        ("en", "1. First point\n|2. Second point. |More of it.\n\n|End"),
        ("en", "no stop here\n\n|next paragraph"),
        ("en", "first\r\n\r\n|second\r\n \t\r\n|third"),
        ("en", "goes on over\fthe page.|\fNew page"),
        ("en", "slide one\f|Slide two"),
        (
            "en",
            "Introduction\n|This is a paragraph whose lines are as wide as they can be made, so\n"
            "that it wraps. |It ends.",
        ),
        ("en", "a line ends in 1990 and the next begins with\n1990. |The end of it."),
        ("en", "a.b.c"),
        ("en", "  padded.  |  Text  "),
    ],
)
def test_examples(language: str | None, marked: str) -> None:
    expected = [part.strip() for part in marked.split("|")]
    assert split(marked.replace("|", ""), language) == expected


@pytest.mark.parametrize(
    ("sentence", "bare"),
    [
        ("Great! 😊🎸", "Great!"),
        ("Is it? ☀️ ", "Is it?"),
        ("🎉", ""),
        ("A 🎸 plays.", "A 🎸 plays."),
        ("", ""),
    ],
)
def test_emoji_after_a_sentence(sentence: str, bare: str) -> None:
    assert without_emoji(sentence) == bare


def test_table_rows() -> None:
    rows = ["| a | b |", "|---|---|", "| 1. X | 2 |"]
    assert split("Before\n" + "\n".join(rows) + "\nAfter the table.") == ["Before", *rows, "After the table."]


def test_setext_heading() -> None:
    assert split("Title\n=====\nText.") == ["Title", "=====", "Text."]


def test_rows_of_raw_tables() -> None:
    for rows in (
        ["name,city", "Alice Smith,New York", 'Bob Jones,"Paris, France"'],
        ["Name: Alice; City: London", "Name: Bob; City: Paris", "Name: Carol; City: Rome"],
        ['{"a": "One"}', '{"a": "Two"}'],
        ["A\tB", "Cc\tDd"],
    ):
        assert split("\n".join(rows)) == rows


def test_empty() -> None:
    assert split_sentences("") == ()
    assert split_sentences(" \n\f\t") == ()
    assert split_sentences("x") == (Sentence(0, 0, 1),)


TEXTS = st.text(
    st.sampled_from(
        list(
            "aAbBzDrIV.. .!?…,;:\n\n\r\f\t |#-*1234567890()[]\"'“”„“«»（）「说。！？「」।é日Ⅳß\xa0\u2028\x1f"
        )
    )
)


@given(st.one_of(TEXTS, st.text()), st.sampled_from(["en", "de", "fr", "zh", None, "xx-YY"]))
@example("\x1f.\x85A", None)
def test_sentences_cover_everything_in_order(text: str, language: str | None) -> None:
    """Trimmed, ordered, not overlapping; what is between them is white space."""
    end = 0
    for index, sentence in enumerate(split_sentences(text, language)):
        assert sentence.index == index
        assert sentence.length > 0
        assert sentence.offset >= end
        assert not text[end : sentence.offset].strip()
        piece = text[sentence.offset : sentence.offset + sentence.length]
        assert piece == piece.strip()
        end = sentence.offset + sentence.length
    assert not text[end:].strip()


@pytest.mark.parametrize("unit", ["a. ", "A.", "(", ". ", "\n", "| ", "word ", "1. ", "\"'", "« "])
def test_no_quadratic_time(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    started = time.thread_time()
    split_sentences(text, "en")
    assert time.thread_time() - started < 2
