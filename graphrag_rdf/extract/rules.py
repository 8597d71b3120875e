"""Facts without a model: grammar over parts of speech, for English, German, Dutch and Chinese.

The extractor prefers precision: a statement is kept if its subject is a name, resolves to one, or is a plain
noun that the text speaks about in general. Its evidence is the sentence, so its span is right by
construction. Rows of tables are read by their columns (`table_rows`), in any language. Texts in other
languages give mentions only, with a warning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from graphrag_rdf.documents.model import Sentence, Turn, in_spans

from .chinese import is_chinese
from .chinese_prose import ChineseProse
from .mentions import Gazetteer, find_mentions
from .model import EntityCandidate, Extraction, Mention
from .names import fold, match_key
from .prose import Prose, RuleSettings
from .reference import with_speaker_labels
from .table_rows import Row, RowRules, read_rows, split_by_rows
from .tagging import tagger_for

RULES_VERSION = "23"
"""Changes whenever the same text may give other facts."""

_WORDS_OF_TITLE = 8


class RuleExtractor:
    """Extracts facts by rules; may be used by several threads.

    Args:
        settings: what to keep.
    """

    version = RULES_VERSION

    def __init__(self, settings: RuleSettings | None = None) -> None:
        self.settings = settings or RuleSettings()
        self._synonyms = _Synonyms({})

    def extract(
        self,
        text: str,
        sentences: Sequence[Sentence],
        *,
        language: str | None,
        title: str | None,
        topic: str | None,
        names: Mapping[str, str] | None = None,
        rows: Sequence[Row] = (),
        turns: Sequence[Turn] = (),
    ) -> Extraction:
        """The entities, statements and mentions of a chunk.

        Args:
            text: the chunk's text.
            sentences: its sentences.
            language: BCP 47; None counts as a language without a tagger.
            title: of the document; its words are trusted as names.
            topic: what sentences without a subject of their own are about (a heading or an entity); None
                for the title where the text itself names it. File names are ignored.
            names: synonyms, surface form -> canonical name; pass the same mapping for every chunk.
            rows: the sentences that are rows of tables; they are read by their columns, not by grammar.
            turns: who speaks where in the text.

        Returns:
            the extraction; the same text gives the same, whatever came before.
        """
        synonyms = self._synonyms
        if names is not None and names is not synonyms.source:
            synonyms = self._synonyms = _Synonyms(names)
        if not rows:
            return self._prose(text, sentences, language, title, topic, synonyms, turns)
        read = read_rows(text, rows, self._row_rules(synonyms, language))
        spans = [row.part.span for row in rows]
        rest = [sentence for sentence in sentences if not in_spans(spans, sentence.offset)]
        if not rest:
            return read
        prose = self._prose(text, rest, language, title, topic, synonyms, turns)
        if language is None and not any(_may_state(text, sentence) for sentence in rest):
            # a table tells no language, and its title needs none
            prose = replace(prose, language_warning=None)
        return _together(replace(prose, mentions=split_by_rows(prose.mentions, rows)[1]), read)

    def _row_rules(self, synonyms: _Synonyms, language: str | None) -> RowRules:
        settings = self.settings
        return RowRules(
            reject=settings.reject,
            canonical=lambda name: synonyms.canonical.get(match_key(name), name),
            names=synonyms.gazetteer,
            entity_types={fold(name): name for name in settings.entity_types},
            max_facts=settings.max_facts,
            max_words=settings.max_words,
            min_confidence=settings.min_confidence,
            language=language,
        )

    def _prose(
        self,
        text: str,
        sentences: Sequence[Sentence],
        language: str | None,
        title: str | None,
        topic: str | None,
        synonyms: _Synonyms,
        turns: Sequence[Turn],
    ) -> Extraction:
        found = find_mentions(text, sentences, language=language, names=synonyms.gazetteer, title=title)
        if turns:
            found = with_speaker_labels(found, turns)
        canonical = synonyms.canonical
        mentions = tuple(replace(m, name=canonical.get(match_key(m.name), m.name)) for m in found)
        if is_chinese(text, language):
            return ChineseProse(text, sentences, mentions, self.settings).read()
        tagger = tagger_for(language)
        if tagger is None:
            why = f"no grammar for language '{language}'" if language else "a language was not recognised"
            warning = f"{why}: names only, no statements"
            return Extraction(_named(mentions, self.settings), (), (), mentions, warning)
        return Prose(text, sentences, tagger, mentions, canonical, self.settings, turns).read(title, topic)


def _may_state(text: str, sentence: Sentence) -> bool:
    """Whether a sentence may state something, unlike the title of a table or a short note below it."""
    said = text[sentence.offset : sentence.offset + sentence.length]
    return not said.startswith("#") and (said[-1] in ".!?" or said.count(" ") >= _WORDS_OF_TITLE)


def _together(prose: Extraction, rows: Extraction) -> Extraction:
    """The extractions of sentences and rows of one chunk as one."""
    entities = {fold(entity.name): entity for entity in prose.entities}
    for entity in rows.entities:
        known = entities.setdefault(fold(entity.name), entity)
        aliases = dict.fromkeys((*known.aliases, *entity.aliases))
        entities[fold(entity.name)] = replace(known, type=known.type or entity.type, aliases=tuple(aliases))
    return Extraction(
        entities=tuple(entities.values()),
        relations=(*prose.relations, *rows.relations),
        rejected=(*prose.rejected, *rows.rejected),
        mentions=tuple(sorted((*prose.mentions, *rows.mentions), key=lambda mention: mention.offset)),
        language_warning=prose.language_warning,
    )


class _Synonyms:
    """A mapping of synonyms, prepared once for all chunks."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.source = names
        self.canonical = {match_key(surface_form): name for surface_form, name in names.items()}
        self.gazetteer = Gazetteer([*names, *names.values()])


def _named(mentions: Sequence[Mention], settings: RuleSettings) -> tuple[EntityCandidate, ...]:
    first: dict[str, EntityCandidate] = {}
    for mention in mentions:
        if settings.reject(mention.name) is None:
            candidate = EntityCandidate(mention.name, None, None, (), (mention.offset, mention.length))
            first.setdefault(fold(mention.name), candidate)
    return tuple(first.values())


__all__ = ["RULES_VERSION", "RuleExtractor", "RuleSettings"]
