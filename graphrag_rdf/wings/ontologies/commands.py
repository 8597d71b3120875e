"""`ontology`: load, list, check, export and remove ontologies; competency questions."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
from pyoxigraph import NamedNode

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group, model_option, output_option, shapes_options
from graphrag_rdf.cli.exchange import destination
from graphrag_rdf.cli.output import (
    count_triples,
    format_option,
    note,
    one_line,
    pairs,
    say,
    styled,
    warn,
    warn_of_results,
)
from graphrag_rdf.cli.process import DONE, FAILED
from graphrag_rdf.cli.session import about_default, open_engine, validating
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import counted, listed, tr

if TYPE_CHECKING:
    from graphrag_rdf.wings.ontologies.owl_edits import Difference
    from graphrag_rdf.wings.ontologies.suggest import Suggestion

_files = click.Path(path_type=Path)
_ROWS = 10  # rows of a result that are shown


@click.group(
    cls=Group, examples=["graphrag-rdf ontology load ships.ttl", "graphrag-rdf ontology check ships.ttl"]
)
def ontology_command() -> None:
    """Ontologies in urn:graph:ontology, and facts as OWL: load, suggest, check, validate, export, diff …"""


@ontology_command.command(
    "load", examples=["graphrag-rdf ontology load ships.ttl", "graphrag-rdf ontology load *.rdf"]
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_files)
@format_option()
def load(files: tuple[Path, ...], form: str) -> None:
    """Load ontologies (Turtle, RDF/XML, OWL/XML, functional-style syntax …) with what they import.

    Imports are resolved by catalog-v001.xml beside the file, as in Protégé; nothing is fetched. A newer file
    of the same ontology replaces its triples in urn:graph:ontology; its graph keeps the earlier version.
    """
    from graphrag_rdf.exchange.ontologies import load_ontologies
    from graphrag_rdf.ingest.entity_decisions import refresh_links

    with open_engine(create=True) as engine:
        settings = engine.settings
        namespace, keep = settings.extract.namespace, settings.reasoning.keep
        report = load_ontologies(engine.store, files, namespace, datetime.now(UTC), keep=keep)
        if report.loaded:
            refresh_links(engine)
    for iri in report.missing:
        warn(
            tr("the import {iri} was not loaded: no entry of catalog-v001.xml names a file for it").format(
                iri=iri
            )
        )
    if output.write(form, report):
        return
    pairs([(iri, count_triples(number)) for iri, number in report.loaded.items()])
    pairs([(iri, "unchanged") for iri in report.unchanged])


@ontology_command.command(
    "test",
    examples=["graphrag-rdf ontology test questions/", "graphrag-rdf ontology test --write questions/who.rq"],
)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=_files)
@click.option("--union", is_flag=True, help="Take all graphs as one, as `sparql --union` does.")
@click.option("--write", is_flag=True, help="Write the results of questions that have no file of results.")
@format_option("text", "json", "jsonl")
def test(paths: tuple[Path, ...], union: bool, write: bool, form: str) -> int:
    """Ask competency questions (NAME.rq) and compare the results with NAME.csv; exit code 1 if any differs.

    A SELECT without a file of results must have a row, and an ASK must be true.
    """
    from graphrag_rdf.wings.ontologies.competency import answer_questions, question_files, write_results

    files = question_files(paths)
    with open_engine(beside=True) as engine:
        if write:
            for path in write_results(engine.store, files, union=union):
                note(tr("wrote {path}; review it").format(path=path))
        answers = [*answer_questions(engine.store, files, union=union)]
    failed = [answer for answer in answers if not answer.passed]
    if not output.write(form, answers):
        for answer in answers:
            mark = styled(tr("passed"), fg="green") if answer.passed else styled(tr("failed"), fg="red")
            say(f"{mark}  {one_line(answer.question)}")
            if not answer.passed:
                say(output.wrapped(f"{answer.file}: {answer.why.splitlines()[0]}", indent="        "))
            for sign, rows in (("-", answer.missing), ("+", answer.unexpected)):
                for row in rows[:_ROWS]:
                    say(f"        {sign} {one_line(', '.join(row))}")
                if len(rows) > _ROWS:
                    say(tr("        {sign} … and {more:,} more").format(sign=sign, more=len(rows) - _ROWS))
        say(
            tr("{passed:,} of {count:,} passed").format(passed=len(answers) - len(failed), count=len(answers))
        )
    return FAILED if failed else DONE


@ontology_command.command(
    "validate",
    examples=[
        "graphrag-rdf ontology validate shapes.ttl",
        "graphrag-rdf ontology validate *.ttl --format json",
    ],
)
@click.argument("shapes", metavar="SHAPES...", nargs=-1, required=True, type=_files)
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="Most results shown.")
@format_option("text", "json", "jsonl")
def validate(shapes: tuple[Path, ...], limit: int, form: str) -> int:
    """Validate the facts with SHACL shapes of yours (needs pySHACL); exit code 1 if there are violations.

    Each result shows the quotes, pages and documents of the fact that it is about. Merged entities are one;
    inferred facts and the classes of loaded ontologies count.
    """
    from graphrag_rdf.checks.shapes import validate_facts

    with open_engine(beside=True) as engine:
        found = validate_facts(engine.store, shapes)
    if not output.write(form, found):
        for offence in found[:limit]:
            colour = {"Violation": "red", "Warning": "yellow"}.get(offence.severity)
            about = (offence.focus_label, offence.path_label, offence.value_label)
            say(f"{styled(offence.severity.lower(), fg=colour)}  {one_line(' · '.join(filter(None, about)))}")
            say(output.wrapped(one_line(offence.message), indent="    "))
            for each in offence.sources:
                source = each.source
                told = output.quoted(source.words, source.title, source.page_number)
                say(output.wrapped(told, indent="      "))
        if len(found) > limit:
            say(tr("… and {more:,} more (--limit)").format(more=len(found) - limit))
        severities = Counter(offence.severity.lower() for offence in found)
        counts = [f"{number:,} {name}{'s' if number > 1 else ''}" for name, number in severities.items()]
        say(", ".join(counts) or tr("the facts conform"))
    return FAILED if any(offence.severity == "Violation" for offence in found) else DONE


@ontology_command.command(
    "diff",
    examples=[
        "graphrag-rdf ontology diff ships.ttl",
        "graphrag-rdf ontology diff protege/ --format json",
    ],
)
@click.argument("files", metavar="PATH...", nargs=-1, required=True, type=_files)
@format_option("text", "json", "jsonl")
def diff(files: tuple[Path, ...], form: str) -> int:
    """Compare edited ontologies, or exported facts, with the store; exit code 1 if any differ."""
    from graphrag_rdf.wings.ontologies.owl_edits import find_differences

    with open_engine(beside=True) as engine:
        found = find_differences(engine, files)
    if not output.write(form, found):
        _show_differences(found)
    return DONE if all(each.is_empty for each in found) else FAILED


@ontology_command.command(
    "apply",
    examples=[
        "graphrag-rdf ontology apply ships.ttl",
        'graphrag-rdf ontology apply owl/facts.ttl --by "Mona Kell"',
    ],
)
@click.argument("files", metavar="PATH...", nargs=-1, required=True, type=_files)
@click.option("--by", metavar="NAME", help="Name of the person who edited them.")
@click.option("--reason", metavar="TEXT", help="Recorded with the decisions about facts.")
@shapes_options
@format_option("text", "json", "jsonl")
def apply(
    files: tuple[Path, ...],
    by: str | None,
    reason: str | None,
    shapes: tuple[str, ...],
    validation: str | None,
    form: str,
) -> None:
    """Apply what `ontology diff` shows: a new version of an ontology; removed, corrected and new facts.

    `facts undo` takes removals and corrections back.
    """
    from graphrag_rdf.wings.ontologies.owl_edits import apply_edits

    with open_engine(validating(shapes, validation)) as engine:
        found = apply_edits(engine, files, datetime.now(UTC), by, reason)
    if not output.write(form, found):
        _show_differences(found)
    warn_of_results(sum(each.broken for each in found))


def _show_differences(found: list[Difference]) -> None:
    for each in found:
        say(one_line(each.ontology) + ("" if each.known else tr(" (the store does not have it)")))
        for sign, statements in (("-", each.removed), ("+", each.added)):
            for said in statements:
                say(f"  {sign} {one_line(' '.join(said))}")
        for before, after in each.changed:
            say(f"  - {one_line(' '.join(before))}")
            say(f"  + {one_line(' '.join(after))}")
        numbers = {
            tr("{number:,} added"): len(each.added),
            tr("{number:,} removed"): len(each.removed),
            tr("{number:,} changed"): len(each.changed),
        }
        told = listed(said.format(number=number) for said, number in numbers.items() if number)
        say(f"  {told}" if told else tr("  no differences"))
        if each.names:
            left = (
                tr("{count:,} names differ and are left: names of entities come from documents")
                if each.of_facts
                else tr("{count:,} observations of the schema differ and are left: they come from the facts")
            )
            note(left.format(count=len(each.names)))


@ontology_command.command(
    "suggest",
    examples=[
        "graphrag-rdf ontology suggest -o draft.ttl",
        "graphrag-rdf ontology suggest --iri http://example.org/ships --least 10 -o ships.ttl",
        "graphrag-rdf ontology suggest --proposed --iri http://example.org/more -o more.ttl",
    ],
)
@click.option("--iri", metavar="IRI", help="IRI of the ontology; by default {extract.namespace}ontology.")
@click.option(
    "--least",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="Leave out relations with fewer facts, and types with fewer things.",
)
@click.option("--classes", type=click.IntRange(0), default=40, show_default=True, help="Most classes.")
@click.option("--properties", type=click.IntRange(0), default=60, show_default=True, help="Most properties.")
@click.option(
    "--examples",
    type=click.IntRange(0),
    default=2,
    show_default=True,
    help="Most quotes or names for each term.",
)
@click.option(
    "--proposed",
    is_flag=True,
    help="Only relations and types that guided extraction (mode open) found and the ontology lacks.",
)
@model_option
@output_option
@click.option("--counts", is_flag=True, help="Print what the draft has as JSON (with -o).")
def suggest(
    iri: str | None,
    least: int,
    classes: int,
    properties: int,
    examples: int,
    proposed: bool,
    model: str | None,
    path: Path | None,
    counts: bool,
) -> None:
    """Draft an OWL ontology from the frequent types and relations of the facts, as Turtle.

    Domains, ranges and subclasses follow from the facts; quotes and names are annotations. With a language
    model, one call groups and names the terms. Edit the draft in Protégé, then: graphrag-rdf ontology load.
    """
    from graphrag_rdf.wings.ontologies.draft import DraftRequest
    from graphrag_rdf.wings.ontologies.suggest import suggest_ontology

    if counts and path is None:
        raise UsageError(tr("--counts needs -o FILE: without it, stdout holds the draft"))
    request = DraftRequest(least, classes, properties, examples, proposed=proposed)
    with open_engine({"llm.model": model}, beside=True) as engine:
        ontology = iri or f"{engine.settings.extract.namespace}ontology"
        found = suggest_ontology(engine, ontology, request)
    with destination(path) as stream:
        stream.write(found.as_turtle())
    if counts:
        output.write_json(found.as_json())
        return
    _show_suggestion(found, path, proposed=proposed)


def _show_suggestion(found: Suggestion, path: Path | None, *, proposed: bool) -> None:
    report = found.report
    told = tr(
        "wrote {classes:,} classes, {object_properties:,} properties of things, "
        "{datatype_properties:,} of values and {examples:,} examples to {place}"
    )
    note(told.format(**asdict(report), place=path or "stdout"))
    if report.merged:
        note(tr("one term with another that means the same: {merged:,}").format(merged=report.merged))
    if report.guesses:
        note(tr("guesses of subclasses, to be reviewed: {guesses:,}").format(guesses=report.guesses))
    if report.left_out:
        note(
            tr("frequent, and left out because they say too little: {names}").format(
                names=", ".join(report.left_out)
            )
        )
    if not report.classes and not proposed:  # proposals need no class: those of the ontology in force serve
        warn(tr("no class: the facts have no types. Extraction by rules or by a model gives them"))
    if found.model is None:
        note(tr("no language model is configured: relations that say the same in other words stay apart"))
    else:
        note(tr("model: {llm}").format(llm=output.usage(found.llm)))
    for reason, number in found.dropped.items():
        warn(
            tr("left out of the model's answer: {number:,} {name}").format(
                number=number, name=reason.replace("_", " ")
            )
        )


@ontology_command.command(
    "check", examples=["graphrag-rdf ontology check", "graphrag-rdf ontology check ships.ttl"]
)
@click.argument("files", metavar="[FILE...]", nargs=-1, type=_files)
@format_option("text", "json", "jsonl")
def check(files: tuple[Path, ...], form: str) -> int:
    """Report what Protégé and other OWL 2 DL tools would reject or misread.

    Without files: the ontologies of the store, and the declarations of what its facts use. Exit code 1 if
    there is an error.
    """
    from graphrag_rdf.wings.ontologies.checks import check_files, check_ontologies

    if files:
        from graphrag_rdf.resources import folder
        from graphrag_rdf.sparql.library import TemplateLibrary

        found = check_files(files, TemplateLibrary(folder("queries")))
    else:
        with open_engine(beside=True) as engine:
            found = check_ontologies(engine.store)
    if not output.write(form, found):
        for one in found:
            say(f"{one.severity}: {output.safe(one.focus)}: {output.safe(one.message)} [{one.check}]")
        if not found:
            say(tr("no problems"))
    return FAILED if any(one.severity == "error" for one in found) else DONE


@ontology_command.command("export", examples=["graphrag-rdf ontology export protege"])
@click.argument("folder", metavar="DIR", type=_files)
@format_option()
def export(folder: Path, form: str) -> None:
    """Write ontologies and facts into DIR as OWL 2 DL, for Protégé: open facts.ttl.

    Each assertion is annotated with its quotes, pages and documents.
    """
    from graphrag_rdf.wings.ontologies.owl import export_owl

    with open_engine(beside=True) as engine:
        namespace = engine.settings.extract.namespace
        report = export_owl(engine.store, folder, namespace)
    if told := about_default(namespace):
        note(told)
    if output.write(form, report):
        return
    pairs(
        [
            (tr("individuals"), f"{report.individuals:,}"),
            (tr("assertions"), f"{report.assertions:,}"),
            (tr("annotated axioms"), f"{report.annotations:,}"),
            (tr("files"), ", ".join(report.files)),
        ]
    )
    if report.texts:
        say(
            tr("values that are texts, because OWL 2 lacks dates and years: {texts:,}").format(
                texts=report.texts
            )
        )
    if report.links:
        say(tr("links to vocabularies: {links:,}").format(links=report.links))
    if report.split:
        say(tr("properties with things and values that were split: {split:,}").format(split=report.split))
    if report.statements:
        told = tr(
            "relations used once, or without a word of their own, whose facts are annotations: {number:,}"
        )
        say(told.format(number=report.statements))
    if report.left_out:
        say(
            tr("statements about classes and properties that were left out: {left_out:,}").format(
                left_out=report.left_out
            )
        )


@ontology_command.command(
    "explain",
    examples=[
        "graphrag-rdf ontology explain http://trustgraph.ai/e/ada http://trustgraph.ai/r/knows http://trustgraph.ai/e/bob"
    ],
)
@click.argument("subject", metavar="S")
@click.argument("relation", metavar="P")
@click.argument("value", metavar="O")
@format_option()
def explain(subject: str, relation: str, value: str, form: str) -> None:
    """Show by which rules and from which premises a fact was inferred. S, P and O are IRIs.

    Premises are facts, axioms of ontologies, or inferred, in which case they can be explained too.
    """
    from graphrag_rdf.wings.ontologies.explain import derivations

    try:
        s, p, o = (NamedNode(text.strip("<>")) for text in (subject, relation, value))
    except ValueError as error:
        raise UsageError(
            tr("not an IRI: {error}").format(error=error), hint=tr("entities show NAME shows the IRIs")
        ) from None
    with open_engine(beside=True) as engine:
        found = derivations(engine.store, s, p, o)
    if not found:
        raise UsageError(tr("this was not inferred"), hint=tr("graphrag-rdf refresh inferences"))
    shown = [
        {"rule": one.rule, "premises": [{"triple": str(t), "held": held} for t, held in one.premises]}
        for one in found
    ]
    if output.write(form, shown):
        return
    for one in found:
        say(one.rule)
        for triple, held in one.premises:
            say(output.safe(f"  {held}: {triple}"))


@ontology_command.command("remove", examples=["graphrag-rdf ontology remove http://example.org/ships"])
@click.argument("ontology", metavar="IRI")
@format_option()
def remove(ontology: str, form: str) -> None:
    """Remove an ontology with all its versions. Facts, and links of entities to its things, stay."""
    from graphrag_rdf.exchange.ontologies import remove_ontology
    from graphrag_rdf.ingest.entity_decisions import refresh_links

    with open_engine() as engine:
        settings = engine.settings
        number = remove_ontology(engine.store, ontology, settings.extract.namespace, settings.reasoning.keep)
        refresh_links(engine)
    if not output.write(form, {"versions": number}):
        pairs([(tr("removed"), counted("{count:,} version", "{count:,} versions", number))])
