"""The words of a question: which matter, and which of them a text has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from math import fsum
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode

from graphrag_rdf.extract.names import is_chinese
from graphrag_rdf.extract.numbers import find_literals, worded_numbers
from graphrag_rdf.index.analyse import analyse, common_words, primary_language, stop_words, words_with
from graphrag_rdf.rdf.namespaces import DCTERMS
from graphrag_rdf.steps import chinese_questions

if TYPE_CHECKING:
    from graphrag_rdf.index.text import TextIndex


# what asks for whatever is told, and is no word that a document would have to have
_ANYTHING = re.compile(
    r"\bwhat (?:(?:has |had )?happened|happens|occurred|took place|takes place)\b"
    r"|\bwas (?:geschah|geschieht|passierte|passiert)\b|\bwat (?:gebeurde|gebeurt)\b",
    re.IGNORECASE,
)
# Words that ask, beside the stop words of a language: no answer has to have them.
_ASKING: Mapping[str, str] = {
    "en": "many much date year",
    "de": "wann wen wem wessen wozu woher wohin womit wodurch weshalb wieso viel viele heißt hieß Jahr Datum",
    "es": "cuándo cuánto cuánta cuántos cuántas cuál cuáles quién quiénes dónde llama llamaba fecha año",
    "fr": "combien quand comment pourquoi quel quelle quels quelles appelle appelait date année",
    "it": "quando quanto quanta quanti quante quale quali chi dove perché chiama chiamava data anno",
    "nl": "wanneer hoeveel waar waarom welke welk wie heet heette jaar datum",
    "ru": "когда сколько какой какая какое какие какого кто кем кого где почему называется год дата",
}
# Words of questions about the documents as a whole, such as "What are the main themes?"
_OVERVIEW = {
    "de": (
        "wovon worum Thema Themen Hauptthema Hauptthemen wichtig wichtigste wichtigsten zentral"
        " Überblick Übersicht Zusammenfassung fasse zusammenfassen handeln handelt"
        " gehen geht Dokument Dokumente Text Texte"
        " Sammlung Inhalt insgesamt allgemein"
    ),
    "en": (
        "main key top major important central overall general whole entire theme themes topic topics subject"
        " subjects matter matters issue issues idea ideas point points trend trends finding findings insight"
        " insights overview summary summarise summarize summaries summarizing describe give tell list about"
        " cover covers covered discuss discussed document documents dataset data collection corpus text texts"
        " story stories book books file files content contents"
    ),
    "es": (
        "tema temas principal principales importante importantes resumen resumir visión general documento"
        " documentos texto textos colección contenido tratan trata"
    ),
    "fr": (
        "thème thèmes sujet sujets principal principaux principales important importants aperçu résumé"
        " résumer résume ensemble document documents texte textes collection contenu"
        " parlent parle traite traitent"
    ),
    "it": (
        "tema temi argomento argomenti principale principali importante importanti panoramica riassunto"
        " riassumi sintesi documento documenti testo testi raccolta contenuto parlano parla trattano tratta"
    ),
    "nl": (
        "thema thema's onderwerp onderwerpen belangrijkste belangrijk overzicht samenvatting samenvatten vat"
        " document documenten tekst teksten verzameling inhoud gaan gaat hele algemeen"
    ),
    "ru": (
        "тема темы основной основные главный главные важные обзор краткое содержание документ документы"
        " документов текст тексты текстов собрание"
    ),
    "zh": (
        "主要 主題 主题 題目 题目 概述 總結 总结 摘要 概覽 概览 內容 内容"
        " 文件 文檔 文档 文章 資料 资料 整體 整体 重點 重点"
    ),
}
# Characters of Chinese that ask or bind: a pair with one of them joins words, or is none.
_BINDING = frozenset("的了是在吗嗎呢吧什么麼哪谁誰几幾与與和被把这這那该該其")
_ASKING_PAIRS = frozenset(
    ("多少", "时候", "時候", "为何", "為何", "何时", "何時", "如何", "怎样", "怎樣", "有多")
)


@dataclass(frozen=True, slots=True)
class QuestionWords:
    """The content words of a question, weighed by how rare they are in the documents.

    Attributes:
        weights: stem → weight; the weights add up to 1.
        language: of the question.
        between: of languages that are searched by pairs of characters, pair → the pairs before and after it.
        unknown: those that no chunk has.
        things: how many there are; a name of several words is one.
        figure: what an answer has if the question asks when, or how many.
        counts: whether it asks how many, and not how many years: a date is no answer.
        asks_for_name: whether it asks who, or where.
        asks_who: whether it asks who.
    """

    weights: Mapping[str, float]
    language: str | None
    between: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    unknown: frozenset[str] = frozenset()
    things: int = 1
    figure: re.Pattern[str] | None = None
    counts: bool = False
    asks_for_name: bool = False
    asks_who: bool = False

    @classmethod
    def of(cls, question: str, language: str | None, index: TextIndex | None) -> QuestionWords:
        """Weigh a question; without an index all words weigh the same. Words that only ask do not count."""
        chinese = is_chinese(question, language)
        figure = _NUMBER if _HOW_MANY.search(question) else _TIME if _WHEN.search(question) else None
        figure = _MONEY if _HOW_MUCH_MONEY.search(question) else figure
        counts = figure is _NUMBER and _COUNTS.search(question) is not None
        who = bool(_WHO.search(question))
        name = figure is None and (who or bool(_WHERE.search(question)))
        unasking = chinese_questions.without_asking(question) if chinese else _ANYTHING.sub(" ", question)
        question = unasking if analyse(unasking, language) else question
        if index is None:
            rarity = dict.fromkeys(analyse(question, language), 1.0)
        else:
            rarity = index.rarity(question, kind="sentence", language=language)
        asking = _asking(primary_language(language))
        words = chinese_questions.pairs_in_words(question) if chinese else None
        telling = {
            term: weight
            for term, weight in rarity.items()
            if term not in asking and not (_binds(term) or (words and _crosses(term, words)))
        }
        unknown = index.absent(telling, kind="chunk") if index else frozenset()
        binding = {term for term in unknown if _is_common(term, question, language)}
        unknown = unknown - binding
        rarity = {term: weight for term, weight in telling.items() if term not in binding} or rarity
        total = sum(rarity.values())
        weights = {term: weight / total for term, weight in rarity.items()} if total else {}
        between = _between(analyse(question, language))
        things = _things(question, weights, language)
        return cls(weights, language, between, unknown, things, figure, counts, name, who)

    def asks_for_overview(self) -> bool:
        """Whether the question is about the documents as a whole: no word is about anything else."""
        return self.weights.keys() <= _overview(primary_language(self.language))

    def spoken_of(self, *texts: str) -> frozenset[str]:
        """Which of the words stand in any of the texts."""
        return frozenset(term for text in texts for term in self._spoken_of(text))

    def _spoken_of(self, text: str) -> set[str]:
        terms = _terms_of(text, self.language)
        terms_present = self.weights.keys() & terms
        # a pair across the border of two words that are there counts as there
        terms_present |= {
            pair
            for pair, (before, after) in self.between.items()
            if pair in self.weights and before in terms and after in terms
        }
        return {term for term in terms_present if not _is_common(term, text, self.language)}

    def weight(self, terms: Iterable[str]) -> float:
        """The weight of some of the words, 0 to 1; of a question without content words always 1."""
        # the same sum in any order, and no rounding above 1
        return min(1.0, fsum(self.weights[term] for term in terms)) if self.weights else 1.0

    @property
    def in_documents(self) -> bool:
        """Whether any chunk has any of them."""
        return not self.weights or not self.weights.keys() <= self.unknown

    def missing(self, question: str, spoken: AbstractSet[str]) -> list[str]:
        """The words that are not among those spoken of, as the question writes them."""
        return words_with(self.weights.keys() - spoken, question, self.language)

    @property
    def asks_price(self) -> bool:
        """Whether the question asks for a sum of money."""
        return self.figure is _MONEY

    def lacks_figure(self, text: str) -> bool:
        """Whether the question asks when or how many, and a text has no number, month or day."""
        if self.figure is None or not self.counts:
            return self.figure is not None and not self.figure.search(text)
        text = self._undated(text)
        return not (self.figure.search(text) or [*worded_numbers(text)])

    def _undated(self, text: str) -> str:
        """A text without its dates. Four digits beside a word of the question count it: 1900 Einwohner."""
        text = _DECADE.sub(" ", text)
        for literal in reversed(find_literals(text, self.language)):
            before, after = text[: literal.offset], text[literal.offset + literal.length :]
            beside = [*re.findall(r"\w+", before)[-1:], *re.findall(r"\w+", after)[:1]]
            plain = text[len(before) : len(text) - len(after)].isdigit() and not _SINCE.search(before)
            if literal.kind in ("date", "month", "year") and not (
                plain and (not beside or self.spoken_of(*beside))
            ):
                text = f"{before} {after}"
        return text

    def leaves_open(self, text: str) -> bool:
        """Whether the question asks who, and a text begins with a pronoun: "She designed the dam."."""
        return self.asks_who and _PRONOUN.match(text) is not None

    def is_asked_for(self, value: str) -> bool:
        """Whether a value is of the kind asked for: a figure when or how many, none who or where."""
        return not (self.lacks_figure(value) or (self.asks_for_name and _DIGIT.search(value)))

    def coverage(self, *texts: str) -> float:
        """How much of the question (0 to 1) any of the texts speaks of."""
        return self.weight(self.spoken_of(*texts))


def _is_common(term: str, text: str, language: str | None) -> bool:
    """Whether a word is a common one of the text's language, which is another than the given: to die, and the
    German article; a text is in the language of which it has most common words.
    """
    languages = [language_of_stop for language_of_stop, stop in stop_words().items() if term in stop]
    return any(
        common_words(text, language_here) > common_words(text, language) for language_here in languages
    )


@lru_cache(maxsize=4096)  # a question meets the same names and sentences several times
def _terms_of(text: str, language: str | None) -> frozenset[str]:
    return frozenset(analyse(text, language))


@lru_cache(maxsize=32)
def _asking(language: str) -> frozenset[str]:
    return frozenset(analyse(_ASKING.get(language, ""), language))


@lru_cache(maxsize=32)
def _overview(language: str) -> frozenset[str]:
    return frozenset(analyse(_OVERVIEW.get(language, _OVERVIEW["en"]), language))


def _things(question: str, weights: Mapping[str, float], language: str | None) -> int:
    """How many words count, with words in capitals beside each other as one name."""
    count, in_name = len(weights), False
    for word in question.split():
        named = word[:1].isupper() and not weights.keys().isdisjoint(_terms_of(word, language))
        count -= named and in_name
        in_name = named
    return max(1, count)


def _binds(term: str) -> bool:
    """Whether a pair of characters asks, or joins words."""
    return term in _ASKING_PAIRS or not _BINDING.isdisjoint(term)


def _crosses(term: str, words: frozenset[str]) -> bool:
    """Whether a pair of characters joins two words.

    Args:
        words: the pairs that do not.
    """
    return len(term) == 2 and not term.isascii() and term not in words


def _between(terms: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Pairs of characters that overlap with one before and one after → these."""
    linked = [len(a) == len(b) == 2 and not a.isascii() and a[1] == b[0] for a, b in pairwise(terms)]
    return {
        terms[n]: (terms[n - 1], terms[n + 1])
        for n in range(1, len(terms) - 1)
        if linked[n - 1] and linked[n]
    }


_WHO = re.compile(r"\b(?:who|whom|whose|wer|wem|wessen|qui|quién|quiénes|chi|кто|кем)\b|谁|誰", re.IGNORECASE)
_WHEN = re.compile(
    r"\b(?:when|wann|wanneer|quand|cuándo|quando|когда|year|date|Jahr|Datum|jaar|année|año|anno|год)\b"
    r"|何时|何時|时候|時候|哪一?年|日期",
    re.IGNORECASE,
)
_WHERE = re.compile(
    r"\b(?:where|wo|wohin|woher|waar|où|dónde|dove|где|куда)\b|哪里|哪裡|哪儿|哪兒|何处|何處", re.IGNORECASE
)
_DIGIT = re.compile(r"\d")
_PRONOUN = re.compile(
    r"\W*(?:(?:he|she|they|it|er|sie|es|hij|zij|ze|il|elle|ils|elles)\b|[他她它])", re.IGNORECASE
)
_HOW_MANY = re.compile(
    r"\b(?:how (?:many|much|long|old|tall|high|deep|far|big|large|often|fast|heavy)"
    r"|wie ?(?:viele?|lang|hoch|alt|weit|groß|oft|schnell|schwer|tief)|hoeveel|combien|cuánt[oa]s?"
    r"|quant[oiae])\b|сколько|多少|多[长長高大远遠深久重]|[几幾][个個名人年天艘条條座次位只隻张張辆輛家种種所件本]",
    re.IGNORECASE,
)
_COUNTS = re.compile(
    r"\b(?:how (?:many|much)|wie ?viele?|hoeveel|combien|cuánt[oa]s?|quant[oiae])\b"
    r"(?! (?:years|months|days|Jahre|Monate|Tage|jaar|ans|años|anni)\b)|多少(?![年天])|[几幾](?![年天])",
    re.IGNORECASE,
)
_DECADE = re.compile(r"\b(?:1\d|20)\d\d(?:er|s)\b")
_SINCE = re.compile(r"\b(?:in|im|since|seit|until|bis|year|Jahre?) $", re.IGNORECASE)
_NUMERAL = r"\d|[一二两兩三四五六七八九十百千万萬]"
_TIME = re.compile(
    rf"{_NUMERAL}|\b(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|\w+day|tomorrow|tonight|noon|midnight|century|Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember|\w+tag"
    r"|morgen|heute|\w*jahrhundert)\b|今天|明天|昨天",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    rf"{_NUMERAL}|\b(?:once|twice|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen"
    r"|(?:twen|thir|for|fif|six|seven|eigh|nine)ty(?:-\w+)?|half|dozens?|hundreds?|thousands?|millions?|none|no|both|all|\w+fold"
    r"|einmal|eine?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|\w+(?:zehn|zig)|hundert|tausend"
    r"|kein\w*|beide|alle|\w+fache?n?)\b",
    re.IGNORECASE,
)
_HOW_MUCH_MONEY = re.compile(
    r"\b(?:how much money|wie ?viel Geld)\b"
    r"|\bhow much\b.*\b(?:costs?|pay|paid|spen[dt]|earn(?:ed|s)?|charged?|owed?|invest(?:ed)?|donated?)\b"
    r"|\bwie ?viel\b.*\b(?:kostete?n?|gekostet|bezahlte?n?|zahlte?n?|gezahlt|verdiente?n?)\b"
    r"|\bwas kostete?n?\b"
    r"|多少钱|多少錢|(?:花费|花費|耗资|耗資|造价|造價|成本).*多少|多少.*(?:美元|欧元|英镑|元)",
    re.IGNORECASE,
)
# a sum has a currency, or is too large or exact for anything else
_MONEY = re.compile(
    r"[$€£¥₹]|\b\d{1,3}(?:[.,]\d{3})+|\b(?:thousand|million|billion|Tausend|Million(?:en)?|Milliarden?)\b|[万亿萬億]"
    r"|\b(?:dollars?|pounds?|euros?|francs?|crowns?|shillings?|pence|cents?|yen|marks?|Franken|Gulden|guilders?"
    r"|rou?bles?|rupees?|yuan|USD|EUR|GBP|CHF|RMB|free)\b|[元镑鎊圆圓]|块钱",
    re.IGNORECASE,
)
_WRITTEN = (
    "written schrieb geschrieben verfasst schreef geschreven écrit écrivit escribió escrito scrisse scritto"
    " написал написала написан 写 写了 寫 寫了 撰写 撰寫"
)


@dataclass(frozen=True, slots=True)
class _Metadata:
    """How questions ask for a relation.

    Attributes:
        words: that they have, beside those of its label.
        others: what asks for something else instead.
    """

    words: str
    others: re.Pattern[str]


_METADATA: Mapping[NamedNode, _Metadata] = {
    DCTERMS.creator: _Metadata(
        f"{_WRITTEN} wrote write writes writer authors Autor Autorin Autoren Verfasser Verfasserin verfasste"
        " schreibt auteur auteure auteurs schrijver schrijft rédigé autor autora autores escribe autore"
        " autrice автор авторы 作者 著者",
        _WHEN,
    ),
    DCTERMS.publisher: _Metadata(
        "publisher publish publishes Verlag Herausgeber veröffentlicht veröffentlichte herausgegeben uitgever"
        " uitgegeven éditeur publié editorial publicó publicado editore pubblicato издатель издательство"
        " издал 出版社 出版者 出版",
        _WHEN,
    ),
    DCTERMS.created: _Metadata(
        f"{_WRITTEN} wrote write published publish date dated year made Datum Jahr erstellt jaar gemaakt"
        " année créé fecha año creado data anno creato дата год создан 日期 年份 创建 創建",
        _WHO,
    ),
    DCTERMS.modified: _Metadata(
        "modified updated revised edited geändert aktualisiert überarbeitet gewijzigd bijgewerkt modifié"
        " modificado actualizado modificato aggiornato изменён обновлён 修改 更新",
        _WHO,
    ),
}


def asked_words(predicate: NamedNode, question: str) -> str:
    """The words by which a question may ask for a relation, beside those of its label; "" if there are none,
    or if it asks for something else: a person, not a date.
    """
    asked = _METADATA.get(predicate)
    return "" if asked is None or asked.others.search(question) else asked.words
