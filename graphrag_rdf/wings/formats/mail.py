"""Mail: a message, or a mailbox of them, with what is attached."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from email import message_from_bytes, policy
from email.message import EmailMessage, MIMEPart
from email.utils import getaddresses, parsedate_to_datetime
from itertools import islice
from pathlib import PurePath
from typing import Any

from graphrag_rdf.documents.model import Span, Table, Turn
from graphrag_rdf.documents.readers import content as c
from graphrag_rdf.documents.readers.encoding import decode
from graphrag_rdf.documents.readers.html import read_html
from graphrag_rdf.errors import defect_in_words
from graphrag_rdf.i18n import tr

RECIPIENT = c.SCHEMA + "recipient"
MOST_MESSAGES = 20_000
"""Of a mailbox."""

_MOST_PARTS = 200  # of a message
_DEEPEST = 3  # messages attached to messages
_NEXT = re.compile(rb"(?m)^From [^\r\n]*\r?\n(?=[!-9;-~]+:)")
_HEADERS = ("from", "to", "cc", "date", "subject")
# what somebody else wrote before, and who signs
_QUOTED = re.compile(
    r"(?m)^[ \t]*>[^\n]*$"
    r"|^[ \t]*(?:On|Am|Op|Le|El|Il)\b[^\n]{5,200}(?:\n[^\n]{0,100})?"
    r"\b(?:wrote|schrieb[^\n]{0,80}|schreef[^\n]{0,80}|a écrit|escribió|ha scritto)[ \t]*:[ \t]*$"
)
_ALL_BELOW = re.compile(
    r"(?m)^-- ?\r?$"
    r"|^[ \t]*-{2,}[ \t]*"
    r"(?:Original Message|Forwarded message|Ursprüngliche Nachricht|Oorspronkelijk bericht)"
    r"[ \t]*-{2,}"
    r"|^_{10,}\s*\n(?:From|Von|Van):|^Sent from my \w+"
)


def read_message(data: bytes) -> c.Content:
    """Extract a message: its headers, its text (of HTML what a reader sees), and what is attached.

    Headers, quoted replies and signatures are in the text and no sentences of it. Attachments are read as the
    files that they are, each as a page behind the message; a line names those that cannot be read, and why.

    Raises:
        UnreadableError: it is no message.
    """
    return _content(data, 0)


def read_mailbox(data: bytes) -> c.Content:
    """Extract the messages of a mailbox (mbox), as pages.

    Raises:
        UnreadableError: it is no mailbox, or holds too many messages.
    """
    starts = [match.start() for match in _NEXT.finditer(data)]
    if not starts or data[: starts[0]].strip():
        raise c.UnreadableError(tr("not a mailbox: it does not begin with a line “From …”"))
    if len(starts) > MOST_MESSAGES:
        raise c.UnreadableError(
            tr("more than {most_messages:,} messages").format(most_messages=MOST_MESSAGES), tr("split it")
        )
    pieces = zip(starts, [*starts[1:], len(data)], strict=True)
    messages = (_opened(data[start:end].partition(b"\n")[2]) for start, end in pieces)
    return _joined(page for mail, headers in messages for page in _pages(mail, headers, 0))


def _content(data: bytes, depth: int) -> c.Content:
    mail, headers = _opened(data)
    whole = _joined(_pages(mail, headers, depth))
    return replace(whole, title=headers["subject"], metadata=tuple(_metadata(mail, headers)))


def _joined(pages: Iterable[tuple[c.Content, str | None]]) -> c.Content:
    whole = c.joined(pages)
    return whole if len(whole.pages) > 1 else replace(whole, pages=())


def _opened(data: bytes) -> tuple[EmailMessage, dict[str, str]]:
    """A message and its headers."""
    mail: EmailMessage = message_from_bytes(data, policy=policy.default)
    headers = {name: _header(mail, name) for name in _HEADERS}
    if not any(headers.values()):
        raise c.UnreadableError(tr("not a message: it has neither sender, date nor subject"))
    return mail, headers


def _pages(mail: EmailMessage, headers: dict[str, str], depth: int) -> Iterator[tuple[c.Content, str | None]]:
    """The message's own text, then what is attached."""
    body = mail.get_body(("plain", "html"))
    words, tables = _words(body) if body is not None else ("", ())
    words = words.rstrip()
    head = "\n".join(f"{name.title()}: {value}" for name, value in headers.items() if value)
    senders, recipients = _names(headers["from"]), _names(f"{headers['to']}, {headers['cc']}")
    turns: tuple[Turn, ...] = ()
    if len(senders) == 1:
        listener = recipients[0] if len(recipients) == 1 and recipients != senders else None
        turns = (Turn(senders[0], listener, 0, (0, 0), 0, len(words), True),)
    letter = c.Content(words, tables=tables, unsaid=tuple(_not_own(words)), turns=turns)
    parts = [(c.Content(head, unsaid=((0, len(head)),)), None), (letter, None)]
    yield c.joined(parts, paged=False), headers["subject"] or None
    for part in islice(mail.iter_attachments(), _MOST_PARTS):
        yield _attached(part, depth)


def _header(mail: EmailMessage, name: str) -> str:
    try:
        return " ".join(str(mail.get(name) or "").split())
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
    ):  # what the library stumbles over in bad headers
        return ""


def _names(header: str) -> list[str]:
    """Who is called in a header, by name, else by address."""
    addresses = (name or address for name, address in getaddresses([header]))
    return list(dict.fromkeys(name.strip("'\"") for name in addresses if name))


def _metadata(mail: EmailMessage, headers: dict[str, str]) -> Iterator[tuple[str, str]]:
    for name in _names(headers["from"]):
        yield c.CREATOR, name
    for name in _names(f"{headers['to']}, {headers['cc']}"):
        yield RECIPIENT, name
    try:
        yield c.CREATED, parsedate_to_datetime(headers["date"]).isoformat()
    except (ValueError, TypeError, IndexError):
        yield c.CREATED, headers["date"]
    yield c.IDENTIFIER, _header(mail, "message-id").strip("<>")
    for keyword in _header(mail, "keywords").split(","):
        yield c.SUBJECT, keyword


def _words(part: MIMEPart) -> tuple[str, tuple[Table, ...]]:
    data = _payload(part)
    if part.get_content_subtype() == "html":
        content = read_html(data)
        return content.text, content.tables
    text, _ = decode(data, part.get_content_charset()) if data else ("", "")
    return text.replace("\r\n", "\n").replace("\f", "\n").strip("\n"), ()


def _payload(part: MIMEPart) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _inner(part: MIMEPart) -> bytes:
    """The bytes of a message that is attached, whichever way."""
    inner: Any = part.get_payload()
    return inner[0].as_bytes() if isinstance(inner, list) and inner else _payload(part)


def _not_own(words: str) -> list[Span]:
    """Where a text is quoted, or a signature."""
    below = _ALL_BELOW.search(words)
    end = below.start() if below else len(words)
    spans = [match.span() for match in _QUOTED.finditer(words, 0, end)]
    return [*spans, *([(end, len(words.rstrip()))] if end < len(words.rstrip()) else [])]


def _attached(part: MIMEPart, depth: int) -> tuple[c.Content, str]:
    """An attachment as a page, or a line that tells why it is none; and its name."""
    from graphrag_rdf.documents.readers import MEDIA_TYPES, READERS, suffix_of
    from graphrag_rdf.wing import load

    name = " ".join((part.get_filename() or "").split()) or "attachment"
    kind = MEDIA_TYPES.get(suffix_of(name)) or (
        part.get_content_type() if part.get_content_type() in READERS else None
    )
    why = ""
    content = c.Content("")
    try:
        if "message/rfc822" in {part.get_content_type(), kind}:
            why = "messages are nested too deeply" if depth >= _DEEPEST else ""
            content = content if why else _content(_inner(part), depth + 1)
        elif kind is None or kind == "application/mbox":
            why = "no reader for its format"
        else:
            content = load(READERS[kind])(_payload(part))
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the message is read
        why = str(c.damage(error) or defect_in_words(error))
    if why or not content.text:
        line = f"Attachment {PurePath(name).name} is not read: {why or 'no text found'}"
        content = c.Content(line, unsaid=((0, len(line)),))
    return content, name
