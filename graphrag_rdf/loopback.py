"""Addresses of this computer."""

from __future__ import annotations

from ipaddress import ip_address

NAMES = ("localhost", "127.0.0.1", "::1")
"""Its usual names."""


def is_loopback(host: str) -> bool:
    """Whether a name or address belongs to this computer."""
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a name
        return host == "localhost"
