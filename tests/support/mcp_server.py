"""A small MCP server on stdin and stdout, with tools that fail in many ways; starts in no time."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

_ADD = {
    "type": "object",
    "properties": {
        "first": {"type": "integer", "description": "a number"},
        "second": {"type": "integer", "description": "another"},
        "unit": {"type": "string", "enum": ["m", "ft"]},
    },
    "required": ["first", "second"],
}
_NONE = {"type": "object", "properties": {}}


def call(name: str, arguments: dict[str, Any]) -> str:
    if name == "add":
        return f"{arguments['first'] + arguments['second']} {arguments.get('unit', 'm')}"
    if name == "secret":
        return os.environ.get("SECRET", "none")
    if name == "big":
        return "x" * 10_000_000
    if name == "hang":
        time.sleep(60)
    if name == "leave":
        sys.exit(3)
    raise ValueError("it broke")


def answer(request: dict[str, Any]) -> dict[str, Any]:
    method, parameters = request["method"], request.get("params") or {}
    if method == "initialize":
        about = {"name": "small", "version": "1"}
        version = parameters["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        names = ("add", "secret", "big", "hang", "leave", "break")
        tools = [
            {"name": name, "description": f"To {name}.", "inputSchema": _ADD if name == "add" else _NONE}
            for name in names
        ]
        return {"tools": tools}
    if method == "tools/call":
        try:
            text, wrong = call(parameters["name"], parameters.get("arguments") or {}), False
        except ValueError as error:
            text, wrong = str(error), True
        return {"content": [{"type": "text", "text": text}], "isError": wrong}
    raise KeyError(method)


def main() -> None:
    if sys.argv[1:] == ["silent"]:
        time.sleep(60)
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            message["result"] = answer(request)
        except KeyError:
            message["error"] = {"code": -32601, "message": "no such method"}
        print(json.dumps(message), flush=True)


if __name__ == "__main__":
    main()
