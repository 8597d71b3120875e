"""What is this computer, and nobody else's."""

from __future__ import annotations

from ipaddress import ip_address

NAMES = ("localhost", "127.0.0.1", "::1")
"""What it is called by, as a rule."""


def is_loopback(host: str) -> bool:
    """Whether a name or address never leaves this computer."""
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a name
        return host == "localhost"
