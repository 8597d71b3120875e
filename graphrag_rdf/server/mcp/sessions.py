"""Whose sessions are open: one client cannot have so many that there is none left for others."""

from __future__ import annotations

from collections import OrderedDict


class Sessions:
    """The sessions that were opened, those used last at the end.

    Args:
        most: of all clients, as the server has it: what is beyond has ended already.
        share: of one client.
    """

    def __init__(self, most: int, share: int) -> None:
        self._most = most
        self._share = share
        self._owners: OrderedDict[str, str] = OrderedDict()

    def used(self, session: str, client: str) -> None:
        """A client sent a request for a session."""
        if self._owners.get(session) == client:
            self._owners.move_to_end(session)

    def opened(self, session: str, client: str) -> list[str]:
        """The sessions to end, now that a client has one more: those that it used longest ago."""
        self._owners[session] = client
        mine = [name for name, owner in self._owners.items() if owner == client]
        over = mine[: max(0, len(mine) - self._share)]
        for name in over:
            del self._owners[name]
        while len(self._owners) > self._most:
            self._owners.popitem(last=False)
        return over
