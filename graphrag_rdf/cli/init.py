"""`init`: write a settings file."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from graphrag_rdf.cli.command import Command
from graphrag_rdf.cli.output import safe, say
from graphrag_rdf.errors import UsageError


@click.command(cls=Command, examples=["graphrag-rdf init", "graphrag-rdf init --pipelines my-project"])
@click.argument("folder", metavar="[DIR]", type=click.Path(file_okay=False, path_type=Path), default=".")
@click.option("--pipelines", is_flag=True, help="Also write editable copies of pipelines and prompts.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def init_command(folder: Path, pipelines: bool, force: bool) -> None:
    """Write a commented graphrag.toml into DIR (the current folder).

    The file lists every setting with its default, commented out.
    """
    from graphrag_rdf import resources
    from graphrag_rdf.config import CONFIG_FILE, commented_toml

    settings, copies = folder / CONFIG_FILE, folder / "pipelines"
    wanted = [settings, copies] if pipelines else [settings]
    there = [path for path in wanted if path.exists()]
    if there and not force:
        names = ", ".join(map(str, there))
        raise UsageError(f"already exists: {names}", hint="overwrite with --force")
    text = commented_toml()
    if pipelines:
        text = text.replace('# pipelines = "none"', 'pipelines = "pipelines"')
    folder.mkdir(parents=True, exist_ok=True)
    settings.write_text(text, encoding="utf-8")
    say(safe(f"wrote {settings}"))
    if pipelines:
        shutil.copytree(resources.folder("pipelines"), copies, dirs_exist_ok=True)
        say(safe(f"wrote {copies}/"))
