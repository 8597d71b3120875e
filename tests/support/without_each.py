"""Runs commands of a copy of the package, once without each of several sets of wings.

A process for each set begins as a copy of this one, which has imported the large libraries, and runs all
commands. Arguments: the folder of the copy, whose `wings/` is changed, and that of the documents. Standard
input has set → names of its wings, as JSON; standard output gets set → command → exit code, output, errors.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from importlib import import_module
from pathlib import Path

QUESTION = "Who designed Drumlaw Head Lighthouse?"
COMMANDS = {
    "help": ["--help"],
    "ingest": ["ingest", "documents", "--format", "json"],
    "ask": ["ask", QUESTION, "--format", "json"],
    "trace": ["trace", "show", "last"],
    "doctor": ["doctor"],
    "pipelines": ["pipelines", "list"],
    "check": ["check"],
    "config": ["config", "list"],
}
LIBRARIES = ("click.testing", "jinja2", "mcp", "numpy", "onnxruntime", "pydantic", "pyoxigraph", "tantivy")


def main() -> None:
    """Run all."""
    place = Path(sys.argv[1])
    for name in LIBRARIES:
        import_module(name)
    from py3langid import langid

    langid.classify("")  # loads its model
    wings = {path.name: path.resolve() for path in (place / "graphrag_rdf" / "wings").iterdir()}
    outcomes = {}
    for title, lacking in json.load(sys.stdin).items():
        for name, path in wings.items():
            link = place / "graphrag_rdf" / "wings" / name
            link.unlink(missing_ok=True)
            if name not in lacking:
                link.symlink_to(path)
        folder = place / title
        folder.mkdir()
        (folder / "documents").symlink_to(sys.argv[2])
        if (child := os.fork()) == 0:
            try:
                (folder / "outcomes.json").write_text(json.dumps(run(place, folder)), encoding="utf-8")
            except Exception:  # noqa: BLE001 - the test shows it
                traceback.print_exc()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        written = folder / "outcomes.json"
        outcomes[title] = json.loads(written.read_text("utf-8")) if written.exists() else {}
    json.dump(outcomes, sys.stdout)


def run(place: Path, folder: Path) -> dict[str, tuple[int, str, str]]:
    """Run the commands in the folder, in this process."""
    from click.testing import CliRunner

    sys.path.insert(0, str(place))
    os.chdir(folder)
    from graphrag_rdf.cli import app, check

    assert Path(app.__file__).is_relative_to(place)
    check.bounded = lambda work, _: work()  # a fork with open stores would hang
    outcomes = {}
    for name, arguments in COMMANDS.items():
        ended = CliRunner().invoke(app.root, arguments, prog_name="graphrag-rdf")
        raised = "".join(traceback.format_exception(ended.exception)) if ended.exception else ""
        outcomes[name] = (ended.exit_code, ended.stdout, ended.stderr + raised)
    return outcomes


if __name__ == "__main__":
    main()
