"""The title of a document: the declared one, unless it is meaningless, else one from the text.

Programs fill in titles: the number of a filing, a file name, "Untitled". The cover of a filing says who files
which form for which period; that is its title, whatever was declared.
"""

from __future__ import annotations

import re

from graphrag_rdf.documents.text import word_list

PART = " — "
"""What stands between the parts of a title."""

_COVER_AT = 5000  # characters in which a cover stands
_LONGEST_NAME = 120  # characters of a line that may be who files
_WORD = re.compile(r"[^\W\d_]+")
_ABBREVIATION = 4  # capitals
_PLACEHOLDERS = re.compile(
    r"microsoft \w+ - .*"
    r"|[^\s/\\_]+(?:_[^\s/\\_]*){2,}"  # quarterly_report_final
    r"|(?=(?:\D*\d){8})\S+"  # 0000764478-23-000041
    r"|[0-9a-f-]{16,}"  # a hash or UUID
    r"|(?:[a-z]:[\\/]|[\\/~]|file:)\S.*"
    r"|.*\.(?:docx?|dotx?|pptx?|xlsx?|odt|ods|odp|rtf|txt|pdf|html?|tex|indd|qxd|dvi|ps|eps|pub|pages|wpd)",
    re.IGNORECASE | re.DOTALL,
)


_DATE = r"(?:[A-Z][a-z]+ \d{1,2},? \d{4}|\d{1,2} [A-Z][a-z]+ \d{4})"
_BELOW_NAME = re.compile(r"\(\s*exact name of (?:the )?registrants?\b", re.I)
_FORM = re.compile(r"^\W*(form\s+[A-Z0-9]{1,4}(?:-[A-Z0-9]{1,4})?(?:/A)?)\s*$", re.I | re.M)
_PERIOD = re.compile(
    rf"\bfor\s+the\s+((?:\w+\s+){{1,2}}ended:?\s+{_DATE})"
    rf"|\bdate\s+of\s+(?:earliest\s+event\s+reported|report)\)?:?\s*({_DATE})",
    re.I,
)


def title_of(declared: str, heading: str, text: str) -> str:
    """The title of a document; "" if neither the file nor the text gives one.

    Args:
        declared: what the file declares, on one line.
        heading: the first heading or the largest line of the first page, on one line.
        text: of the document.
    """
    candidates = (_on_cover(text[:_COVER_AT]), declared, heading)
    return next((title for title in candidates if title and not says_nothing(title)), "")


def says_nothing(title: str) -> bool:
    """Whether a title is an identifier, the name of a file, or made up by a program."""
    if _PLACEHOLDERS.fullmatch(title):
        return True
    words = _WORD.findall(title)
    programs = word_list("titles", "programs")
    known = {word.casefold() for word in words} & (programs | word_list("titles", "parts"))
    rest = [word for word in words if word.casefold() not in known]
    return (
        bool(known)
        and all(len(word) == 1 or (word.isupper() and len(word) <= _ABBREVIATION) for word in rest)
        and (not known.isdisjoint(programs) or any(map(str.isdigit, title)))
    )


def _on_cover(text: str) -> str:
    """Company, form and period from the cover of a filing; "" if the text does not begin with one."""
    below, form = _BELOW_NAME.search(text), _FORM.search(text)
    if below is None or form is None:
        return ""
    above = [line for line in text[: below.start()].splitlines() if _WORD.search(line)]
    name = " ".join(above[-1].split()) if above else ""
    if not 0 < len(name) <= _LONGEST_NAME:
        return ""
    period = _PERIOD.search(text)
    parts = [name, " ".join(form[1].split()).replace("FORM", "Form")]
    parts += [" ".join(group.split()) for group in period.groups() if group] if period else []
    return PART.join(parts)
