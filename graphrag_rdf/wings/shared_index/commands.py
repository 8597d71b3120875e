"""`index publish`."""

from __future__ import annotations

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command
from graphrag_rdf.cli.output import format_option, say
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.i18n import counted, tr


@click.command("publish", cls=Command, examples=["graphrag-rdf index publish --store http://127.0.0.1:7878"])
@format_option()
def publish_command(form: str) -> None:
    """Copy the indexes to where the setting index.shared says, for processes that only read.

    An ingest, and each other command that changes a store behind an endpoint, does this at its end.
    """
    from graphrag_rdf.wings.shared_index.publication import publish

    with open_engine() as engine:
        listing = publish(engine)
    size = sum(dict(listing.files.values()).values())
    if not output.write(form, {"commit": listing.commit, "files": len(listing.files), "bytes": size}):
        number = counted("{count} file", "{count} files", len(listing.files))
        message = tr("published the indexes of commit {commit}: {files}, {bytes:,} bytes")
        say(message.format(commit=listing.commit, files=number, bytes=size))
