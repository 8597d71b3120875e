"""What a passage is about."""

from __future__ import annotations

import pytest

from graphrag_rdf.extract.model import Mention
from graphrag_rdf.extract.name_details import topic_of, topics_of

NAMES = (Mention(0, 6, "Lilith"), Mention(10, 5, "Gallu"))
LONG = "An inquiry into the many causes of the failure of Gallu and other demons of the plain"


@pytest.mark.parametrize(
    ("title", "given", "topic"),
    [
        ("Lilu (mythology)", True, "Lilu"),
        ("The Heron", True, "The Heron"),
        (LONG, True, "Gallu"),
        (LONG.replace("Gallu", "two"), True, None),
        ("Passage 17", False, "Lilith"),
        ("Gallu", False, "Gallu"),
    ],
)
def test_a_title_names_the_topic_unless_it_is_only_the_files_name(
    title: str, given: bool, topic: str | None
) -> None:
    assert topic_of(title, NAMES, given=given) == topic


def test_without_names_a_files_name_is_no_topic() -> None:
    assert topic_of("Passage 17", (), given=False) is None


@pytest.mark.parametrize(
    ("title", "given", "topics"),
    [
        ("The Heron", True, ("The Heron", "Heron")),
        ("Gallu, Ohio", True, ("Gallu, Ohio", "Gallu")),
        ("Come, Gallu", True, ("Come, Gallu",)),
        ("The", True, ("The",)),
        ("Gallu Inc. — Form 10-Q — quarterly period ended July 2, 2023", True, ("Gallu Inc.",)),
        ("Passage 17", False, ("Lilith",)),
        (LONG.replace("Gallu", "two"), True, ()),
    ],
)
def test_a_title_is_also_written_without_its_article_and_its_place(
    title: str, given: bool, topics: tuple[str, ...]
) -> None:
    assert topics_of(title, NAMES, given=given) == topics
