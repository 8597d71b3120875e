"""The package prov: a trace in PROV-XML and PROV-JSON."""

import json
import os

from prov.model import ProvActivity, ProvDocument, ProvEntity

given = json.loads(os.environ["GIVEN"])
found = {}
for form, path in given["files"].items():
    document = ProvDocument.deserialize(path, format=form)
    found[form] = [len(list(document.get_records(kind))) for kind in (ProvActivity, ProvEntity)]
print(json.dumps(found))
