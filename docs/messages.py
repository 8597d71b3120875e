"""Collect the messages of the program into its catalogues (gettext), and compile these.

    python docs/messages.py            # update and compile graphrag_rdf/locale/*/LC_MESSAGES/graphrag_rdf.po
    python docs/messages.py --new fr   # begin the catalogue of a language

`make messages` runs it. Messages are `tr("…")`, `ngettext("…", "…", n)` and `counted("…", "…", n)` in Python,
`{{ _("…") }}` and `{% trans %}` in templates of pages, help texts of commands, and click's own. A test fails
if a message has no translation, or a translation has no message.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import click
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from graphrag_rdf.cli.app import commands, root
from graphrag_rdf.config.loading import Origin
from graphrag_rdf.config.sections import Section, Settings, section_about
from graphrag_rdf.i18n import DOMAIN, LOCALES
from graphrag_rdf.pipeline import load_pipeline, pipeline_names
from graphrag_rdf.resources import folder
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.steps.kinds import kinds
from graphrag_rdf.trace.kinds import node_kinds

PROJECT = Path(__file__).resolve().parent.parent
KEYWORDS = {"tr": None, "later": None, "_": None, "gettext": None, "ngettext": (1, 2), "counted": (1, 2)}
_SOURCES = [("**.py", "python"), ("**.html.j2", "jinja2.ext:babel_extract")]
_OPTIONS = {"**.html.j2": {"trimmed": "true", "newstyle_gettext": "true"}}


def template() -> Catalog:
    """All messages of the program, untranslated, with the files that they are in."""
    found = Catalog(project="graphrag-rdf", charset="utf-8", header_comment="")
    package = PROJECT / "graphrag_rdf"
    for file, _, message, comments, context in extract_from_dir(
        package, _SOURCES, _OPTIONS, KEYWORDS, comment_tags=("translators:",)
    ):
        found.add(message, locations=[(f"graphrag_rdf/{file}", 0)], auto_comments=comments, context=context)
    for text in _help(root):
        found.add(text, locations=[("graphrag_rdf/cli", 0)])
    for place, text in _declared():
        found.add(text, locations=[(place, 0)])
    for kind in node_kinds().values():
        keys = (each.key.replace("_", " ") for each in (*kind.items, *kind.fields))
        for text in (kind.name.capitalize(), *keys):
            found.add(text, locations=[("graphrag_rdf/trace/kinds.py", 0)])
    for _, _, message, _, context in extract_from_dir(Path(click.__file__).parent, [("**.py", "python")]):
        found.add(message, locations=[("click", 0)], context=context)
    return found


def _declared() -> Iterator[tuple[str, str]]:
    """What settings, kinds of steps, pipelines and the queries of the cookbook are about; where each is."""
    for name, field in Settings.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Section):
            yield name, section_about(kind)
            yield from ((name, each.description or "") for each in kind.model_fields.values())
        else:
            yield name, field.description or ""
    yield from (("config", origin) for origin in get_args(Origin))
    for step in kinds().values():  # imports the steps, which declare their nodes
        yield step.name, step.about
        yield from ((step.name, parameter.description or "") for parameter in step.parameters.values())
    for name in pipeline_names([folder("pipelines")]):
        yield f"pipelines/{name}", load_pipeline(name, [folder("pipelines")]).definition.summary
    queries = TemplateLibrary(folder("queries"))
    for name in queries.for_people:
        yield f"queries/{name}.rq", queries[name].header.summary
        yield from ((f"queries/{name}.rq", parameter.about) for parameter in queries[name].params.values())


def _help(command: click.Command) -> Iterator[str]:
    """The help texts of a command, its options and its subcommands."""
    yield inspect.cleandoc(command.help or "")
    if command is root:
        yield from commands().values()
    for option in command.params:
        if isinstance(option, click.Option) and option.help:
            yield option.help
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            yield from _help(found) if found else ()


def catalogue(path: Path) -> Catalog:
    """The catalogue of a file, as it is."""
    with path.open("rb") as file:
        return read_po(file, locale=path.parts[-3])


def updated(path: Path, messages: Catalog) -> Catalog:
    """The catalogue of a file, with all messages and no others; no translation is a guess."""
    found = catalogue(path)
    found.update(messages, no_fuzzy_matching=True)
    found.obsolete.clear()
    found.creation_date = found.revision_date  # else each run would change the file
    return found


def is_translated(message: Message) -> bool:
    """Whether a message has a translation, with all its plural forms."""
    return bool(message.string) and all([*message.string])


def main() -> None:
    """Update and compile all catalogues."""
    messages = template()
    if "--new" in sys.argv:
        language = sys.argv[sys.argv.index("--new") + 1]
        path = LOCALES / language / "LC_MESSAGES" / f"{DOMAIN}.po"
        path.parent.mkdir(parents=True)
        with path.open("wb") as file:
            begun = datetime.now(UTC)
            empty = Catalog(
                language,
                header_comment="# Translations of messages: write what follows msgstr; run `make messages`.",
                project="graphrag-rdf",
                charset="utf-8",
                fuzzy=False,
                revision_date=begun,
            )
            write_po(file, empty)
    for path in sorted(LOCALES.glob(f"*/LC_MESSAGES/{DOMAIN}.po")):
        found = updated(path, messages)
        with path.open("wb") as file:
            write_po(file, found, width=110, sort_output=True, omit_header=False, include_lineno=False)
        with path.with_suffix(".mo").open("wb") as file:
            write_mo(file, found)
        missing = sum(not is_translated(message) for message in found if message.id)
        print(f"{path.parts[-3]}: {len(found):,} messages, {missing:,} without a translation")


if __name__ == "__main__":
    main()
