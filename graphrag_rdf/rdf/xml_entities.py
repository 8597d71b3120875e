"""Entity declarations of RDF/XML, checked before the parser expands them.

The engine's parser takes no external entities, but expands internal ones without bound ("billion laughs"). It
reads UTF-8 only, so bytes can be searched.
"""

from __future__ import annotations

import re
from mmap import mmap

from graphrag_rdf.errors import UsageError

_DECLARED = re.compile(rb"<!ENTITY\s+(?:(%)\s+)?([^\s'\"<>&;]+)\s+(?:\"([^\"]*)\"|'([^']*)')?")
_REFERENCE = re.compile(rb"&([^#\s;&<>]{1,256});")


def check_entities(xml: bytes | mmap, limit: int) -> None:
    """Accept a document only if its entities are plain texts of limited total size.

    Args:
        xml: UTF-8.
        limit: bytes of all expanded references.

    Raises:
        UsageError: for nested entities, parameter entities, or when the limit is exceeded.
    """
    if xml.find(b"<!ENTITY") < 0:
        return
    values: dict[bytes, bytes] = {}
    for declared in _DECLARED.finditer(xml):
        parameter, name, double, single = declared.groups()
        value = double or single or b""
        if parameter or _REFERENCE.search(value) or b"%" in value:
            raise UsageError("the XML declares nested entities")
        values.setdefault(name, value)
    grown = sum(len(values.get(found[1], b"")) for found in _REFERENCE.finditer(xml))
    if grown > limit:
        raise UsageError(f"the entities of the XML expand to more than {limit:,} bytes")
