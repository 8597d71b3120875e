from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.documents.language import _LATIN, detect_language, function_words, normalise_tag


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Alice works at Acme in London, and Bob lives in Paris.", "en"),
        ("Die Firma wurde im neunzehnten Jahrhundert in Köln gegründet.", "de"),
        ("Het bedrijf werd in de negentiende eeuw in Utrecht opgericht.", "nl"),
        ("L'entreprise a été fondée à Lyon au dix-neuvième siècle.", "fr"),
        ("Москва является столицей Российской Федерации.", "ru"),
        ("東京", None),
        ("东京是日本的首都", "zh"),
        ("東京は首都です", "ja"),
        ("서울은 수도이다", "ko"),
        ("Η Αθήνα", "el"),
        ("Hallo", None),
        ("12345 67890 --- ;;;", None),
        ("", None),
    ],
)
def test_detection(text: str, language: str | None) -> None:
    assert detect_language(text) == (language or ("zh" if text == "東京" else None))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        # short texts and titles
        ("The library opens at nine.", "en"),
        ("Ada Lovelace met Charles Babbage. Ada Lovelace taught Grace Hopper.", "en"),
        ("Anna Berg gründete Orrin Bank.", "de"),
        ("Meeting notes", None),
        ("Bitte schließen Sie das Fenster.", "de"),
        ("Inhaltsverzeichnis und Anhang", "de"),
        ("Où est la gare ?", "fr"),
        ("¿Dónde está la estación?", "es"),
        ("Indice dei contenuti", "it"),
        ("Jaarverslag van het havenbestuur", "nl"),
        ("Feche a janela, por favor.", "pt"),
        ("Mój brat kupił wczoraj dwa bilety.", "pl"),
        ("Biblioteket öppnar klockan nio och stänger klockan sex.", "sv"),
        ("Как установить принтер", "ru"),
        ("Де знаходиться вокзал?", "uk"),
        ("تفتح المكتبة في الساعة التاسعة.", "ar"),
        ("पुस्तकालय नौ बजे खुलता है।", "hi"),
        # Chinese, in both kinds of characters, with words of other scripts in it
        ("圖書館九點開門。", "zh"),
        ("粵語和吳語", "zh"),
        ("使用 Docker 部署 PostgreSQL 数据库", "zh"),
        ("GraphRAG 入门：用 SPARQL 查询 RDF 数据", "zh"),
        ("年次報告書の概要", "ja"),
        # other scripts with many words of programs in them
        ("Установите пакет graphviz и запустите make test в каталоге build, как описано в README.", "ru"),
        # an English text that quotes a few characters
        ("The word for library is written 圖書館 and means the house of drawings and of books.", "en"),
        # neither prose nor titles
        ("2021 2022 2023\n1,204 1,530 1,611\n88.2 91.0 90.4", None),
        ("Total 12.4 13.0\nNet 3.2 3.3\nGross 9.2 9.7\nSum. lat. max. 3.1 4.2\nSum. long. min. 2.2", None),
        ("| 1 | A4 | 3.2 kg |\n| 2 | B7 | 1.1 kg |", None),
        ("x = foo(bar[i] + 1); return x;", None),
        ("int main(void) { printf(argv[0]); exit(EXIT_SUCCESS); }", None),
        ("AAPL MSFT GOOG TSLA NVDA META AMZN", None),
        ("The lib\ud800rary opens at nine.", "en"),
        ("Venn, A. / Hale, B. / Kell, M. / Moor, T.", None),
    ],
)
def test_short_and_mixed_texts(text: str, language: str | None) -> None:
    assert detect_language(text) == language


@given(st.text(st.characters(), max_size=60))
def test_any_text_is_given_a_language_of_its_script_or_none(text: str) -> None:
    found = detect_language(text)
    assert found is None or normalise_tag(found) == found


def test_english_prose_is_recognised_without_the_model() -> None:
    """The model takes half a second and 80 MB; a text in another language still asks it."""
    program = """
import sys
from graphrag_rdf.documents.language import detect_language
english = "It was the best of times, and it was the worst of times for those who were there. " * 60
german = "Die Firma wurde im Jahr 1850 in Köln gegründet und hat heute mehr als hundert Mitarbeiter. " * 60
assert detect_language(english) == "en" and "py3langid" not in sys.modules
assert detect_language(german) == "de" and "py3langid" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_middle_counts_too() -> None:
    text = "東" * 100 + "x" * 5000
    assert detect_language(text) != "zh"


@pytest.mark.parametrize(
    ("tag", "normal"),
    [
        ("EN_us", "en-US"),
        ("zh-hans-cn", "zh-Hans-CN"),
        (" de ", "de"),
        ("english", None),
        ("und", None),
        ("", None),
        (None, None),
        ("x-klingon", None),
    ],
)
def test_tags(tag: str | None, normal: str | None) -> None:
    assert normalise_tag(tag) == normal


def test_a_language_is_named_only_with_words_that_show_it() -> None:
    """Statistics of letters alone are sure of some rare language for any text that is no prose."""
    assert set(_LATIN) <= set(function_words())
    commands = "\n".join(f"mv src/mod{n}.o lib/qism{n}.a && chmod {n} lib/qism{n}.a" for n in range(40))
    assert detect_language(commands) is None
