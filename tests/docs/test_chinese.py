"""The Chinese pages keep up with their English counterparts."""

from __future__ import annotations

import re
import shlex

import pytest

from tests.docs.markdown import REPOSITORY, blocks, without_code

_COUNTERPARTS = {
    "README.zh.md": "README.md",
    "docs/zh/tutorial.md": "docs/tutorial.md",
    **{f"docs/seeds/{page}.md": f"docs/seeds/{page}.en.md" for page in ("002", "003", "004")},
}
"""Other pages of `docs/zh/` are named as the how-to page that they translate."""
_OF_ITS_OWN = "docs/zh/glossary.md"
_TRANSLATED = {path.relative_to(REPOSITORY).as_posix() for path in REPOSITORY.glob("docs/zh/*.md")}
CHINESE = sorted({*_COUNTERPARTS, *_TRANSLATED} - {_OF_ITS_OWN})
_HEADING = re.compile(r"^(#+) ", re.MULTILINE)
_NAMES = re.compile(r"`(--[a-z-]+|[a-z_]+\.[a-z_]+|[a-z-]+:\w+|[A-Z_]{5,}|[a-z]+_[a-z_]+)(?:[ =][^`]*)?`")
"""Options, settings and files, terms of vocabularies, variables, types of warnings."""
_BROKEN = re.compile(r"^.*[\u3001-\u9fff\uff01-\uff5e](?=\n *(?!-|\d+\. )[^\s#|`])", re.MULTILINE)


def english(name: str) -> str:
    return _COUNTERPARTS.get(name, name.replace("docs/zh/", "docs/how-to/"))


def text(name: str) -> str:
    return (REPOSITORY / name).read_text("utf-8")


def steps(page: str) -> list[tuple[str, ...]]:
    """Of each command in the page its program, subcommands and options; arguments may differ."""
    found = []
    for _, block in sorted((*blocks(page, "sh"), *blocks(page, "console"))):
        prompted = re.findall(r"^\$ (.*(?:\n> .*)*)", block, re.MULTILINE)
        for command in prompted or block.replace("\\\n", " ").splitlines():
            words = shlex.split(command.replace("\n> ", "\n"), comments=True)
            start = [word for word in words if re.fullmatch(r"[a-z][a-z-]*", word)]
            options = sorted(word for word in words if re.match(r"--?[a-z]", word))
            found.append((*words[:1], *start[1:3], *options))
    return found


@pytest.mark.parametrize("name", CHINESE)
def test_same_commands_in_the_same_order(name: str) -> None:
    assert steps(text(name)) == steps(text(english(name)))


@pytest.mark.parametrize("name", CHINESE)
def test_same_headings(name: str) -> None:
    levels = [_HEADING.findall(without_code(text(page))) for page in (name, english(name))]
    assert levels[0] == levels[1]


@pytest.mark.parametrize("name", CHINESE)
def test_no_option_setting_or_term_is_missing(name: str) -> None:
    chinese, original = (set(_NAMES.findall(without_code(text(page)))) for page in (name, english(name)))
    assert original - chinese == set()


@pytest.mark.parametrize("name", [*CHINESE, _OF_ITS_OWN])
def test_a_paragraph_is_one_line(name: str) -> None:
    """A browser shows a line break between Chinese characters as a space."""
    assert _BROKEN.findall(without_code(text(name))) == []
