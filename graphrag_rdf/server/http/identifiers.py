"""The id of a request, which its answer and the log carry."""

from __future__ import annotations

import re
import uuid
from itertools import count

_RUN, _COUNT = uuid.uuid4().hex[:8].encode(), count(1)
_SENT_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}\Z")


def identifier_of(sent: bytes) -> bytes:
    """What the client sent, if that is an id, else a new one."""
    return sent if _SENT_ID.match(sent) else b"%b-%x" % (_RUN, next(_COUNT))
