"""Messages in the user's language, by gettext.

Code writes messages in English, as `tr("there is no document {name}").format(name=name)`. The catalogue of a
language, `locale/LANGUAGE/LC_MESSAGES/graphrag_rdf.po`, has the translations; `make messages` collects the
messages again and compiles it. A command line has one language; each request of a server may have its own.
"""

from __future__ import annotations

import gettext
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

DOMAIN = "graphrag_rdf"
LOCALES = Path(__file__).resolve().parent / "locale"
ENGLISH = "en"
_VARIABLES = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")
"""In the order of GNU gettext; without LANGUAGE where the locale is C."""

_process: gettext.NullTranslations = gettext.NullTranslations()
_current: ContextVar[gettext.NullTranslations | None] = ContextVar("language", default=None)


def tr(message: str) -> str:
    """The translation of a message, or the message itself."""
    return (_current.get() or _process).gettext(message) if message else ""  # "" is the catalogue's header


def ngettext(singular: str, more: str, number: int) -> str:
    """The translation of a message with a number, in the form that the number needs."""
    return (_current.get() or _process).ngettext(singular, more, number)


def counted(singular: str, more: str, number: int) -> str:
    """A number of things: the message with `{count}` in the form that the number needs."""
    return ngettext(singular, more, number).format(count=number)


def listed(phrases: Iterable[str]) -> str:
    """Phrases on one line, with the comma of the language between them."""
    return tr(", ").join(phrases)


def bracketed(text: str) -> str:
    """A text in brackets behind another: ` (text)`, without the space where the language has none."""
    return tr(" ({text})").format(text=text)


def later(message: str) -> str:
    """The message itself: marks one that `tr` translates later."""
    return message


def language() -> str:
    """The language of messages, as a tag of BCP 47."""
    code = (_current.get() or _process).info().get("language", ENGLISH)
    return code.replace("_", "-")


def direction() -> str:
    """The direction of writing of the language of messages: `ltr` or `rtl`."""
    return "rtl" if language().partition("-")[0] in _RIGHT_TO_LEFT else "ltr"


_RIGHT_TO_LEFT = frozenset({"ar", "dv", "fa", "ff", "he", "ks", "ps", "sd", "ug", "ur", "yi"})


@cache
def languages() -> tuple[str, ...]:
    """The languages that messages are in, as tags of BCP 47."""
    codes = sorted(path.parts[-3] for path in LOCALES.glob(f"*/LC_MESSAGES/{DOMAIN}.mo"))
    return (ENGLISH, *(name.replace("_", "-") for name in codes))


def best(wanted: Iterable[str]) -> str | None:
    """The first wanted language that there is; None when there is none.

    A language without a catalogue of its own is served by another variety of it: `zh-TW` by `zh-CN`.

    Args:
        wanted: tags of BCP 47 or names of locales (`zh_CN.UTF-8`), the best first.
    """
    for name in wanted:
        tag = name.partition(".")[0].partition("@")[0].replace("_", "-").lower()
        near = [each for each in languages() if _primary(each) == _primary(tag)]
        exact = [each for each in near if each.lower() == tag]
        if exact or near:
            return (exact or near)[0]
    return None


def of_environment() -> str:
    """The language that the variables of GNU gettext name; English where they name none that there is."""
    locale = next((os.environ[name] for name in _VARIABLES[1:] if os.environ.get(name)), "")
    if locale.partition(".")[0] in ("", "C", "POSIX"):
        return ENGLISH
    return best([*os.environ.get("LANGUAGE", "").split(":"), locale]) or ENGLISH


def set_process_language(tag: str) -> None:
    """Set the language of a command line; click's own messages are translated too.

    Args:
        tag: one of `languages()`.
    """
    global _process  # noqa: PLW0603 - one for the process, as in gettext itself
    _process = _translations(tag)
    gettext.bindtextdomain(DOMAIN, str(LOCALES))
    gettext.textdomain("messages" if tag == ENGLISH else DOMAIN)
    if tag != of_environment():  # click reads it
        os.environ["LANGUAGE"] = tag.replace("-", "_")


def set_language(tag: str) -> Token[gettext.NullTranslations | None]:
    """Set the language for this context, e.g. one request of a server, and what it calls in threads.

    Args:
        tag: one of `languages()`.
    """
    return _current.set(_translations(tag))


@contextmanager
def in_english() -> Iterator[None]:
    """Messages in English, for what a model is told."""
    token = _current.set(_translations(ENGLISH))
    try:
        yield
    finally:
        _current.reset(token)


def install(environment: Environment) -> None:
    """Let the templates of pages translate.

    They have `_("… %(name)s", name=…)`, `ngettext` and `{% trans %}` for constants, which are markup, and
    `tr(text)` for other texts. Values go through the environment's own `finalize`, and are escaped.
    """
    from markupsafe import Markup

    show = environment.finalize or (lambda value: value)

    def filled(text: str, values: Mapping[str, object]) -> str:
        return Markup(text) % {name: show(value) for name, value in values.items()}  # noqa: S704 - a constant

    def markup(message: str, **values: object) -> str:
        return filled(tr(message), values)

    def counted(singular: str, more: str, num: int, **values: object) -> str:
        return filled(ngettext(singular, more, num), {"num": num, **values})

    environment.add_extension("jinja2.ext.i18n")
    environment.newstyle_gettext = True  # type: ignore[attr-defined]
    functions: dict[str, object] = {"_": markup, "gettext": markup, "ngettext": counted, "tr": tr}
    functions |= {
        "language": language,
        "direction": direction,
        "own_label": own_label,
        "in_own_language": stored,
    }
    environment.globals.update(functions)


def own_label(label: str | None) -> str:
    """A label that the program gave to a node, such as `Chunk 1`, in the language of messages."""
    for form, message in _OWN_LABELS.items():
        if match := form.fullmatch(label or ""):
            return tr(message).format(match[1])
    return label or ""


def stored(text: str) -> str:
    """A message that was stored in the language of its time, such as a warning, in the language of messages.

    Args:
        text: filled in; one that is no message of the program stays as it is.
    """
    if text in _messages():
        return tr(_messages()[text])
    if len(text) > _LONGEST:
        return text
    fitting = [(len(form), message, match) for form, message in _forms() if (match := _match(form, text))]
    if not fitting:
        return text
    _, message, match = max(fitting, key=lambda each: each[0])
    translated = tr(message)
    fields = _FIELD.split(translated)[1::2]
    if not set(fields) <= match.groupdict().keys():
        return text
    return _FIELD.sub(lambda field: stored(match[field[1]]), translated)


@cache
def _messages() -> dict[str, str]:
    """Message in each language → in English."""
    out: dict[str, str] = {}
    for tag in languages():
        # the standard library gives no other way to all messages of a catalogue
        catalogue = getattr(_translations(tag), "_catalog", {})
        out |= {text: message for message, text in catalogue.items() if isinstance(message, str) and message}
        out |= {message: message for message in catalogue if isinstance(message, str) and message}
    return out


@cache
def _forms() -> tuple[tuple[str, str], ...]:
    """Messages with fields, in each language, and in English."""
    return tuple((text, message) for text, message in _messages().items() if _FIELD.search(text))


def _match(form: str, text: str) -> re.Match[str] | None:
    constant = max(_FIELD.split(form)[::2], key=len)
    if len(constant) < _CONSTANT or constant not in text:
        return None
    return _pattern(form).fullmatch(text)


@cache
def _pattern(form: str) -> re.Pattern[str]:
    parts, seen, out = _FIELD.split(form), set[str](), ""
    for index, part in enumerate(parts):
        if index % 2 == 0:
            out += re.escape(part)
        else:
            out += f"(?P={part})" if part in seen else f"(?P<{part}>.+?)"
            seen.add(part)
    return re.compile(out, re.DOTALL)


_FIELD = re.compile(r"\{([a-z_]+)(?:![rsa])?(?::[^}]*)?\}")
"""A field of a message; the only group is its name."""
_CONSTANT, _LONGEST = 4, 2000
"""Characters that a message must have in a row to be known again, and of a text that may be one."""
ERASED = later("(erased)")
"""In place of a text that is gone, for `tr`."""
_OWN_LABELS = {
    re.compile(r"Chunk (\d+)"): later("Chunk {0}"),
    re.compile(r"Page (\d+)"): later("Page {0}"),
    re.compile(r"(\w+) session"): later("{0} session"),
    re.compile(r"(\w+) Question"): later("{0} Question"),
    re.compile(r"removal by hand()"): later("removal by hand"),
    re.compile(r"correction by hand()"): later("correction by hand"),
    re.compile(r"removal by (.+)"): later("removal by {0}"),
    re.compile(r"correction by (.+)"): later("correction by {0}"),
}
"""As `rdf.prov`, `trace.recorder` and `ingest.fact_decisions` write them."""


@cache
def _translations(tag: str) -> gettext.NullTranslations:
    if tag == ENGLISH:
        return gettext.NullTranslations()
    return gettext.translation(DOMAIN, LOCALES, [tag.replace("-", "_")])


def _primary(tag: str) -> str:
    return tag.partition("-")[0]
