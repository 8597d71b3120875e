"""From the phrases of a sentence to statements: who did what to whom, where and when.

One pass from left to right. A statement with several complements becomes several: `Ada was born in Kelm in
1871` gives `was born in | Kelm` and `was born in | 1871`. What the grammar of this module does not cover
gives nothing rather than something wrong: conditions, questions, clauses whose subject is not plain.
"""

from __future__ import annotations

from collections.abc import Sequence

from .lexicon import Lexicon
from .phrases import Item, NounPhrase, VerbGroup, surface
from .statements import Clause, Description, Reading, Statements, role_of, without_determiner
from .units import Unit


def read_clauses(items: Sequence[Item], words: Lexicon) -> Reading:
    """Reads the statements of a sentence.

    Args:
        items: its phrases.
        words: lexicon of its language.
    """
    return _Reader(_without_brackets(items), words).read()


def _without_brackets(items: Sequence[Item]) -> list[Item]:
    kept: list[Item] = []
    depth = 0
    for item in items:
        if item.kind == "(":
            depth += 1
        elif item.kind == ")":
            depth = max(0, depth - 1)
        elif depth == 0:
            kept.append(item)
    return kept


class _Reader:
    """One pass over the phrases of a sentence."""

    def __init__(self, items: list[Item], words: Lexicon) -> None:
        self.items = items
        self.words = words
        self.says = Statements(words)
        self.position = 0
        self.subjects: list[NounPhrase] = []
        self.main: list[NounPhrase] = []
        self.clause: Clause | None = None
        self.fronted: list[tuple[str, NounPhrase]] = []
        self.aside = False  # inside a relative or subordinate clause
        self.skipping = False  # inside a clause that is not asserted

    # ---- walking

    def read(self) -> Reading:
        step = {
            "n": self._noun,
            "v": self._verb,
            "e": self._participle,
            "g": self._gerund,
            "i": self._infinitive,
            "w": self._relative,
            "u": self._subordinate,
            "j": self._adjective,
            ",": self._comma,
            "c": self._coordinator,
            ".": self._stop,
            "x": self._stop,
            "z": self._unknown,
        }
        while self.position < len(self.items):
            item = self.items[self.position]
            action = step.get(item.kind)
            if action:
                action(item)
            self.position += 1
        return self.says.reading

    def _kind(self, offset: int) -> str:
        index = self.position + offset
        return self.items[index].kind if 0 <= index < len(self.items) else "."

    def _phrase(self, index: int) -> NounPhrase | None:
        return self.items[index].noun if 0 <= index < len(self.items) else None

    # ---- noun phrases

    def _noun(self, item: Item) -> None:
        noun = item.noun
        if noun is None:
            return
        self._inside(noun)
        if self._kind(-1) == "a":
            self._complement(self.items[self.position - 1].unit, noun)
            return
        clause = self.clause
        follows_verb = clause is not None and clause.open_object and not clause.closed
        if follows_verb and self._kind(1) not in {"v"} and clause is not None:
            self._object(clause, noun)
            return
        members, reach = self._members(self.position)
        self.position = reach
        if clause is not None and self._kind(-1) == "c" and self._kind(1) != "v":
            return  # a leftover of a list
        self.subjects, self.clause = members, None
        if self._apposition(noun):
            return

    def _members(self, index: int) -> tuple[list[NounPhrase], int]:
        """The noun phrases of a list (A, B and C) that begins at `index`, and where it ends."""
        members = [noun for noun in [self._phrase(index)] if noun]
        reach, position = index, index
        while True:
            kind = self._at(position + 1)
            if kind == "," and self._at(position + 2) == "c":
                step = 3
            elif kind in {",", "c"}:
                step = 2
            else:
                break
            noun = self._phrase(position + step)
            if kind == "," and noun is not None and self._describes(members[0], noun):
                break
            if noun is None or (
                self._at(position + step + 1) == "v" and not self._closes_list(position, step)
            ):
                break
            position += step
            members.append(noun)
            if kind == "c" or step == 3:
                reach = position
                break
        # commas without a final "and" are appositions or places within places, not lists
        return (members, reach) if reach == position and reach > index else (members[:1], index)

    def _describes(self, first: NounPhrase, second: NounPhrase) -> bool:
        """Whether `A, the founder of B` says what A is rather than going on with a list."""
        role = second.kind == "common" and bool(second.determiner) and self.says.is_role(second.head.lower)
        return first.kind == "name" and role

    def _closes_list(self, position: int, step: int) -> bool:
        """Whether "A and B" before a verb are its subjects: nothing before A has claimed A."""
        return self.clause is None and (self._at(position + 1) == "c" or step == 3)

    def _at(self, index: int) -> str:
        return self.items[index].kind if 0 <= index < len(self.items) else "."

    def _apposition(self, noun: NounPhrase) -> bool:
        """`Ada Venn, the chief engineer of Orrin,` and `the chief engineer, Ada Venn,`."""
        if self._kind(1) != ",":
            return False
        other = self._phrase(self.position + 2)
        closing = self._at(self.position + 3)
        if other is None or closing in {"c", "v"} or {noun.kind, other.kind} != {"name", "common"}:
            return False
        named, role = (noun, other) if noun.kind == "name" else (other, noun)
        if not self.says.is_role(role.head.lower) and not (role.of and role.determiner):
            return False
        if role is noun and not (role.determiner or role.possessive):
            return False
        if self._is_list(self.position):
            return False
        self.says.describe(named, role, stated=True, pattern="apposition")
        self._inside(other)
        if named is other:
            self.subjects = [other]
        # go on behind the apposition; prepositions in it belong to the role
        self.position += 2
        if self._kind(1) == "a":
            after = self._phrase(self.position + 2)
            if after is not None and not role.of and role is other:
                preposition = self.items[self.position + 1].unit.lower
                self.says.state(
                    named, f"{self.says.low(without_determiner(role))} {preposition}", after, "apposition"
                )
                self.position += 2
        return True

    def _is_list(self, index: int) -> bool:
        """Whether commas from `index` on lead to an "and" before a verb comes."""
        position = index
        while self._at(position + 1) == "," and self._at(position + 2) == "n":
            position += 2
        return self._at(position + 1) == "c" or (
            self._at(position + 1) == "," and self._at(position + 2) == "c"
        )

    def _inside(self, noun: NounPhrase) -> None:
        """What a noun phrase says within itself: `the engineer Ada Venn`, `Orrin's director Ada Venn`."""
        core = noun.units[slice(*noun.core)]
        owned = noun.owned
        if owned and owned[-1].kind == "P" and len(owned) > 1 and owned[-2].kind == "N":
            name = (owned[-1],)
            role = owned[:-1]
            text = surface(role)
            self.says.reading.descriptions.append(Description(name, text, role[-1].lower, stated=False))
            if noun.owner:
                self.says.state(name, f"{self.says.low(role)} {self.words.of}", noun.owner, "owner")
            elif noun.possessive:
                owner = NounPhrase((noun.units[0],), "pronoun", "", True, (0, 1))
                self.says.state(name, f"{self.says.low(role)} {self.words.of}", owner, "owner")
            elif len(owned) == len(core) and self.says.is_role(role[-1].lower):
                self.says.state(name, self.words.is_, role, "title")

    # ---- verbs

    def _verb(self, item: Item) -> None:
        verb = item.verb
        if verb is None or self._ends_in_question():
            return
        if self.skipping:
            self.clause = None
            return
        if verb.words in self.words.speech and self._kind(1) == "n":
            self._said()
            return
        if self._kind(-1) == "," and self.aside:
            self.subjects, self.aside = self.main, False
        elif self._kind(-1) == "n" and self.clause is not None and self.aside and self.main:
            self.subjects, self.aside = self.main, False  # "the man who built it died"
        if not self.subjects:
            self.clause = None
            return
        self._open(self.subjects, verb, "relative" if self.aside else "")

    def _said(self) -> None:
        """`..., said Ada Venn`: the speaker is who the text is about next; what is said is not read."""
        speaker = self._phrase(self.position + 1)
        if speaker is not None:
            self.says.reading.subjects.append(speaker)
            self.subjects, self.main, self.clause = [speaker], [speaker], None
            self.position += 1

    def _open(self, subjects: list[NounPhrase], verb: VerbGroup, pattern: str) -> None:
        self.clause = Clause(subjects, verb.words, verb.passive, verb.copula, verb.have, pattern)
        if not self.aside:
            self.main = subjects
        if not self.aside:
            self.says.reading.subjects.extend(
                subject for subject in subjects if subject not in self.says.reading.subjects
            )
        for preposition, noun in self.fronted:
            if noun.kind == "literal" and not verb.copula:
                for subject in subjects:
                    self.says.state(subject, f"{verb.words} {preposition}", noun, "later_complement")
        self.fronted = []

    def _participle(self, item: Item) -> None:
        verb = item.verb
        if verb is None or self.skipping:
            return
        clause = self.clause
        before = self._kind(-1)
        lower = verb.units[0].lower
        if before in {"c", ","} and clause is not None and not (before == "," and clause.object is not None):
            if clause.passive and lower not in self.words.intransitive and self._kind(1) != "n":
                auxiliary = " ".join(clause.words.split()[:-1]) or "was"
                again = VerbGroup(verb.units, f"{auxiliary} {verb.words}", True, False, False)
                self._open(clause.subjects, again, clause.pattern)
            else:
                self._open(clause.subjects, verb, clause.pattern)
        elif before == "n" or (before == "," and self._at(self.position - 2) == "n"):
            anchor = self._anchor(self.position - (1 if before == "n" else 2))
            if before == "," and clause is not None and clause.copula and clause.object is not None:
                anchor = clause.subjects  # "X is a band from Y, formed in 1991"
            if anchor is None:
                self.clause = None
            elif clause is None and self._finite(lower):
                self._open(self.subjects or anchor, verb, "")
            else:
                self._reduced(anchor, verb)
        elif all(item.kind == "j" for item in self.items[: self.position]):
            subject = self._next_subject()
            self.clause = None
            if subject is not None:
                self._reduced([subject], verb)
        else:
            self.clause = None

    def _reduced(self, anchor: list[NounPhrase], verb: VerbGroup) -> None:
        """`a bridge built by X`: the bridge is what the verb is about."""
        if self.clause is None and self.subjects:
            self.main, self.aside = self.subjects, True
        self.clause = Clause(anchor, verb.words, True, False, False, "participle", open_object=False)

    def _finite(self, word: str) -> bool:
        """Whether a form that could be a participle is the sentence's finite verb."""
        if self._kind(1) == "a" and self.items[self.position + 1].unit.lower == "by":
            return False
        for kind in (item.kind for item in self.items[self.position + 1 :]):
            if kind == "v":
                return word in self.words.intransitive
            if kind in {".", "w", "u"}:
                break
        return True

    def _next_subject(self) -> NounPhrase | None:
        """The subject that an opening participle waits for: `Founded in 1879, the school ...`."""
        for index in range(self.position + 1, len(self.items) - 2):
            if self.items[index].kind == ",":
                noun = self._phrase(index + 1)
                return noun if noun is not None and self._at(index + 2) in {"v", ","} else None
            if self.items[index].kind == "v":
                return None
        return None

    def _anchor(self, index: int) -> list[NounPhrase] | None:
        """Whom a participle or relative clause is about: the phrase before it, or what that describes."""
        noun = self._phrase(index)
        clause = self.clause
        described = clause is not None and clause.copula and noun in clause.objects
        if described and clause is not None and noun is not None and noun.kind == "common":
            return clause.subjects  # "X is a film directed by Y": X is
        if noun is None or noun.kind in {"literal", "pronoun"}:
            return None
        if noun.of and noun.kind == "common":
            return None
        return [noun]

    def _gerund(self, item: Item) -> None:
        verb, clause = item.verb, self.clause
        before = self._kind(-1)
        if verb is None or self.skipping or before == "a":
            self.clause = None
            return
        if before == "n":
            anchor = self._anchor(self.position - 1)
        elif clause is not None and before in {"c", ","} and clause.pattern == "participle":
            anchor = clause.subjects
        else:
            anchor = None
        if anchor and self._kind(1) in {"n", "a"}:
            if clause is None and self.subjects:
                self.main, self.aside = self.subjects, True
            self.clause = Clause(anchor, verb.words, False, False, False, "participle")
        else:
            self.clause = None

    def _infinitive(self, item: Item) -> None:
        clause = self.clause
        if clause is None or item.verb is None or clause.copula or clause.closed or clause.object is not None:
            self.clause = None
            return
        self.clause = Clause(
            clause.subjects, f"{clause.words} {item.verb.words}", False, False, False, "infinitive"
        )

    def _adjective(self, item: Item) -> None:
        clause = self.clause
        if clause is not None and clause.copula and clause.object is None and self._kind(1) == "a":
            clause.adjective = item.unit.lower
        elif clause is not None and clause.object is None and self._kind(1) != "c":
            clause.open_object = False

    # ---- marks and small words

    def _relative(self, item: Item) -> None:
        if item.unit.lower == "whose" or self._kind(-1) == "a" or self._kind(1) not in {"v", "e"}:
            self.main = self.main or self.subjects
            self.subjects, self.clause, self.aside = [], None, True
            return
        index = self.position - 1
        if self._at(index) == ",":
            index -= 1
        anchor = self._anchor(index) if self._at(index) == "n" else None
        if not self.aside:
            self.main = self.subjects or self.main
        self.subjects, self.clause, self.aside = anchor or [], None, True

    def _subordinate(self, item: Item) -> None:
        if not self.aside:
            self.main = self.subjects or self.main
        self.aside, self.subjects, self.clause = True, [], None
        self.skipping = item.unit.lower in self.words.hypothetical

    def _comma(self, _: Item) -> None:
        if self.skipping:
            self.skipping = False
            self.subjects, self.aside = self.main, False
        if self.clause is not None:
            self.clause.closed = True

    def _coordinator(self, _: Item) -> None:
        if self.clause is not None and self._kind(1) not in {"a"}:
            self.clause.closed = True

    def _stop(self, _: Item) -> None:
        self.subjects, self.main, self.clause = [], [], None
        self.fronted, self.aside, self.skipping = [], False, False

    def _unknown(self, _: Item) -> None:
        self.clause = None

    def _ends_in_question(self) -> bool:
        return bool(self.items) and self.items[-1].unit.text == "?"

    # ---- statements

    def _object(self, clause: Clause, noun: NounPhrase) -> None:
        members, reach = self._members(self.position)
        if noun.literal is not None and noun.literal.kind in {"date", "month", "year"} and not clause.copula:
            link = self.words.date_links["day" if noun.literal.kind == "date" else "year"]
            for subject in clause.subjects:
                self.says.state(subject, f"{clause.words} {link}", noun, clause.pattern or "complement")
            return
        clause.object, clause.objects, clause.open_object = noun, members, False
        if clause.copula:
            self.says.copula(clause, noun)
            for member in members[1:]:
                self.says.copula_member(clause, noun, member)
        elif clause.have and noun.of and noun.kind == "common":
            head = noun.units[slice(*noun.core)]
            for subject in clause.subjects:
                self.says.state(
                    subject, f"{clause.words} {self.says.low(head)} {self.words.of}", noun.of, "have"
                )
        else:
            for subject in clause.subjects:
                for member in members:
                    self.says.state(subject, clause.words, member, clause.pattern or "active")
        for member in members[1:]:
            self._inside(member)
        self.position = reach
        self._role_of_object(noun if reach == self.position else members[-1])

    def _role_of_object(self, noun: NounPhrase) -> None:
        """`works for Orrin, a firm in Kelm`: the apposition is about the object."""
        other = self._phrase(self.position + 2)
        if (
            self._kind(1) == ","
            and other is not None
            and noun.kind == "name"
            and other.kind == "common"
            and other.determiner
            and not other.possessive
            and self._at(self.position + 3) not in {"v"}
            and (self._at(self.position + 3) != "c" or (other.of and self.says.is_role(other.head.lower)))
        ):
            self.says.describe(noun, other, stated=True, pattern="apposition")
            self.position += 2
            self.clause = None
            second = self._phrase(self.position + 2)
            if self._kind(1) == "c" and second is not None and second.kind == "name" and self._kind(3) != "v":
                self.says.state(
                    noun, f"{self.says.low(role_of(other))} {self.words.of}", second, "apposition"
                )
                self.position += 2

    def _complement(self, preposition: Unit, noun: NounPhrase) -> None:
        clause = self.clause
        word = preposition.lower
        if clause is None:
            if not self.subjects:
                self.fronted.append((word, noun))
            elif word != "of":
                self.position = self._members(self.position)[1]
            return
        if clause.closed and noun.kind != "literal":
            return
        if clause.complements and word not in self.words.verbal:
            return  # it says more about the phrase before it than about the verb
        members, reach = self._members(self.position)
        if reach > self.position and self._at(reach + 1) == "v":
            members, reach = [noun], self.position
        predicate, pattern = self.says.complement_predicate(clause, word, noun)
        if predicate is not None:
            for subject in clause.subjects:
                for member in members:
                    self.says.state(subject, predicate, member, pattern)
        for member in members[1:]:
            self._inside(member)
        clause.complements += 1
        clause.open_object = False
        self.position = reach
        self._skip_wider_place(members[-1])
        self._role_of_object(members[-1])

    def _skip_wider_place(self, noun: NounPhrase) -> None:
        """`in Berkeley, California,`: the second name only says which Berkeley."""
        wider = self._phrase(self.position + 2)
        if self._kind(1) == "," and wider is not None and noun.kind == wider.kind == "name":
            after = self._at(self.position + 3)
            if after in {",", ".", "e"} or (after == "c" and self._at(self.position + 4) in {"v", "e", "a"}):
                self.position += 3 if after == "," and self._at(self.position + 4) != "e" else 2
