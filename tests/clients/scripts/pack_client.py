"""A pack read as an RO-Crate, and its nanopublication checked."""

import json
import os
import tempfile
import zipfile
from pathlib import Path

from nanopub import Nanopub
from rdflib import ConjunctiveGraph
from rocrate.rocrate import ROCrate

given = json.loads(os.environ["GIVEN"])
with tempfile.TemporaryDirectory() as folder:
    with zipfile.ZipFile(given["files"][0]) as archive:
        archive.extractall(folder)
    crate = ROCrate(folder)
    root = crate.root_dataset
    nanopub = Nanopub(rdf=Path(folder) / "nanopub.trig")
    facts = ConjunctiveGraph().parse(Path(folder) / "trace.nq", format="nquads")
    found = {
        "version": crate.version,
        "name": root["name"],
        "description": root["description"],
        "missing": [part.id for part in root["hasPart"] if not (Path(folder) / part.id).is_file()],
        "listed": len(root["hasPart"]),
        "files": sum(path.is_file() for path in Path(folder).rglob("*")),
        "valid": nanopub.is_valid,
        "assertion": [str(triple[2]) for triple in nanopub.assertion],
        "statements": len(facts),
    }
print(json.dumps(found))
