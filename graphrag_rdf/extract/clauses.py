"""From the phrases of a sentence to statements: who did what to whom, where and when.

A clause is read from its subject on and only while its order is plain: subject, verb, object, phrases with
prepositions. If anything else follows, the rest is skipped, because no fact is better than a false one. A
statement with several complements becomes several: `Ada was born in Kelm in 1871` gives `was born in | Kelm`
and `was born in | 1871`. Denied, guessed, supposed or reported statements are read too, with that reason.
"""

from __future__ import annotations

from collections.abc import Sequence

from .lexicon import Lexicon
from .modality import doubt_of_object, doubt_of_verb
from .model import Qualifiers
from .phrases import Item, ItemRow, NounPhrase, VerbGroup, surface
from .statements import Clause, Description, Reading, Statements

_LONGEST_TEXT = 10  # words of an object that is no name
_ENDS = frozenset(".,cuw")  # what may follow an object, beside a preposition or a participle


def read_clauses(items: Sequence[Item], words: Lexicon, doubt: str = "") -> Reading:
    """Reads the statements of a sentence.

    Args:
        items: its phrases.
        words: lexicon of its language.
        doubt: why the sentence as a whole asserts nothing, or "".
    """
    return _Reader(items, words, doubt).read()


class _Reader(ItemRow):
    """One pass over the phrases of a sentence, clause by clause."""

    def __init__(self, items: Sequence[Item], words: Lexicon, doubt: str) -> None:
        super().__init__(items, words)
        self.doubt = doubt
        self.says = Statements(words)
        self.fronted: list[tuple[str, NounPhrase]] = []
        self.opening: VerbGroup | None = None
        self.carried = ""  # doubt of a subordinate clause, which "and" goes on with
        self.whole = bool(self.items) and self.items[-1].unit.text == "."

    def read(self) -> Reading:
        """All statements and descriptions of the sentence."""
        for item in self.items:
            if item.noun is not None:
                self._inside(item.noun)
        at = 0
        while at < len(self.items):
            at = max(self._clause(at), at + 1)
        return self.says.reading

    # ---- clauses

    def _clause(self, at: int) -> int:
        """Read the clause that begins here; returns where the next may begin."""
        self.fronted, self.opening = [], None
        doubt = self.doubt or self.carried
        self.says.opens = at == 0 and self.whole
        if self._at(at) == "u":
            doubt = doubt or self.words.clause_doubts.get(self.items[at].unit.lower, "")
            at += 1
        elif self._at(at) == "a" and self._at(at + 2) == "v":  # "Before Rook could answer"
            doubt = doubt or self.words.clause_doubts.get(self.items[at].unit.lower, "")
            at += self.items[at].unit.lower in self.words.prepositional
        self.says.doubt = self.carried = doubt
        at = self._skip_opening(at)
        subjects, after = self._subjects(at)
        if not subjects:
            return self._next(at, after_clause=False)
        subjects, after = self._beside(subjects, after)
        if self._at(after) not in {"v", "e"}:
            return self._next(after, after_clause=False)
        stated = len(self.says.reading.statements)
        end = self._predicates(subjects, after, "")
        if self._at(end) == "v" and subjects[0].kind == "common":  # "cash flows from sales increased"
            del self.says.reading.statements[stated:]
        return self._next(end, after_clause=True)

    def _next(self, at: int, *, after_clause: bool) -> int:
        """The place of the next clause: after a stop, at a subordinator, after a comma or "and"."""
        for index in range(at, len(self.items)):
            kind = self._at(index)
            if kind == "." and self.items[index].unit.text != "-":
                self.carried = ""
                return index + 1
            if kind == "u":
                self.carried = ""
                return index
            joined = kind == "c" or (kind == "," and self._at(index + 1) != "c")
            listed = self._at(index - 2) == "," and self._at(index - 1) == "n"
            if (
                after_clause
                and joined
                and not listed
                and self._at(index + 1) == "n"
                and self._at(index + 2) == "v"
            ):
                self.carried = self.carried if kind == "c" and self._at(index - 1) != "," else ""
                return index + 1
        return len(self.items)

    def _skip_opening(self, at: int) -> int:
        """The place after the words before the subject: `In 1902`, `Founded in 1879 in Kelm,`."""
        if self.words.verb_second:
            return at + 1 if self._at(at) == "c" else at
        if self._at(at) == "e":
            self.opening = self.items[at].verb
            at += 1
        while True:
            kind = self._at(at)
            noun = self._phrase(at + 1) if kind == "a" else self._phrase(at)
            if kind in {",", "c"}:
                at += 1
            elif kind == "a" and noun is not None:
                self.fronted.append((self.items[at].unit.lower, noun))
                _, reach = self._members(at + 1)
                at = (reach if self._at(reach + 1) == "," else at + 1) + 1
            elif noun is not None and noun.kind == "literal" and self._at(at + 1) in {",", "n"}:
                at += 1
            else:
                return at

    def _subjects(self, at: int) -> tuple[list[NounPhrase], int]:
        """The subjects at this place, none if they are ambiguous, and the place after them."""
        members, reach = self._members(at, subjects=True)
        plain = len(members) == 1 or all(noun.kind == "name" for noun in members)
        plain = plain and not any(noun.determiner in self.words.oblique for noun in members)
        return (members if plain else []), reach + 1

    def _members(self, index: int, *, subjects: bool = False) -> tuple[list[NounPhrase], int]:
        """The noun phrases of a list (A, B and C) that begins at `index`, and where it ends.

        Args:
            subjects: whether a verb may follow; else the last of them would be the subject of that verb.
        """
        members = [noun for noun in [self._phrase(index)] if noun]
        reach, position = index, index
        while members:
            kind = self._at(position + 1)
            last = kind == "c" or (kind == "," and self._at(position + 2) == "c")
            step = 3 if kind == "," and last else 2
            noun = self._phrase(position + step) if kind in {",", "c"} else None
            if noun is None or (kind == "," and self._describes(members[0], noun)):
                break
            if (noun.kind == "literal") != (members[0].kind == "literal"):
                break
            if last and not subjects and self._at(self._past_complements(position + step + 1)) in {"v", "w"}:
                break
            position += step
            members.append(noun)
            if last:
                return members, position
        # commas without a final "and" are appositions or places within places, not lists
        return members[:1], reach

    def _describes(self, first: NounPhrase, second: NounPhrase) -> bool:
        """Whether `A, the founder of B` says what A is rather than going on with a list."""
        role = second.kind == "common" and bool(second.determiner) and self.says.is_role(second.head.lower)
        return first.kind == "name" and role

    # ---- beside a name

    def _beside(self, subjects: list[NounPhrase], at: int) -> tuple[list[NounPhrase], int]:
        """Read the words between a subject and its verb; returns the subjects and the place of the verb."""
        while True:
            kind, inner = self._at(at), self._at(at + 1)
            if kind == "," and inner == "n" and len(subjects) == 1:
                named, end = self._apposition(subjects[0], at + 1)
                if named is None and self._at(at + 2) == "," and self._at(at + 3) == "v":  # ", age 54,"
                    named, end = subjects[0], at + 3
                if named is None:
                    return subjects, at
                subjects, at = [named], end
            elif kind == "," and inner == "w":
                at = self._closed(self._relative(subjects, at + 1))
            elif kind == "," and inner == "e":
                at = self._closed(self._participle(subjects, at + 1))
            elif kind == "w":
                at = self._relative(subjects, at)
            elif kind == "," and inner == "a":
                at = self._closed(self._past_complements(at + 1))
            elif kind == "a" and subjects[0].kind == "name" and (end := self._past_complements(at)) > at:
                at = end
            else:
                return subjects, at

    def _closed(self, at: int) -> int:
        """The place after the comma that closes an insertion; the end of the sentence if there is none."""
        return at + 1 if self._at(at) == "," else len(self.items)

    def _apposition(self, noun: NounPhrase, at: int) -> tuple[NounPhrase | None, int]:
        """The name in `Ada Venn, the chief engineer of Orrin,` or None, and the place after it."""
        other = self._phrase(at)
        if other is None or {noun.kind, other.kind} != {"name", "common"}:
            return None, at
        named, role = (noun, other) if noun.kind == "name" else (other, noun)
        is_role = self.says.is_role(role.head.lower) or (role.of and role.determiner)
        end = self._past_complements(at + 1)
        second = self._phrase(end + 1) if self._at(end) == "c" and role is other and role.of else None
        end = end if second is None or second.kind != "name" else end + 2
        if not is_role or not role.determiner or self._at(end) not in {",", "."}:
            return None, at
        self.says.describe(named, role, stated=True, pattern="apposition")
        if second is not None:
            self.says.role(named, role, self.words.of, second, "apposition")
        after = self._phrase(at + 2) if second is None and end > at + 1 else None
        if after is not None:
            self.says.role(named, role, self.items[at + 1].unit.lower, after, "apposition")
        return named, end + 1 if self._at(end) == "," else end

    def _inside(self, noun: NounPhrase) -> None:
        """Read statements within a noun phrase: `the engineer Ada Venn`, `Orrin's director Ada Venn`."""
        core = noun.units[slice(*noun.core)]
        owned = noun.owned
        if self.doubt or not (owned and owned[-1].kind == "P" and len(owned) > 1 and owned[-2].kind == "N"):
            return
        name, role = (owned[-1],), owned[:-1]
        self.says.reading.descriptions.append(Description(name, surface(role), role[-1].lower, stated=False))
        if not self.says.is_role(role[-1].lower):
            return
        roles = role[-1].lower in self.words.roles
        if roles and noun.owner and noun.owner[-1].kind == "P":
            self.says.state(name, self.says.role_predicate(role, self.words.of), noun.owner, "owner")
        elif roles and noun.possessive:
            self.says.state(
                name, self.says.role_predicate(role, self.words.of), self.says.owner_of(noun), "owner"
            )
        elif {unit.kind for unit in core[:-1]} <= set("JNR") and 1 < len(owned[-1].text) == owned[
            -1
        ].end - owned[-1].start:
            # no "port B", and no "you" that stands for a name
            self.says.state(name, self.words.is_, role, "title")

    def _relative(self, anchor: list[NounPhrase], at: int) -> int:
        """Read a relative clause about the anchor: `who built it`."""
        if self.items[at].unit.lower == "whose" or self._at(at + 1) not in {"v", "e"}:
            return len(self.items)
        return self._predicates(anchor, at + 1, "relative")

    def _participle(self, anchor: list[NounPhrase], at: int) -> int:
        """Read a participle about the anchor: `built by X in 1902`."""
        verb = self.items[at].verb
        if verb is None or self._at(at + 1) != "a":
            return at + 1
        return self._complements(Clause(anchor, verb.words, True, False, False, "participle"), at + 1)

    # ---- verbs

    def _predicates(self, subjects: list[NounPhrase], at: int, pattern: str) -> int:
        """Read verbs that share their subjects, with their objects; returns the place after them."""
        doubt = self.says.doubt
        auxiliary = ""
        while True:
            verb = self.items[at].verb
            if verb is None or (self._at(at) == "e" and not auxiliary and not self._finite(at)):
                return at
            passive = verb.passive or bool(auxiliary)
            words = f"{auxiliary} {verb.words}".lstrip()
            self.says.doubt = doubt or doubt_of_verb(verb, self.words)
            if self.says.agree(subjects, verb) and not verb.units[-1].text[:1].isupper():
                at = self._verb(Clause(subjects, words, passive, verb.copula, verb.have, pattern), at + 1)
            else:
                return at + 1
            if self.says.doubt not in {"reported", "question", "request"}:
                self.says.reading.subjects.extend(s for s in subjects if s not in self.says.reading.subjects)
            step = 2 if self._at(at) == "," and self._at(at + 1) == "c" else 1
            joined = self._at(at + step - 1) == "c" and not pattern
            if not joined or self._at(at + step) not in {"v", "e"}:
                return at
            auxiliary = " ".join(words.split()[:-1]) if passive and self._at(at + step) == "e" else ""
            at += step

    def _finite(self, at: int) -> bool:
        """Whether a form that could be a participle is the verb of its clause."""
        if self._at(at + 1) == "a" and self.items[at + 1].unit.lower == "by":
            return False
        word = self.items[at].unit.lower
        for kind in (item.kind for item in self.items[at + 1 :]):
            if kind == "v":
                return word in self.words.intransitive
            if kind in {".", "w", "u"}:
                break
        return True

    def _verb(self, clause: Clause, at: int) -> int:
        """Read the words after a verb; returns the place after them."""
        if self.opening is not None and not clause.pattern:
            opened = Clause(clause.subjects, self.opening.words, True, False, False, "participle")
            for preposition, noun in self.fronted[:2]:
                if noun.kind in {"name", "literal"}:
                    self._complement(opened, preposition, [noun])
            self.fronted = []
        if self._at(at) == "n":
            at = self._object(clause, at)
        elif self._at(at) == "j" and clause.copula:
            if self._at(at + 1) == "a":
                clause.words = f"{clause.words} {self.items[at].unit.lower}"
                clause.pattern = clause.pattern or "adjective"
                clause.copula = False
            at += 1
        else:
            for preposition, noun in self.fronted[:1]:
                told = self._at(at) == "." or (clause.passive and self._word(at) != "as")
                dated = noun.literal is not None and told
                if dated and not clause.copula and not clause.pattern:
                    self._complement(clause, preposition, [noun])
        self.fronted, self.opening = [], None
        return self._complements(clause, at)

    def _complements(self, clause: Clause, at: int) -> int:
        """Read the prepositional phrases after a verb or its object; returns the place after them."""
        first, named = True, True
        while self._at(at) == "a" and self._at(at + 1) == "n":
            preposition = self.items[at].unit.lower
            members, reach = self._members(at + 1)
            if self._at(reach + 1) in {"n", "v"}:  # "in Kelm Bob opened"
                return reach + 1
            dated = members[0].kind == "literal"
            verbal = preposition in self.words.verbal and (dated or (named and members[0].kind == "name"))
            gap = self.items[at].unit.start - self._end_of(at - 1)
            plain = preposition != self.words.of or gap <= 1  # no "ravaged much of Kelm"
            named = members[0].kind != "common"
            if (first or verbal) and plain and clause.object is None:
                at = self._longer(clause, preposition, members, at + 1, reach)
            else:
                at = reach + 1
            first = False
        return at

    def _longer(
        self, clause: Clause, preposition: str, members: list[NounPhrase], at: int, reach: int
    ) -> int:
        """State a complement; one that is not a name is taken with the phrases that follow it."""
        placed = not clause.copula or preposition in self.words.placing or members[0].kind == "literal"
        counted = members[0].literal is not None and members[0].literal.kind == "number"
        if members[0].kind != "common":
            if placed and not counted:
                self._complement(clause, preposition, members)
            return self._after(members[-1], reach + 1)
        whole, end = self._whole(at, reach)
        plain = not clause.copula and preposition not in self.words.prepositional - {"as"}
        if self.words.keeps_case and not clause.passive and self._at(end) not in {".", ","}:
            plain = False  # in German the object may follow
        if plain and self._told(members, end):
            self._complement(clause, preposition, [whole])
        return end

    def _complement(self, clause: Clause, preposition: str, members: Sequence[NounPhrase]) -> None:
        pattern = clause.pattern or ("passive" if clause.passive else "complement")
        for subject in clause.subjects:
            for member in members:
                self.says.state(subject, f"{clause.words} {preposition}", member, pattern)

    def _told(self, members: Sequence[NounPhrase], end: int) -> bool:
        """Whether an object ends here, rather than going on ("the risk that …")."""
        kind, noun = self._at(end), members[0]
        alone = noun.kind == "common" and len(members) == 1
        word = alone and len(noun.units) - noun.core[0] == 1
        bare = alone and not noun.determiner and not noun.of
        if kind == "c" and self._at(end + 1) == "n" and self._at(end + 2) != "v":
            return False  # a list of which it is not plain where it ends
        return (
            kind not in {"n", "v"}
            and not (word and kind in {"w", "u", "g", "i", "a", "e"})
            and not (bare and kind in {"g", "e"})
        )

    def _whole(self, at: int, reach: int) -> tuple[NounPhrase, int]:
        """A phrase that is not a name, with the list that it begins and the phrases that belong to it."""
        noun = self.items[at].noun
        assert noun is not None  # noqa: S101
        end = self._past_complements(reach + 1)
        while True:
            units = [unit for item in self.items[at:end] for unit in item.units]
            if end <= reach + 1 or len(surface(units).split()) <= _LONGEST_TEXT:
                break
            end -= 2
        return NounPhrase(tuple(units), "common", noun.determiner, noun.possessive, noun.core), max(
            end, self._past_complements(reach + 1)
        )

    # ---- objects

    def _object(self, clause: Clause, at: int) -> int:
        """State a verb with its object; returns the place after the object."""
        members, reach = self._members(at)
        noun, after = members[0], self._at(reach + 1)
        clause.object = noun  # also where nothing is stated: what follows is about it
        dated = noun.literal is not None and noun.literal.kind in {"date", "month", "year"}
        if dated and after == "n":  # "gründete 1904 die Zeitung"
            self.fronted.append(("in", noun))
            return self._object(clause, reach + 1)
        date = self._phrase(reach + 1)
        if after not in _ENDS | {"a", "e"} and (date is None or date.kind != "literal"):
            return reach + 1
        if dated and noun.literal is not None and not clause.copula:
            link = self.words.date_links["day" if noun.literal.kind == "date" else "year"]
            self._complement(clause, link, [noun])
            clause.object = None
            return reach + 1
        number = noun.units[noun.core[0]].literal
        bare = (
            number is not None and number.kind in {"number", "year"} and (noun.of or noun.literal is not None)
        )
        if bare and not clause.copula:
            return reach + 1
        doubt, self.says.doubt = self.says.doubt, self.says.doubt or doubt_of_object(noun, self.words)
        self.says.qualifiers = self._dates(reach + 1)
        if clause.copula:
            end = self._description(clause, members, reach)
        elif noun.kind == "common" or self._counts(noun, reach + 1):
            whole, end = self._whole(at, reach)
            if self.says.qualifiers and len(noun.of) == 1 and noun.of[0].literal is not None:
                whole = noun  # "revenue of $4 million in 1902": the amount by itself
            for subject in clause.subjects if self._told(members, end) else ():
                self.says.have_or_do(clause, subject, whole)
            self._reached(clause, reach)
        else:
            several = len(members) > 1 and noun.literal is not None  # one of each year, or of each thing
            for subject in clause.subjects:
                for member in () if several else members:
                    self.says.state(subject, clause.words, member, clause.pattern or "active")
            end = self._after(members[-1], reach + 1)
        self.says.doubt, self.says.qualifiers = doubt, ()
        return end

    def _counts(self, noun: NounPhrase, at: int) -> bool:
        """Whether an amount belongs to a following noun: "$4 million in legal fees"."""
        of = self._phrase(at + 1) if self._at(at) == "a" else None
        amount = noun.literal is not None and noun.literal.kind == "quantity"
        return amount and of is not None and of.kind == "common" and not self.words.keeps_case

    def _dates(self, at: int) -> Qualifiers:
        """The dates of an object that ends here: those after it, and those that open the sentence."""
        told = list(self.fronted)
        while self._at(at) == "a" and (noun := self._phrase(at + 1)) is not None and noun.literal is not None:
            told.append((self.items[at].unit.lower, noun))
            at += 2
        found = {}
        for preposition, noun in told:
            literal, name = noun.literal, self.words.periods.get(preposition)
            if (
                name
                and literal is not None
                and literal.datatype
                and literal.kind in {"date", "month", "year"}
            ):
                found[name] = (name, literal.lexical, literal.datatype)
        return tuple(found.values())

    def _reached(self, clause: Clause, reach: int) -> None:
        """State the name after a verb and a common noun: `filed a suit against Orrin`."""
        named = self._phrase(reach + 2)
        preposition = self.items[reach + 1].unit.lower if self._at(reach + 1) == "a" else ""
        plain = not clause.have and not clause.pattern and preposition in self.words.leading
        plain = plain and clause.object is not None and not clause.object.of  # "a list of rights from …"
        if plain and named is not None and named.kind == "name":
            for subject in clause.subjects:
                for member in self._members(reach + 2)[0]:
                    self.says.state(subject, f"{clause.words} {preposition}", member, "object_complement")

    def _description(self, clause: Clause, members: list[NounPhrase], reach: int) -> int:
        """Read `is a village in Kent`, `is a film directed by X`; returns the place after it."""
        self.says.copula(clause, members[0])
        for member in members[1:]:
            self.says.copula_member(clause, members[0], member)
        at, last = reach + 1, members[-1]
        if last.kind != "common":
            return self._after(last, at)
        if self._at(at) == "a" and self._at(at + 1) == "n" and not last.of and len(members) == 1:
            preposition = self.items[at].unit.lower
            places, reach = self._members(at + 1)
            for subject in clause.subjects:
                for place in places if places[0].kind == "name" else ():
                    self.says.role(subject, last, preposition, place, "role")
            at = self._past_wider(places[-1], self._past_complements(reach + 1))
        if self._at(at) == "," and self._at(at + 1) == "e":
            at += 1
        if self._at(at) == "e" and not last.of:  # of "an index of shares traded in Kelm" shares are traded
            return self._participle(clause.subjects, at)
        if self._at(at) == "w":
            return self._relative(clause.subjects, at)
        return at

    def _after(self, noun: NounPhrase, at: int) -> int:
        """Read the words after a name at the end of a clause: `, a firm in Kelm`, `, who built Y`."""
        if noun.kind != "name":
            return at
        at = self._past_wider(noun, at)
        kind, inner = self._at(at), self._at(at + 1)
        wider = self._phrase(at + 1)
        if kind == "," and inner == "w":
            return self._relative([noun], at + 1)
        if kind == "," and inner == "n" and wider is not None and wider.determiner and not wider.possessive:
            named, end = self._apposition(noun, at + 1)
            return end if named is not None else at
        return at
