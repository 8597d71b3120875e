"""The catalogues of messages: they have all messages and no others, with the same placeholders."""

from __future__ import annotations

import ast
import gettext
import importlib.util
import re
import string
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from babel.messages.catalog import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_rdf import errors, i18n
from tests.docs.markdown import REPOSITORY

spec = importlib.util.spec_from_file_location("docs_messages", REPOSITORY / "docs" / "messages.py")
assert spec is not None
assert spec.loader is not None
messages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(messages)

CATALOGUES = sorted(i18n.LOCALES.glob(f"*/LC_MESSAGES/{i18n.DOMAIN}.po"))
TEMPLATE = messages.template()
"""The messages of the program, collected before tests declare steps of their own."""
IDS = [path.parts[-3] for path in CATALOGUES]


@pytest.mark.parametrize("path", CATALOGUES, ids=IDS)
def test_a_catalogue_has_the_messages_of_the_program(path: Path) -> None:
    """None is missing and none is stale; else run `make messages`."""
    wanted = {message.id for message in TEMPLATE if message.id}
    assert {message.id for message in messages.catalogue(path) if message.id} == wanted


COMPLETE = ("zh_CN",)
"""Languages in which nothing is missing; another one may be begun."""


@pytest.mark.parametrize("language", COMPLETE)
def test_a_catalogue_is_complete(language: str) -> None:
    path = i18n.LOCALES / language / "LC_MESSAGES" / f"{i18n.DOMAIN}.po"
    missing = [one.id for one in messages.catalogue(path) if one.id and not messages.is_translated(one)]
    assert missing == []


@pytest.mark.parametrize("path", CATALOGUES, ids=IDS)
def test_translations_have_the_placeholders_of_their_messages(path: Path) -> None:
    """The same ones, in any order; otherwise a message could not be made."""
    for message in messages.catalogue(path):
        for said, translated in _forms(message):
            assert _placeholders(translated) == _placeholders(said), said
            if any(map(str.isalnum, said)):  # not a comma between two names, which needs no space in Chinese
                bracket = said[:2] == " (" and translated[:1] == "（"
                assert said[:1].isspace() == translated[:1].isspace() or bracket, said
                full_width = said[-2:] == ": " and translated[-1:] == "："
                assert said[-1:].isspace() == translated[-1:].isspace() or full_width, said


@pytest.mark.parametrize("path", CATALOGUES, ids=IDS)
def test_a_catalogue_is_compiled_as_it_is(path: Path) -> None:
    """The compiled file has the translations of the catalogue; else run `make messages`."""
    with path.with_suffix(".mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    for message in messages.catalogue(path):
        if isinstance(message.id, str) and message.id and message.string:
            found = compiled.pgettext(message.context, message.id) if message.context else None
            assert (found or compiled.gettext(message.id)) == message.string


def _forms(message: Message) -> Iterator[tuple[str, str]]:
    if isinstance(message.id, tuple):
        more = message.id[-1]
        yield from ((more, form) for form in message.string if form)
    elif message.id and message.string:
        yield message.id, str(message.string)


def _placeholders(text: str) -> set[tuple[str, str, str]]:
    found = {(name, kind, "%") for name, kind in re.findall(r"%\((\w+)\)(\w)", text)}
    if found or "{" not in text:
        return found
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError:  # braces of SPARQL or JSON in a help text, which is not formatted
        return set()
    return {(name, spec or "", how or "") for _, name, spec, how in parts if name is not None}


# --- messages that are not marked ------------------------------------------------------------------------


def _errors(kind: type) -> Iterator[str]:
    yield kind.__name__
    for below in kind.__subclasses__():
        yield from _errors(below)


RAISED = {*_errors(errors.GraphRagError), "Problem", "warn", "say"}


def test_messages_of_errors_are_marked() -> None:
    """A text in an error is a `tr("…")`, so that it can be translated."""
    package = Path(i18n.__file__).parent
    found = [
        f"{path.relative_to(package)}:{text.lineno}"
        for path in sorted(package.rglob("*.py"))
        for call in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(call, ast.Call) and _name(call.func) in RAISED and not _is_log(call.func)
        for text in (*call.args, *(word.value for word in call.keywords))
        if _is_text(text)
    ]
    assert found == []


def test_no_message_is_inside_another_text() -> None:
    """In an f-string, only the parser of Python 3.12 and later finds a message."""
    found = [
        f"{path}:{text.lineno}"
        for path in sorted(Path(i18n.__file__).parent.rglob("*.py"))
        for text in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(text, ast.JoinedStr)
        for call in ast.walk(text)
        if isinstance(call, ast.Call) and _name(call.func) in messages.KEYWORDS and call.args
        if isinstance(call.args[0], ast.Constant)
    ]
    assert found == []


def _name(function: ast.expr) -> str:
    return getattr(function, "attr", getattr(function, "id", ""))


def _is_log(function: ast.expr) -> bool:
    return "log" in _name(getattr(function, "value", function)).lower()


def _is_text(node: ast.expr) -> bool:
    """Whether a node is a text of several words, or a formatted one with a word."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and len(node.value.split()) > 1
    if isinstance(node, ast.JoinedStr):
        words = " ".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
        return any(word.isalpha() and len(word) > 1 for word in words.split())
    return False


# --- values in translations --------------------------------------------------------------------------------


@pytest.mark.parametrize("path", CATALOGUES, ids=IDS)
@settings(max_examples=20, deadline=None)
@given(text=st.text(max_size=20), number=st.integers(-10, 10**9))
def test_translations_can_be_filled_in(path: Path, text: str, number: int) -> None:
    """Each translation takes the values of its message, and shows each of them."""
    for message in _read(path):
        for said, translated in _forms(message):
            fields = [field for field in _placeholders(said) if field[2] != "%"]
            values = {name: number if _NUMBER.search(spec) else text for name, spec, _ in fields}
            if fields and all(name.isidentifier() for name in values):  # else JSON in a help text
                shown = translated.format(**values)
                plain = (values[name] for name, spec, how in fields if not spec and not how)
                assert all(str(value) in shown for value in plain), said


@cache
def _read(path: Path) -> list[Message]:
    return [*messages.catalogue(path)]


_NUMBER = re.compile(r"[,dfg%]\Z")


def test_messages_are_given_the_values_that_they_name() -> None:
    """`tr("… {name} …").format(name=…)` has a value for each name of its message."""
    package = Path(i18n.__file__).parent
    wrong = [
        f"{path.relative_to(package)}:{call.lineno}"
        for path in sorted(package.rglob("*.py"))
        for call in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "format"
        if isinstance(call.func.value, ast.Call) and _name(call.func.value.func) in ("tr", "ngettext")
        if all(word.arg for word in call.keywords) and not call.args
        for text in call.func.value.args
        if isinstance(text, ast.Constant) and isinstance(text.value, str)
        if {name for name, *_ in _placeholders(text.value)} - {word.arg for word in call.keywords}
    ]
    assert wrong == []
