"""What a call of a tool comes with: who calls, what runs it, and where it tells how far it is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.requests import HTTPConnection

from graphrag_rdf.config import Role
from graphrag_rdf.server.http.access import ROLES, Access
from graphrag_rdf.server.service import Service, client_of

Progress = Callable[[int, int | None, str], Awaitable[None]]
"""Told how much is done, of how much where that is known, and what that was."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls.

    Attributes:
        role: what it may do.
        client: what limits are counted by.
        known: whether it sent a token, or is the user who started the program.
    """

    role: Role
    client: str
    known: bool
    access: Access

    @classmethod
    def of_request(cls, connection: HTTPConnection) -> Caller:
        """Whoever sent a request."""
        state = connection.scope["state"]
        known = state["token"] is not None
        return cls(state["role"], client_of(connection), known, connection.app.state.access)

    @classmethod
    def local(cls) -> Caller:
        """The user who started the program."""
        return cls("write", "local", True, Access([]))

    def may(self, needed: Role) -> bool:
        """Whether its role is enough."""
        return ROLES.index(self.role) >= ROLES.index(needed)

    def require(self, needed: Role) -> None:
        """Raises Problem 401 or 403 unless its role is enough."""
        if not self.may(needed):
            raise self.access.refuse(self.role, needed, known=self.known)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool."""

    service: Service
    caller: Caller
    progress: Progress


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tool gives: for programs, and for people and models to read."""

    data: dict[str, Any]
    text: str
