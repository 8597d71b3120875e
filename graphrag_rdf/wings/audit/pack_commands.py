"""`pack verify`, `keys new`, and what `trace export --pack` calls."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.output import format_option, one_line, say
from graphrag_rdf.cli.process import DONE, FAILED
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import listed, tr
from graphrag_rdf.wings.audit.commands import model_option, show_check, show_differences

if TYPE_CHECKING:
    from pyoxigraph import NamedNode

    from graphrag_rdf.engine import Engine

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def write_pack(engine: Engine, session: NamedNode, path: Path, sign: Path | None, **options: Any) -> None:
    """Write a pack, and say what of it is not proved; the options are those of `make_pack`."""
    from graphrag_rdf.server.page_images import PageImages
    from graphrag_rdf.wings.audit.pack import pack_of
    from graphrag_rdf.wings.audit.signing import read_key

    key = None if sign is None else read_key(sign)
    pack, state = pack_of(engine, session, PageImages(engine.blobs).page, key=key, **options)
    path.write_bytes(pack.to_zip())
    if state:
        output.note(tr("the store has changed since: the pack has {state}").format(state=state))
    signed = tr("signed with {key}").format(key=sign) if sign else tr("not signed")
    output.note(tr("wrote {path}, {signed}").format(path=path, signed=signed))
    if pack.unproved:
        message = tr("not proved, as the store has changed since or they read too much: {queries}")
        output.warn(message.format(queries=listed(dict.fromkeys(pack.unproved))))


@click.group(cls=Group, examples=["graphrag-rdf pack verify answer.zip"])
def pack_command() -> None:
    """Packs: an answer with all that proves it, as a ZIP file; `trace export --pack` makes them."""


@pack_command.command(
    "verify",
    examples=[
        "graphrag-rdf pack verify answer.zip",
        "graphrag-rdf pack verify answer.zip --key did:key:z6Mk… --format json",
        "graphrag-rdf pack verify answer.zip --against ./graphrag-store --ask",
    ],
)
@click.argument("file", type=_FILE)
@click.option("--key", metavar="DID", help="Require a signature by this key (did:key:…).")
@click.option("--against", metavar="STORE", help="Also show what has changed in this store since.")
@click.option("--ask", is_flag=True, help="With --against: ask the question again, and show the differences.")
@model_option
@format_option()
def verify_command(
    file: Path, key: str | None, against: str | None, ask: bool, model: str | None, form: str
) -> int:
    """Check a pack without the store that it comes from; exit code 1 if a check fails.

    Signature, hashes, quotes, citations and facts are checked, and each query that decided runs again on the
    included RDF. Nothing in the pack is trusted.
    """
    from graphrag_rdf.rdf.json_values import to_json
    from graphrag_rdf.wings.audit.difference import differences
    from graphrag_rdf.wings.audit.pack_verify import verify_pack
    from graphrag_rdf.wings.audit.replay import asked_again
    from graphrag_rdf.wings.audit.since import changes

    if (ask or model) and against is None:
        raise UsageError(tr("--ask and --model need --against STORE"))
    verified = verify_pack(file, key)
    since: dict[str, Any] = {}
    if against is not None and verified.trace is not None and verified.included is not None:
        with open_engine({"store": against}, beside=True) as engine:
            since["changes"] = list(changes(engine.store, verified.included, verified.trace))
            if ask:
                again = asked_again(engine, verified.trace, model)
                since["same_answer"] = again.answer == verified.trace.answer
                since |= {"answer": again.answer, "differences": differences(verified.trace, again)}
    if not output.write(form, {**verified.json_object(), **({"against": since} if against else {})}):
        for text in filter(None, (verified.question, verified.answer)):
            say(output.wrapped(text, indent="  ", first=""))
        for check in verified.checks:
            show_check(check)
        if since:
            say(tr("Since then, in {store}:").format(store=one_line(against)))
        for change in since.get("changes", ()):
            show_check(change)
        if since.get("changes") == []:
            say(tr("documents, facts and entities that the answer rests on are as they were"))
        if ask and since:
            show_differences(to_json(since["differences"]))
            say(tr("the answer is the same") if since["same_answer"] else tr("the answer is different"))
    return DONE if verified.ok else FAILED


@click.group(cls=Group, examples=["graphrag-rdf keys new audit.pem"])
def keys_command() -> None:
    """Keys by which packs are signed."""


@keys_command.command("new", examples=["graphrag-rdf keys new audit.pem"])
@click.argument("file", type=click.Path(path_type=Path))
@format_option()
def new_command(file: Path, form: str) -> None:
    """Write a new private key (Ed25519), which only you can read, and print its public name (did:key).

    Publish the name where people who verify packs expect it; keep the file secret, and outside the store.
    """
    from graphrag_rdf.wings.audit.signing import new_key

    did = new_key(file)
    if not output.write(form, {"file": str(file), "did": did}):
        say(did)
