"""`config`: the settings in use, and those stored in the store; `init`: write a settings file."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command, Group
from graphrag_rdf.cli.output import format_option, note, safe, say, warn
from graphrag_rdf.cli.session import effects, in_folder, load, open_engine, stored_settings
from graphrag_rdf.config.elsewhere import meant
from graphrag_rdf.errors import ConfigError, StoreLockedError, UsageError
from graphrag_rdf.i18n import tr

_BASE = re.compile(r"https?://[^\s<>\"{}|\\^`/]+/(?:[^\s<>\"{}|\\^`]*[/#])?|urn:[^\s<>\"{}|\\^`]+[/:#]")

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphrag_rdf.config import Loaded, Settings
    from graphrag_rdf.store.settings import Value, Version


@click.group(
    cls=Group,
    examples=[
        "graphrag-rdf config get llm.model",
        "graphrag-rdf config set graph_rag.exploration.passage_words 0.5",
    ],
)
def config_command() -> None:
    """Show the settings and the origin of each, and change those stored in the store.

    Order of precedence: command line, environment (GRAPHRAG_RDF_LLM__MODEL), graphrag.toml (see graphrag-rdf
    init), settings in the store, defaults. The store can also hold parameters of pipelines, as
    PIPELINE.STEP.PARAMETER.
    """


@config_command.command("list", examples=["graphrag-rdf config list --format json"])
@format_option()
def list_(form: str) -> None:
    """List every setting with its value and origin."""
    _list(form)


@config_command.command(
    "get", examples=["graphrag-rdf config get llm.model", "graphrag-rdf config get --format json"]
)
@click.argument("key", required=False)
@format_option()
def get(key: str | None, form: str) -> None:
    """Print the value of one setting, e.g. llm.model, or all with their origins."""
    if key is None:
        _list(form)
        return
    loaded = load(require_trust=False)
    given = loaded.origins.get(key, "default") != "default"
    found = _described(loaded) if not given else _without_store(loaded)
    if key not in found:
        hint = meant(key, found, tr("graphrag-rdf config list shows all settings"))
        raise ConfigError(tr("unknown setting {key!r}").format(key=key), hint=hint)
    if not output.write(form, {"key": key, **found[key]}):
        say(safe(_text(found[key]["value"])))


@config_command.command(
    "set",
    examples=[
        "graphrag-rdf config set graph_rag.exploration.passage_words 0.5",
        "graphrag-rdf config set extract.entity_types Person,Place",
    ],
)
@click.argument("key")
@click.argument("value")
def set_(key: str, value: str) -> None:
    """Store a setting in the store, for the next question on.

    The command line, the environment and graphrag.toml override it. Secrets, paths, addresses and permissions
    cannot be stored. A model that you set here is trusted on this computer.
    """
    from graphrag_rdf.config import trust as trusting

    with stored_settings(create=True) as stored:
        kept, changed = stored.set(key, value)
        if trusting.effect(key, kept, None):
            trusting.trust(stored.place, {key: kept})
    loaded = load()
    winner = loaded.origins.get(key, "default")
    if winner != "default":
        warn(
            tr("{key} is stored but has no effect: the {winner} overrides it").format(key=key, winner=winner)
        )
    note(
        safe(
            f"{key} = {_text(kept)}"
            if changed
            else tr("{key} was already {kept}").format(key=key, kept=_text(kept))
        )
    )


@config_command.command("unset", examples=["graphrag-rdf config unset graph_rag.exploration.passage_words"])
@click.argument("key")
def unset(key: str) -> None:
    """Remove a setting from the store."""
    with stored_settings() as stored:
        stored.unset(key)
    note(safe(tr("{key} is no longer set in the store").format(key=key)))


@config_command.command("history", examples=["graphrag-rdf config history --format json"])
@format_option()
def history(form: str) -> None:
    """List the versions of the stored settings, newest first, with the changes of each."""
    with open_engine(read_only=True, beside=True) as engine:
        versions = engine.live.history()
    before: list[Mapping[str, Value]] = [*(version.values for version in versions), {}]
    rows = [_version(version, before[place + 1]) for place, version in enumerate(versions)]
    if output.write(form, rows):
        return
    shown = [
        (
            row["version"],
            _seconds(row["time"]),
            row["reason"] + tr(" (altered later)") if row["altered"] else row["reason"],
            _changes(row),
        )
        for row in rows
    ]
    output.table((tr("version"), tr("time"), tr("what"), tr("changes")), shown)


@config_command.command("restore", examples=["graphrag-rdf config restore 3"])
@click.argument("version", type=click.IntRange(1))
def restore(version: int) -> None:
    """Restore an earlier VERSION of the stored settings, as a new version."""
    with stored_settings() as stored:
        values, changed = stored.restore(version)
    if changed:
        note(
            tr("restored version {version}: {count} settings are stored").format(
                version=version, count=len(values)
            )
        )
    else:
        note(
            tr("nothing to restore: the stored settings are those of version {version}").format(
                version=version
            )
        )


@config_command.command(
    "trust",
    examples=["graphrag-rdf config trust", "graphrag-rdf config trust --revoke"],
)
@click.argument(
    "file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="[FILE]"
)
@click.option("--revoke", is_flag=True, help="Stop trusting the file and the store.")
def trust(file: Path | None, revoke: bool) -> None:
    """Trust the addresses, models and paths in graphrag.toml of the current folder and in the store.

    Read the file first. The command prints each such setting with its effect, then trusts its value, and the
    programs and addresses in tools.yaml of your pipelines. A new one is refused until you trust it too; other
    settings may change freely. With FILE, only that settings file is trusted.
    """
    from graphrag_rdf.config import CONFIG_FILE
    from graphrag_rdf.config import trust as trusting

    path = file or Path(CONFIG_FILE)
    if revoke:  # the store first: it may be unreachable without the trusted file
        done = file is None and _distrust_store()
        done = trusting.distrust(trusting.place_of(path)) or done
        note(tr("no longer trusted") if done else tr("nothing was trusted"))
        return
    done = path.is_file() and _trust_file(path)
    done = (file is None and _trust_store()) or done
    note(tr("trusted; undo with --revoke") if done else tr("nothing to trust: no setting needs it"))


def _trust_file(path: Path) -> bool:
    from graphrag_rdf.config import destinations
    from graphrag_rdf.config import trust as trusting

    untrusted = destinations(path)
    for line in effects(path, untrusted):
        say(line)
    if untrusted:
        trusting.trust(trusting.place_of(path), {key: value for key, (value, _) in untrusted.items()})
    return bool(untrusted)


def _distrust_store() -> bool:
    from graphrag_rdf.config import trust as trusting

    loaded = load(require_trust=False)
    if loaded.untrusted or not _is_there(loaded.settings):
        return False
    with open_engine(read_only=True, beside=True) as engine:
        return trusting.distrust(engine.known_as)


def _trust_store() -> bool:
    """Trust the settings of the store; whether that changed anything."""
    from graphrag_rdf.config import trust as trusting

    settings = load().settings
    if not _is_there(settings):
        return False
    with open_engine(read_only=True, beside=True) as engine:
        trusted = engine.live.trust()
    for key, value in trusted.items():
        say(safe(f"{settings.store}: {key} = {_text(value)}: {trusting.effect(key, value, None)}"))
    return bool(trusted)


def _is_there(settings: Settings) -> bool:
    """Whether the store exists."""
    from graphrag_rdf.store.folder import StoreFolder

    if settings.store == ":memory:":
        return False
    return (
        not in_folder(settings) or StoreFolder.of_collection(Path(settings.store), settings.collection).exists
    )


def _list(form: str) -> None:
    loaded = load(require_trust=False)
    try:
        found = _described(loaded)
    except StoreLockedError as error:
        warn(tr("{message}. Settings in the store are not shown").format(message=error.message))
        found = _without_store(loaded)
    rows = [{"key": key, **entry} for key, entry in found.items()]
    if output.write(form, rows):
        return
    output.table(
        (tr("setting"), tr("value"), tr("origin")),
        [(row["key"], _text(row["value"]), tr(row["origin"])) for row in rows],
    )


def _described(loaded: Loaded) -> dict[str, dict[str, Any]]:
    """Each setting with value and origin, including those of the store, if there is one."""
    from graphrag_rdf.live_settings import describe

    if loaded.untrusted:
        keys = ", ".join(loaded.untrusted)
        warn(
            tr("{file} sets {keys}, which you have not trusted. Run: graphrag-rdf config trust").format(
                file=loaded.file, keys=keys
            )
        )
        return _without_store(loaded)
    if not _is_there(loaded.settings):
        return _without_store(loaded)
    with open_engine(read_only=True, beside=True) as engine:
        now = engine.live.read()
        for key, value in now.untrusted.items():
            warn(
                tr(
                    "{key} = {value} in the store is ignored. To trust it, run: graphrag-rdf config trust"
                ).format(key=key, value=_text(value))
            )
        for words in now.notes():
            warn(words)
        return describe(loaded, now)


def _without_store(loaded: Loaded) -> dict[str, dict[str, Any]]:
    from graphrag_rdf.live_settings import describe

    return describe(loaded, None)


def _version(version: Version, before: Mapping[str, Value]) -> dict[str, Any]:
    """The keys of `config history --format json`."""
    changed = {
        key: {
            side: values[key] for side, values in (("from", before), ("to", version.values)) if key in values
        }
        for key in sorted({*before, *version.values})
        if (key in before) != (key in version.values) or before.get(key) != version.values.get(key)
    }
    return {
        "version": version.number,
        "iri": version.iri.value,
        "time": version.made.isoformat(),
        "reason": version.reason,
        "changed": changed,
        "settings": dict(version.values),
        "altered": version.altered,
    }


def _seconds(time: str) -> str:
    """A time without fractions of seconds."""
    return time[:19].replace("T", " ")


def _changes(row: Mapping[str, Any]) -> str:
    return "; ".join(
        f"{key}: {_side(change, 'from')} → {_side(change, 'to')}" for key, change in row["changed"].items()
    )


def _side(change: Mapping[str, Any], side: str) -> str:
    return _text(change[side]) if side in change else tr("not set")


def _text(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _base(namespace: str) -> str:
    """A base IRI as it stands in TOML.

    Raises:
        UsageError: it is no absolute IRI that ends in / or #.
    """
    if not _BASE.fullmatch(namespace):
        raise UsageError(
            tr("{namespace} is no base IRI").format(namespace=namespace),
            hint=tr("write one like https://data.example.org/, ending in / or #"),
        )
    return namespace


@click.command(
    cls=Command,
    examples=[
        "graphrag-rdf init",
        "graphrag-rdf init --namespace https://data.example.org/",
        "graphrag-rdf init --pipelines my-project",
    ],
)
@click.argument("folder", metavar="[DIR]", type=click.Path(file_okay=False, path_type=Path), default=".")
@click.option(
    "--namespace",
    metavar="IRI",
    help="Base IRI of documents, entities, relations and types (default: random; asked for on a terminal).",
)
@click.option("--pipelines", is_flag=True, help="Also write editable copies of pipelines and prompts.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def init_command(folder: Path, namespace: str | None, pipelines: bool, force: bool) -> None:
    """Write a commented graphrag.toml into DIR (the current folder).

    The file lists every setting with its default, commented out, and sets a namespace of your own.
    """
    from graphrag_rdf import resources
    from graphrag_rdf.config import CONFIG_FILE, commented_toml
    from graphrag_rdf.rdf.iris import DEFAULT_NAMESPACE

    settings, copies = folder / CONFIG_FILE, folder / "pipelines"
    wanted = [settings, copies] if pipelines else [settings]
    there = [path for path in wanted if path.exists()]
    if there and not force:
        names = ", ".join(map(str, there))
        raise UsageError(tr("already exists: {names}").format(names=names), hint=tr("overwrite with --force"))
    own = f"urn:uuid:{uuid4()}#"
    if namespace is None and sys.stdin.isatty():
        namespace = click.prompt(tr("Base IRI of your data, in a domain of yours"), default=own)
    text = commented_toml()
    text = text.replace(f'# namespace = "{DEFAULT_NAMESPACE}"', f'namespace = "{_base(namespace or own)}"')
    if pipelines:
        text = text.replace('# pipelines = "none"', 'pipelines = "pipelines"')
    folder.mkdir(parents=True, exist_ok=True)
    settings.write_text(text, encoding="utf-8")
    say(safe(tr("wrote {settings}").format(settings=settings)))
    if pipelines:
        shutil.copytree(resources.folder("pipelines"), copies, dirs_exist_ok=True)
        say(safe(tr("wrote {copies}/").format(copies=copies)))
