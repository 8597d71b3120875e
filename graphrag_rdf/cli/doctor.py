"""`doctor`: show the state of the installation, the settings, the store and its indexes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command
from graphrag_rdf.cli.output import format_option, pairs, say, styled
from graphrag_rdf.cli.process import DONE, FAILED
from graphrag_rdf.cli.refresh import show_indexes
from graphrag_rdf.cli.session import about_default, in_folder, load, open_engine
from graphrag_rdf.errors import ConfigError, GraphRagError
from graphrag_rdf.i18n import bracketed, later, listed, tr
from graphrag_rdf.trace.lines import human_size

if TYPE_CHECKING:
    from graphrag_rdf.config import Loaded
    from graphrag_rdf.engine import Engine

_LISTED = 15
_COUNTED = (
    later("documents"),
    later("chunks"),
    later("facts"),
    later("entities"),
    later("questions"),
)
_MODELS = (
    ("llm", later("language model")),
    ("embedding", later("embeddings")),
    ("rerank", later("reranker")),
    ("extraction", later("facts by")),
)
_VERSIONS = ("graphrag-rdf", "python", "pyoxigraph")


@click.command(
    cls=Command,
    examples=[
        "graphrag-rdf doctor",
        "graphrag-rdf doctor --all",
        "graphrag-rdf doctor --probe",
        "graphrag-rdf doctor --format json",
    ],
)
@click.option(
    "--probe", is_flag=True, help="Send each model a short request, and check that it fits its index."
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Also show all settings with their origins, weights, extras, graphs, indexes and statistics.",
)
@format_option()
def doctor_command(probe: bool, everything: bool, form: str) -> int:
    """Show what the store holds, its models, what is wrong and how to mend it, versions and paths.

    JSON always has everything. Secrets are never shown. The exit code is 1 if the store or an index cannot be
    used, or if a probed model does not answer or does not fit its index. A missing store is not an error.
    """
    from graphrag_rdf.checks.diagnosis import environment

    loaded = load()
    found = environment(loaded)
    fault = _store(loaded, found, probe=probe)
    if not output.write(form, found):
        _show(found, everything=everything)
    return fault


def _store(loaded: Loaded, found: dict[str, Any], *, probe: bool) -> int:
    """Add the facts about the store, or the error that prevents reading it; return the exit code."""
    from graphrag_rdf.checks.diagnosis import settings_facts, store_facts
    from graphrag_rdf.store.folder import StoreFolder

    settings = loaded.settings
    place = StoreFolder.of_collection(Path(settings.store), settings.collection)
    if in_folder(settings) and not place.root.exists():
        found["store"] = {"missing": str(place.root)}
        return _probed(loaded, found) if probe else DONE
    try:
        with open_engine(beside=True) as engine:
            found.update(store_facts(engine))
            found.update(settings_facts(loaded, engine))
            code = _probe(engine, found) if probe else DONE
    except ConfigError as error:
        found["settings_error"] = {"error": error.message, "hint": error.hint}
        return FAILED
    except GraphRagError as error:
        found["store"] = {"error": error.message, "hint": error.hint}
        return FAILED
    return FAILED if any("error" in entry for entry in found["indexes"].values()) else code


def _probed(loaded: Loaded, found: dict[str, Any]) -> int:
    """Probe the models of the settings without a store."""
    from graphrag_rdf.engine import Engine

    with Engine.open(":memory:", config=loaded) as engine:
        return _probe(engine, found)


def _probe(engine: Engine, found: dict[str, Any]) -> int:
    from graphrag_rdf.checks.diagnosis import probe

    found["probe"] = probe(engine)
    sound = all(entry["reachable"] and entry.get("fits") is not False for entry in found["probe"].values())
    return DONE if sound else FAILED


def _show(report: dict[str, Any], *, everything: bool) -> None:
    """Print the store, the models and what is wrong, then versions and paths; the rest if asked for."""
    store = report.get("store", {})
    _title(tr("Store"))
    if "missing" in store:
        message = tr("no store at {missing} yet").format(missing=store["missing"])
        say(output.safe(f"  {message}"))
    counts = {name: f"{store[name]:,}" for name in _COUNTED if name in store}
    if "entities" in counts:
        counts["entities"] = tr("{number}, minor ones left out").format(number=counts["entities"])
    pairs([(tr(name), count) for name, count in counts.items()], indent="  ")
    _title(tr("Models"))
    pairs([(tr(name), _model(report, key)) for key, name in _MODELS], indent="  ")
    _title(tr("Problems"))
    problems = [*_problems(report)]
    for problem, mended_by in problems:
        say(output.wrapped(problem, indent="    ", first="  "))
        if mended_by:
            say(output.wrapped(mended_by, indent="    ", first="    → "))
    if not problems:
        say("  " + tr("none"))
    _title(tr("Versions"))
    versions = {**report["versions"], tr("store"): store.get("version")}
    shown = versions if everything else (*_VERSIONS, tr("store"))
    pairs([(name, versions[name]) for name in shown if versions[name] is not None], indent="  ")
    _title(tr("Paths"))
    paths = [(p["path"], human_size(p["bytes"])) for p in store.get("paths", {}).values()]
    if file := report["settings_file"]:
        paths.insert(0, (file, tr("settings")))
    pairs(paths or [(tr("none"), "")], indent="  ")
    for path in store.get("foreign", ()):
        say(output.safe(tr("  {path}: not part of the store").format(path=path)))
    if endpoint := store.get("endpoint"):
        pairs(endpoint.items(), indent="  ")
    _show_settings(report, everything=everything)
    if everything:
        _title(tr("Extras"))
        extras = [(n, "; ".join(e["problems"].values()) or tr("ok")) for n, e in report["extras"].items()]
        pairs(extras, indent="  ")
        if "graphs" in store:
            _show_store(report)
            _show_facts(report)
    else:
        say()
        say(tr("All settings, weights, indexes and statistics: graphrag-rdf doctor --all"))


def _model(report: dict[str, Any], key: str) -> str:
    """The name of a model, and what the probe report."""
    name = report["models"][key] or tr("none")
    probed = report.get("probe", {}).get(key)
    return f"{name}: {_said(probed)}" if probed else name


def _problems(report: dict[str, Any]) -> Iterator[tuple[str, str | None]]:
    """What is wrong, and how to mend it."""
    from graphrag_rdf.checks.diagnosis import remedy

    store = report.get("store", {})
    if "missing" in store:
        yield tr("there is no store yet"), "graphrag-rdf ingest DOCUMENTS"
    for fault in (report.get("settings_error"), store if "error" in store else None):
        if fault:
            yield fault["error"], fault["hint"]
    for warning in report.get("warnings", ()):
        yield output.typed(warning), remedy(warning["type"])
    for drift in report.get("configuration_drift", ()):
        message = tr("{what}: {count:,}, made with {made_with}, now {in_force}")
        in_force = drift["in_force"] or tr("none")
        yield message.format(**{**drift, "what": tr(drift["what"]), "in_force": in_force}), drift["remedy"]


def _show_settings(report: dict[str, Any], *, everything: bool) -> None:
    """Print the settings that differ from the defaults, or all, with their origins."""
    settings, weights = report["settings"], report["weights"]
    if everything:
        _title(tr("Settings"))
        shown = {key: entry for key, entry in settings.items() if key not in weights}
    else:
        _title(tr("Settings that differ from the defaults"))
        shown = {key: entry for key, entry in settings.items() if entry["origin"] != "default"}
    pairs(_with_origins(shown) or [(tr("none"), "")], indent="  ")
    if message := about_default(settings["extract.namespace"]["value"]):
        say(output.wrapped(message, indent="  "))
    if everything:
        _title(tr("Weights"))
        pairs(_with_origins(weights), indent="  ")


def _with_origins(settings: dict[str, Any]) -> list[tuple[str, object]]:
    return [(key, f"{entry['value']}{bracketed(tr(entry['origin']))}") for key, entry in settings.items()]


def _show_store(found: dict[str, Any]) -> None:
    store = found["store"]
    _title(tr("Quads by graph"))
    pairs([(tr("commit"), f"{store['commit']:,}"), (tr("quads"), f"{store['quads']:,}")], indent="  ")
    pairs([(graph, f"{count:,}") for graph, count in store["graphs"].items()], indent="  ")
    _title(tr("Indexes"))
    show_indexes(found, indent="  ")


def _show_facts(found: dict[str, Any]) -> None:
    """Print the sections about facts and entities."""
    _title(tr("Entities"))
    pairs(found["entity_aliases"].items(), indent="  ")
    _title(tr("Feature flags"))
    pairs([(name, tr("on") if on else tr("off")) for name, on in found["feature_flags"].items()], indent="  ")
    _title(tr("Noise control"))
    noise = found["noise_control"]
    lengths = tr("{entity_min_length} to {entity_max_length} characters").format(**noise)
    rejected = [
        (tr("rejected, {reason}").format(reason=reason), f"{count:,}")
        for reason, count in noise["rejected"].items()
    ]
    rare = tr("fewer than {cooccur_min_count} times").format(**noise)
    hubs = tr("in more than {hub_limit} chunks").format(**noise)
    unsure = tr("confidence below {relation_min_confidence:g}").format(**noise)
    left_out = [
        (tr("left out, co-occurrences"), rare),
        (tr("left out, entities"), hubs),
        (tr("left out, model relations"), unsure),
    ]
    pairs([(tr("names"), lengths), *left_out, *rejected[:_LISTED]], indent="  ")
    counts = found["relation_counts"]
    derived = {name: number for name, number in counts.items() if name.startswith("rag:")}
    _title(tr("Relations of chunks and of entities"))
    pairs([(name, f"{n:,}") for name, n in derived.items()] or [(tr("none"), "")], indent="  ")
    _title(tr("Facts by relation"))
    said = [(name, f"{n:,}") for name, n in counts.items() if name not in derived]
    pairs(said[:_LISTED], indent="  ")


def _said(entry: dict[str, Any]) -> str:
    """The result of a probe, in words."""
    if not entry["reachable"]:
        return tr("does not answer: {error}").format(error=entry["error"])
    parts = [tr("answers in {seconds:.1f} s").format(seconds=entry["seconds"])]
    if "dimension" in entry:
        parts.append(tr("{dimension} dimensions").format(dimension=entry["dimension"]))
    if entry.get("fits") is False:
        index = entry["index_dimension"]
        told = (
            tr("but the index has {dimension}: run graphrag-rdf index rebuild")
            if index
            else tr("but the index has another model: run graphrag-rdf index rebuild")
        )
        parts.append(told.format(dimension=index))
    return listed(parts)


def _title(text: str) -> None:
    say(styled(text, bold=True))
