"""A small evaluation set: three passages, and two questions that two of them answer."""

from __future__ import annotations

from typing import Any

TINY: dict[str, Any] = {
    "name": "tiny",
    "corpus": [
        {"title": "Lighthouse", "text": "Andrew Orr designed Drumlaw Head Lighthouse in 1881."},
        {"title": "Company", "text": "Walter Pennock founded the Tarnay Electric Light Company in 1897."},
        {"title": "Society", "text": "Mona Kell founded the Lantern Society in 1901."},
    ],
    "questions": [
        {"id": "1", "q": "Who designed Drumlaw Head Lighthouse?", "answers": ["Andrew Orr"], "gold": [0]},
        {"id": "2", "q": "Who founded the Lantern Society?", "answers": ["Mona Kell"], "gold": [2]},
    ],
}
