"""Readers of further file formats."""

from __future__ import annotations

from graphrag_rdf.i18n import later
from graphrag_rdf.wing import Wing

LANGUAGES: dict[str, tuple[str, ...]] = {
    "python": (".py", ".pyi"),
    "javascript": (".js", ".mjs", ".cjs", ".jsx"),
    "typescript": (".ts", ".tsx"),
    "java": (".java",),
    "kotlin": (".kt", ".kts"),
    "scala": (".scala",),
    "c": (".c", ".h"),
    "cpp": (".cc", ".cpp", ".cxx", ".hpp", ".hh"),
    "csharp": (".cs",),
    "go": (".go",),
    "rust": (".rs",),
    "swift": (".swift",),
    "ruby": (".rb",),
    "php": (".php",),
    "perl": (".pl", ".pm"),
    "lua": (".lua",),
    "r": (".r",),
    "julia": (".jl",),
    "haskell": (".hs",),
    "sql": (".sql",),
    "bash": (".sh", ".bash"),
    "css": (".css",),
}
"""Name that Pygments knows → suffixes."""

_HERE = "graphrag_rdf.wings.formats"
_OFFICE = "application/vnd.openxmlformats-officedocument."
_OPEN = "application/vnd.oasis.opendocument."

WING = Wing(
    name="formats",
    about=later("Office files, mail, e-books, JSON and chats, source code, LaTeX and other formats."),
    readers={
        f"{_OFFICE}wordprocessingml.document": (f"{_HERE}.office:read_docx", (".docx",)),
        f"{_OFFICE}spreadsheetml.sheet": (f"{_HERE}.sheets:read_xlsx", (".xlsx",)),
        f"{_OFFICE}presentationml.presentation": (f"{_HERE}.office:read_pptx", (".pptx",)),
        "application/json": (f"{_HERE}.json_records:read_json", (".json",)),
        "application/jsonl": (f"{_HERE}.json_records:read_json_lines", (".jsonl", ".ndjson")),
        "application/epub+zip": (f"{_HERE}.epub:read_epub", (".epub",)),
        f"{_OPEN}text": (f"{_HERE}.opendocument:read_odt", (".odt", ".ott")),
        f"{_OPEN}spreadsheet": (f"{_HERE}.opendocument:read_ods", (".ods",)),
        f"{_OPEN}presentation": (f"{_HERE}.opendocument:read_odp", (".odp",)),
        "application/rtf": (f"{_HERE}.rtf:read_rtf", (".rtf",)),
        "message/rfc822": (f"{_HERE}.mail:read_message", (".eml",)),
        "application/mbox": (f"{_HERE}.mail:read_mailbox", (".mbox",)),
        "text/org": (f"{_HERE}.org:read_org", (".org",)),
        "text/x-rst": (f"{_HERE}.rst:read_rst", (".rst", ".rest")),
        "application/x-tex": (f"{_HERE}.tex:read_tex", (".tex", ".latex")),
        "text/vtt": (f"{_HERE}.chats:read_subtitles", (".vtt",)),
        "application/x-subrip": (f"{_HERE}.chats:read_subtitles", (".srt",)),
        **{f"text/x-{name}": (f"{_HERE}.code:{name}", suffixes) for name, suffixes in LANGUAGES.items()},
    },
)
