"""`doctor`: show the state of the installation, the settings, the store and its indexes."""

from __future__ import annotations

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
    later("version"),
    later("commit"),
    later("quads"),
    later("documents"),
    later("entities"),
    later("facts"),
)


@click.command(
    cls=Command,
    examples=["graphrag-rdf doctor", "graphrag-rdf doctor --probe", "graphrag-rdf doctor --format json"],
)
@click.option(
    "--probe", is_flag=True, help="Send each model a short request, and check that it fits its index."
)
@format_option()
def doctor_command(probe: bool, form: str) -> int:
    """Show versions, the origin of each setting, paths and sizes, graphs, indexes and models.

    Secrets are never shown. The exit code is 1 if the store or an index cannot be used, or if a probed model
    does not answer or does not fit its index. A missing store is not an error.
    """
    from graphrag_rdf.checks.diagnosis import environment

    loaded = load()
    found = environment(loaded)
    fault = _store(loaded, found, probe=probe)
    if not output.write(form, found):
        _show(found)
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


def _show(found: dict[str, Any]) -> None:
    _title(tr("Versions"))
    pairs(found["versions"].items(), indent="  ")
    _title(tr("Extras"))
    extras = [(name, "; ".join(e["problems"].values()) or tr("ok")) for name, e in found["extras"].items()]
    pairs(extras, indent="  ")
    _title(tr("Models"))
    pairs([(name, model or tr("none")) for name, model in found["models"].items()], indent="  ")
    for name, entry in found.get("probe", {}).items():
        say(output.safe(f"  {name}: {_said(entry)}"))
    _title(tr("Settings that differ from the defaults"))
    own = [
        (k, f"{e['value']}{bracketed(tr(e['origin']))}")
        for k, e in found["settings"].items()
        if e["origin"] != "default"
    ]
    pairs(own or [(tr("none"), "")], indent="  ")
    if told := about_default(found["settings"]["extract.namespace"]["value"]):
        say(output.wrapped(told, indent="  "))
    _title(tr("Weights"))
    pairs(
        [(k, f"{e['value']}{bracketed(tr(e['origin']))}") for k, e in found["weights"].items()], indent="  "
    )
    if problem := found.get("settings_error"):
        say(output.safe(f"  {problem['error']}"))
        say(output.safe(f"  {problem['hint'] or ''}"))
    store = found["store"]
    _title(tr("Store"))
    if "missing" in store:
        say(
            output.safe(
                tr("  no store at {missing} yet; graphrag-rdf ingest creates it").format(
                    missing=store["missing"]
                )
            )
        )
        return
    if "error" in store:
        say(output.safe(f"  {store['error']}"))
        say(output.safe(f"  {store['hint'] or ''}"))
        return
    _show_store(found)
    _show_facts(found)
    for warning in found["warnings"]:
        output.warn_of(warning)


def _show_store(found: dict[str, Any]) -> None:
    store = found["store"]
    pairs([(tr(name), f"{store[name]:,}") for name in _COUNTED], indent="  ")
    if endpoint := store.get("endpoint"):
        pairs(endpoint.items(), indent="  ")
    pairs([(p["path"], human_size(p["bytes"])) for p in store["paths"].values()], indent="  ")
    for path in store["foreign"]:
        say(output.safe(tr("  {path}: not part of the store").format(path=path)))
    _title(tr("Quads by graph"))
    pairs([(graph, f"{count:,}") for graph, count in store["graphs"].items()], indent="  ")
    _title(tr("Indexes"))
    show_indexes(found, indent="  ")
    _title(tr("Data made with former settings"))
    told = tr("{made_with}, now {in_force}: {remedy}")
    drift = [
        (f"{tr(d['what'])}: {d['count']:,}", told.format(**{**d, "in_force": d["in_force"] or tr("none")}))
        for d in found["configuration_drift"]
    ]
    pairs(drift or [(tr("nothing"), "")], indent="  ")


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
