"""Tokens and their roles: bearer tokens (RFC 6750), or passwords of clients without them (RFC 7617)."""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
import stat
from base64 import b64decode
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

from pydantic import SecretStr
from starlette.requests import HTTPConnection

from graphrag_rdf.config import Role, ServerSection
from graphrag_rdf.errors import ConfigError, system_cause
from graphrag_rdf.i18n import tr
from graphrag_rdf.server.http.browsers import Browsers
from graphrag_rdf.server.http.problems import Problem

log = logging.getLogger(__name__)

ROLES: tuple[Role, ...] = get_args(Role)
_SHORTEST = 16
_SCHEME = {"WWW-Authenticate": 'Bearer realm="graphrag-rdf"'}


class Access:
    """The known tokens, by their hashes.

    Args:
        tokens: (role, token).
        anonymous: the role of a client without a token.

    Attributes:
        own: a token of role write, for commands of the user who runs the server (see `StoreFolder.token`).
        browsers: those of that user, which have the role write; None if they need a token as all others.

    Raises:
        ConfigError: when a token is too short, or invalid in a header.
    """

    def __init__(self, tokens: Iterable[tuple[Role, SecretStr]], anonymous: Role = "read") -> None:
        self.anonymous = anonymous
        self.own = secrets.token_urlsafe(24)
        self.browsers: Browsers | None = None
        self._known: list[tuple[bytes, Role]] = []
        for role, token in tokens:
            if len(token.get_secret_value()) < _SHORTEST:
                raise ConfigError(
                    tr("a token of role {role} is too short").format(role=role),
                    hint=tr("use {shortest} characters or more, e.g. from: openssl rand -hex 24").format(
                        shortest=_SHORTEST
                    ),
                )
            if not token.get_secret_value().isascii() or len(token.get_secret_value().split()) != 1:
                raise ConfigError(
                    tr("a token of role {role} has spaces or letters outside ASCII").format(role=role),
                    hint=tr("make one with: openssl rand -hex 24"),
                )
            self._known.append((_digest(token.get_secret_value()), role))

    @classmethod
    def of_settings(cls, settings: ServerSection) -> Access:
        """The tokens of settings and token file.

        Raises:
            ConfigError: when the file is missing or malformed.
        """
        configured: list[tuple[Role, SecretStr | None]] = [
            ("read", settings.read_token),
            ("write", settings.write_token),
            ("admin", settings.admin_token),
        ]
        tokens = [(role, token) for role, token in configured if token is not None]
        if settings.token_file is not None:
            tokens += read_tokens(settings.token_file)
        return cls(tokens, settings.anonymous)

    def identify(self, authorization: bytes | None, cookies: bytes | None = None) -> tuple[Role, str | None]:
        """(role of a request, a name for its token: None without one).

        Args:
            authorization: the header of that name.
            cookies: the header Cookie.

        Raises:
            Problem: 401 for an unknown token.
        """
        if authorization is None:
            if cookies is not None and self.browsers is not None and self.browsers.knows(cookies):
                return "write", "browser"
            return self.anonymous, None
        scheme, _, token = authorization.decode("latin-1").partition(" ")
        if scheme.lower() == "basic":
            token = _password(token)
        elif scheme.lower() != "bearer":
            token = ""
        if not token.strip():
            detail = tr("send the token as a bearer token, or as the password of any user")
            raise Problem(401, detail, headers=_SCHEME)
        return self.role_of(token.strip())

    def role_of(self, token: str) -> tuple[Role, str]:
        """(role of a token, a name for it).

        Raises:
            Problem: 401 for an unknown token.
        """
        digest = _digest(token)
        found: Role | None = None
        own: tuple[bytes, Role] = (_digest(self.own), "write")
        for known_digest, role in (*self._known, own):  # all of them: the time reveals nothing
            if hmac.compare_digest(known_digest, digest):
                found = role
        if found is None:
            raise Problem(401, tr("the token is not known"), headers={**_SCHEME})
        return found, f"token {digest[:6].hex()}"

    def takes(self, needed: Role) -> bool:
        """Whether a token grants a role."""
        return any(ROLES.index(role) >= ROLES.index(needed) for _, role in self._known)

    def refuse(self, role: Role, needed: Role, *, identified: bool) -> Problem:
        """The refusal for a client whose role is too small; `identified`: it sent a token."""
        if not identified:
            hint = tr("send: Authorization: Bearer TOKEN")
            if not self._known:
                hint_text = tr(
                    "this server has no tokens: start it with --token-file FILE, or --anonymous {role}"
                )
                hint = hint_text.format(role=needed)
            return Problem(
                401,
                tr("this needs a token of role {needed}").format(needed=needed),
                headers=_SCHEME,
                hint=hint,
            )
        return Problem(
            403,
            tr("the role {role} is not enough: this needs the role {needed}").format(
                role=role, needed=needed
            ),
        )


def authenticate(connection: HTTPConnection, token: str) -> None:
    """Give a WebSocket the role of a token in a message: pages cannot send headers there.

    Raises:
        Problem: 401 for an unknown token.
    """
    access: Access = connection.app.state.access
    role, name = access.role_of(token)
    connection.scope["state"].update(role=role, client=name, token=name)


def may(connection: HTTPConnection, needed: Role) -> bool:
    """Whether a request has a role."""
    role: Role = connection.scope["state"]["role"]
    return ROLES.index(role) >= ROLES.index(needed)


def require(connection: HTTPConnection, needed: Role) -> None:
    """Require a role.

    Raises:
        Problem: 401 or 403 without it.
    """
    if not may(connection, needed):
        access: Access = connection.app.state.access
        state = connection.scope["state"]
        raise access.refuse(state["role"], needed, identified=state["token"] is not None)


def read_tokens(path: Path) -> list[tuple[Role, SecretStr]]:
    """The tokens of a file: lines `role token`, and comments after #.

    Raises:
        ConfigError: when it cannot be read, or a line is malformed. The line is not repeated.
    """
    try:
        text = path.read_text("utf-8")
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            log.warning("%s can be read by others: chmod 600 it", path)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            tr("{path} cannot be read: {cause}").format(path=path, cause=system_cause(error))
        ) from error
    tokens: list[tuple[Role, SecretStr]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        role = next((role for role in ROLES[1:] if role == words[0]), None)
        if role is None or len(words) != 2:
            raise ConfigError(
                tr("{path}, line {number}: not of the form 'role token'").format(path=path, number=number),
                hint=tr("roles: read, write, admin"),
            )
        tokens.append((role, SecretStr(words[1])))
    return tokens


def _password(credentials: str) -> str:
    """The password of Basic authentication; empty when it is malformed."""
    try:
        return b64decode(credentials, validate=True).decode("latin-1").partition(":")[2]
    except ValueError:
        return ""


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
