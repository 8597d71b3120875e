"""reStructuredText: what a reader of the page sees, by way of docutils and HTML."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from graphrag_rdf.documents.readers.content import Content, UnreadableError
from graphrag_rdf.documents.readers.encoding import decode
from graphrag_rdf.documents.readers.html import read_html
from graphrag_rdf.i18n import tr

LONGEST = 2_000_000
"""Characters of a file: docutils reads some hundred thousand a second."""
LONGEST_WORD = 2000
"""Characters without a blank: docutils takes time with their square."""

_DIRECTIVE = re.compile(r"^[ \t]*\.\. (?:\|[^|\n]+\| )?([a-zA-Z][\w:.+-]*)::", re.M)
_LONG_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1}}}")
_ROLE = re.compile(r":([a-zA-Z][\w:.+-]*):`")
_TARGET = re.compile(r"(?s)(.*?)\s*<[^<>]*>\Z")
# directives of Sphinx that hold no text of the page
_NO_TEXT = """
    toctree index only currentmodule module automodule autoclass autofunction automethod autosummary highlight
    literalinclude include raw tabularcolumns sectionauthor codeauthor graphviz plot program default-role meta
    """
_WITHOUT_TEXT = frozenset(_NO_TEXT.split())
_SETTINGS: dict[str, Any] = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "report_level": 5,
    "halt_level": 5,
    "embed_stylesheet": False,
    "stylesheet_path": None,
    "syntax_highlight": "none",
    "math_output": "LaTeX",
    "smart_quotes": False,
    "doctitle_xform": True,
    "docinfo_xform": True,
    "line_length_limit": 100_000,
    "_disable_config": True,
    "input_encoding": "unicode",
    "output_encoding": "unicode",
}


def read_rst(data: bytes) -> Content:
    """Extract the text: headings, paragraphs, lists and tables, and what stands in directives and roles, also
    those that only Sphinx knows. No file is included.

    Raises:
        UnreadableError: it is not text, too long, or nested too deeply.
    """
    from docutils.core import publish_string

    text, encoding = decode(data)
    if len(text) > LONGEST:
        raise UnreadableError(
            tr("more than {longest:,} characters").format(longest=LONGEST), tr("split it, or save it as .txt")
        )
    if _LONG_WORD.search(text):
        raise UnreadableError(
            tr("more than {longest_word:,} characters without a blank").format(longest_word=LONGEST_WORD),
            tr("save it as .txt"),
        )
    _accept(text)
    try:
        page = publish_string(text, writer="html5", settings_overrides=_SETTINGS)
    except RecursionError:
        raise UnreadableError(tr("nested too deeply"), tr("save it as .txt, to be read as text")) from None
    content = read_html(str(page).encode())
    return replace(
        content, title=content.title if content.title != "<string>" else "", encoding=encoding, language=None
    )


def _accept(text: str) -> None:
    """Have docutils take directives and roles that it does not know for what they hold."""
    from docutils import nodes
    from docutils.parsers.rst import Directive, directives, roles
    from docutils.parsers.rst.languages import en

    class Unknown(Directive):
        optional_arguments = 1
        final_argument_whitespace = True
        has_content = True
        option_spec = _AnyOption()

        def run(self) -> list[nodes.Node]:
            if self.name.split(":")[-1].lower() in _WITHOUT_TEXT:
                return []
            box = nodes.container()
            for argument in self.arguments:
                inline, _ = self.state.inline_text(argument, self.lineno)
                box += nodes.paragraph("", "", *inline)
            self.state.nested_parse(self.content, self.content_offset, box)
            return [box]

    def role(_name: str, raw: str, content: str, *_: Any, **__: Any) -> Any:
        target = _TARGET.fullmatch(content)
        return [nodes.inline(raw, (target[1] if target else content).lstrip("~!"))], []

    for name in set(_DIRECTIVE.findall(text)):
        if name.lower() not in en.directives:
            directives.register_directive(name.lower(), Unknown)
    for name in set(_ROLE.findall(text)):
        if name.lower() not in en.roles:
            roles.register_local_role(name.lower(), role)


class _AnyOption(dict[str, Any]):
    """Takes any option of a directive (`:noindex:`) as it is."""

    def __bool__(self) -> bool:
        return True

    def __missing__(self, _: str) -> Any:
        return str
