"""Chats that programs export as JSON (Telegram, Slack, Discord), read as the lines of a chat; subtitles.

What a value holds tells whose export it is, never the name of its file. Each message becomes a line,
`[2024-03-12 10:15] Ada Venn: …`. Messages of the program itself ("Ada joined") and those without words (a
picture) stay in the text and are no sentences.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from graphrag_rdf.documents.model import Span, Turn, join_pages
from graphrag_rdf.documents.readers.content import Content
from graphrag_rdf.documents.readers.encoding import decode
from graphrag_rdf.documents.text import one_line
from graphrag_rdf.documents.turns import with_listeners

_LONGEST_NAME = 100
_MOST_BYTES_OF_USERS = 20 * 1024 * 1024
_TOLD_BY_SLACK = frozenset({"", "bot_message", "me_message", "thread_broadcast", "file_share"})
_TOLD_BY_DISCORD = frozenset({"Default", "Reply", "ChatInputCommand", "ThreadStarterMessage"})
_LINK = re.compile(r"<([@#!]?)([^<>|\s]+)(?:\|([^<>]*))?>")


class Message(NamedTuple):
    """A message.

    Args:
        speaker: name of who wrote it; "" where the export names nobody.
        time: day and minute, as the export has them; "" where it has none.
        words: what it says.
        told: whether a person wrote these words, not the program.
    """

    speaker: str
    time: str
    words: str
    told: bool


class Chat(NamedTuple):
    """A chat with its name, or "" where the export does not name it."""

    name: str
    messages: list[Message]


Names = Callable[[], Mapping[str, str]]
"""Names of users by their identifiers, looked for beside the file where an export needs them."""


def read_chats(value: Any, folder: Path | None = None) -> Content | None:
    """The chats that a JSON value exports; None if it is none of the exports that are known.

    Args:
        value: with numbers as strings.
        folder: where the file is; a Slack export has the names of its users in it, or in the one above.
    """

    def names() -> Mapping[str, str]:
        return _users_beside(folder) if folder else {}

    for recognise in _EXPORTS:
        if chats := recognise(value, names):
            return _content(chats)
    return None


def _telegram(value: Any, _: Names) -> list[Chat]:
    """`result.json` of Telegram Desktop: one chat, or all of an account."""
    listed = _field(_field(value, "chats"), "list")
    chats = [chat for chat in (listed if isinstance(listed, list) else [value]) if _field(chat, "messages")]
    if not all(_all(chat["messages"], id=str, date=str, type=str) for chat in chats):
        return []
    if any("text" not in message for chat in chats for message in chat["messages"]):
        return []
    return [Chat(_text(chat.get("name")), [*map(_of_telegram, chat["messages"])]) for chat in chats]


def _of_telegram(message: dict[str, Any]) -> Message:
    parts = message.get("text")
    words = "".join(
        part if isinstance(part, str) else _text(_field(part, "text"))
        for part in (parts if isinstance(parts, list) else [parts])
    )
    service = message["type"] != "message"
    speaker = _text(message.get("actor" if service else "from")) or _text(message.get("from_id"))
    if not words:
        service, words = True, _first(message, "action", "media_type", "file", "photo")
    return Message(speaker, _minute(message["date"]), words, not service)


def _slack(value: Any, names: Names) -> list[Chat]:
    """A day of a channel in a Slack export: a list of messages."""
    if not _all(value, ts=str) or any(message.get("type") != "message" for message in value):
        return []
    users: dict[str, str] = {**names()}
    for message in value:
        profile = message.get("user_profile")
        if name := _first(profile, "real_name", "display_name", "name"):
            users.setdefault(_text(message.get("user")), name)
    return [Chat("", [_of_slack(message, users) for message in value])]


def _of_slack(message: dict[str, Any], users: Mapping[str, str]) -> Message:
    def link(match: re.Match[str]) -> str:
        mark, target, label = match.groups()
        if mark == "@":
            return "@" + (users.get(target) or label or target)
        return ("" if mark == "" else mark.replace("!", "@")) + (label or target)

    user = _text(message.get("user"))
    speaker = users.get(user) or _first(message, "username") or user or _text(message.get("bot_id"))
    words = html.unescape(_LINK.sub(link, _text(message.get("text"))))
    by_person = _text(message.get("subtype")) in _TOLD_BY_SLACK
    if not words:
        files = message.get("files")
        by_person = False
        words = ", ".join(_first(file, "name", "title") for file in files) if isinstance(files, list) else ""
    try:
        time = f"{datetime.fromtimestamp(float(message['ts']), UTC):%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        time = ""
    return Message(speaker, time, words, by_person)


def _discord(value: Any, _: Names) -> list[Chat]:
    """A channel as DiscordChatExporter writes it."""
    messages = _field(value, "messages")
    if not messages or not _all(messages, timestamp=str, author=dict, content=str):
        return []
    return [Chat(_text(_field(_field(value, "channel"), "name")), [*map(_of_discord, messages)])]


def _of_discord(message: dict[str, Any]) -> Message:
    words, by_person = message["content"], message.get("type", "Default") in _TOLD_BY_DISCORD
    if not words:
        files = message.get("attachments")
        by_person = False
        words = ", ".join(_first(file, "fileName") for file in files) if isinstance(files, list) else ""
    speaker = _first(message["author"], "nickname", "name")
    return Message(speaker, _minute(message["timestamp"]), words, by_person)


_EXPORTS: tuple[Callable[[Any, Names], list[Chat]], ...] = (_telegram, _slack, _discord)


def _content(chats: list[Chat]) -> Content:
    text, pages = join_pages(("\n".join(map(_line, chat.messages)), chat.name or None) for chat in chats)
    turns: list[Turn] = []
    unsaid: list[Span] = []
    for chat, page in zip(chats, pages, strict=True):
        chat_turns: list[Turn] = []
        start = page.offset
        for message in chat.messages:
            end = start + len(_line(message))
            if message.told and message.speaker.strip() and message.words.strip():
                chat_turns.append(_turn(message, start, end))
            else:
                unsaid.append((start, end))
            start = end + 1
        turns += with_listeners(chat_turns)
    several = len(chats) > 1
    title = "" if several else chats[0].name
    return Content(text, pages if several else (), title=title, unsaid=tuple(unsaid), turns=tuple(turns))


def _line(message: Message) -> str:
    return _before(message) + message.words.strip()


def _before(message: Message) -> str:
    time = f"[{message.time}] " if message.time else ""
    return f"{time}{_name(message)}: "


def _name(message: Message) -> str:
    return one_line(message.speaker)[:_LONGEST_NAME].strip() or "Somebody"


def _turn(message: Message, start: int, end: int) -> Turn:
    speaker, words = _name(message), start + len(_before(message))
    name = words - len(": ") - len(speaker)
    return Turn(speaker, None, start, (name, name + len(speaker)), words, end, told=True)


def _users_beside(folder: Path) -> dict[str, str]:
    """Names in the `users.json` of a Slack export; none if there is none, or it is something else."""
    folder = folder.absolute()
    for path in (folder / "users.json", folder.parent / "users.json"):
        try:
            if path.is_symlink() or not path.is_file() or path.stat().st_size > _MOST_BYTES_OF_USERS:
                continue
            users = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            continue
        if _all(users, id=str):
            return {
                user["id"]: _first(user, "real_name")
                or _first(user.get("profile"), "real_name", "display_name")
                or _first(user, "name")
                or user["id"]
                for user in users
            }
    return {}


def _all(values: Any, **types: type) -> bool:
    """Whether a value is a list, not empty, of objects that have fields of these types."""
    return (
        isinstance(values, list)
        and bool(values)
        and all(
            isinstance(value, dict) and all(isinstance(value.get(k), kind) for k, kind in types.items())
            for value in values
        )
    )


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _first(value: Any, *names: str) -> str:
    """The first of some fields that has text."""
    return next(filter(None, (_text(_field(value, name)).strip() for name in names)), "")


def _minute(time: str) -> str:
    """Day and minute of an ISO time; "" if it is none."""
    match = re.match(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}", time)
    return match[0].replace("T", " ") if match else ""


# --- subtitles -----------------------------------------------------------------------------------------


_TIME = r"(?:\d{1,3}:)?\d{1,2}:\d{2}[.,]\d{1,3}"
_SILENT = re.compile(
    r"^(?:\ufeff?WEBVTT[^\n]*(?:\n[^\n]+)*|(?:NOTE|STYLE|REGION)\b[^\n]*(?:\n[^\n]+)*"
    rf"|(?:[^\n]{{1,80}}\n)?{_TIME}[ \t]+-->[^\n]*)\r?$|</?[cibuv](?:\.[\w.]*)?(?:[ \t][^<>\n]*)?>|<{_TIME}>",
    re.M,
)
_VOICE = re.compile(r"<v(?:\.[\w.]*)?[ \t]+([^<>\n]{1,60})>")
_NAMED = re.compile(r"^(?:-[ \t]*)?([^\W\d_][^\W_]*(?:[ .'’-][^\W_]+){0,3})[ \t]*:[ \t]+", re.M)


def read_subtitles(data: bytes) -> Content:
    """Decode subtitles; `<v Ada>` and `Ada:` name speakers.

    Raises:
        UnreadableError: it is not text.
    """
    text, encoding = decode(data)
    unsaid = tuple(match.span() for match in _SILENT.finditer(text) if match[0].strip())
    return Content(text, encoding=encoding, unsaid=unsaid, turns=_turns(text, unsaid))


def _turns(text: str, unsaid: tuple[Span, ...]) -> tuple[Turn, ...]:
    marks = [(match.start(), match.span(1), match.end(), True) for match in _VOICE.finditer(text)]
    if not marks:
        cues = [
            match for match in _NAMED.finditer(text) if not any(a <= match.start() < b for a, b in unsaid)
        ]
        marks = [(match.start(), match.span(1), match.end(), False) for match in cues]
    ends = [*(start for start, *_ in marks), len(text)][1:]
    turns = (
        Turn(text[slice(*name)].strip(), None, start, name, words, end, marked)
        for (start, name, words, marked), end in zip(marks, ends, strict=True)
    )
    whole = [
        replace(turn, name=(turn.name[0], turn.name[0] + len(turn.speaker))) for turn in turns if turn.speaker
    ]
    return with_listeners(whole) if len(whole) > 1 else ()
