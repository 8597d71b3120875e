"""In which words questions ask for metadata: "Who wrote …?" for what has the author …"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.namespaces import DCTERMS

_WHO = re.compile(r"\b(?:who|whom|whose|wer|wem|wessen|qui|quién|quiénes|chi|кто|кем)\b|谁|誰", re.IGNORECASE)
_WHEN = re.compile(
    r"\b(?:when|wann|wanneer|quand|cuándo|quando|когда|year|date|Jahr|Datum|jaar|année|año|anno|год)\b"
    r"|何时|何時|时候|時候|哪一?年|日期",
    re.IGNORECASE,
)
_WRITTEN = (
    "written schrieb geschrieben verfasst schreef geschreven écrit écrivit escribió escrito scrisse scritto"
    " написал написала написан 写 写了 寫 寫了 撰写 撰寫"
)


@dataclass(frozen=True, slots=True)
class _Asked:
    """How questions ask for a relation.

    Attributes:
        words: that they have, beside those of its label.
        others: what asks for something else instead.
    """

    words: str
    others: re.Pattern[str]


_ASKED: Mapping[NamedNode, _Asked] = {
    DCTERMS.creator: _Asked(
        f"{_WRITTEN} wrote write writes writer authors Autor Autorin Autoren Verfasser Verfasserin verfasste"
        " schreibt auteur auteure auteurs schrijver schrijft rédigé autor autora autores escribe autore"
        " autrice автор авторы 作者 著者",
        _WHEN,
    ),
    DCTERMS.publisher: _Asked(
        "publisher publish publishes Verlag Herausgeber veröffentlicht veröffentlichte herausgegeben uitgever"
        " uitgegeven éditeur publié editorial publicó publicado editore pubblicato издатель издательство"
        " издал 出版社 出版者 出版",
        _WHEN,
    ),
    DCTERMS.created: _Asked(
        f"{_WRITTEN} wrote write published publish date dated year made Datum Jahr erstellt jaar gemaakt"
        " année créé fecha año creado data anno creato дата год создан 日期 年份 创建 創建",
        _WHO,
    ),
    DCTERMS.modified: _Asked(
        "modified updated revised edited geändert aktualisiert überarbeitet gewijzigd bijgewerkt modifié"
        " modificado actualizado modificato aggiornato изменён обновлён 修改 更新",
        _WHO,
    ),
}


def asked_words(predicate: NamedNode, question: str) -> str:
    """The words by which a question may ask for a relation, beside those of its label; "" if there are none,
    or if it asks for something else: a person, not a date.
    """
    asked = _ASKED.get(predicate)
    return "" if asked is None or asked.others.search(question) else asked.words
