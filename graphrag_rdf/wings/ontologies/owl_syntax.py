"""OWL/XML and functional-style syntax, read into the tree of expressions that both write.

- Functional-style syntax: OWL 2 Structural Specification (https://www.w3.org/TR/owl2-syntax/), §2–3.
- OWL/XML: OWL 2 XML Serialization (https://www.w3.org/TR/owl2-xml-serialization/).

An element of OWL/XML has the name of the expression that it writes, so both give the same tree, in which IRIs
are whole. `owl_mapping` makes RDF of it. Rules (`DLSafeRule`) are not part of OWL 2, and are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Literal as Choice
from typing import TypeAlias
from urllib.parse import urljoin
from xml.etree import ElementTree

from pyoxigraph import BlankNode, Literal, NamedNode

from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.formats import check_entities
from graphrag_rdf.rdf.namespaces import OWL, RDF, RDFS, XSD

Syntax = Choice["xml", "functional"]

_STANDARD = {"rdf": str(RDF), "rdfs": str(RDFS), "xsd": str(XSD), "owl": str(OWL)}
"""Prefixes that need no declaration."""
_ENTITIES = frozenset(
    {
        *("Class", "Datatype", "ObjectProperty", "DataProperty", "AnnotationProperty", "NamedIndividual"),
        *("IRI", "AbbreviatedIRI"),
    }
)
"""Elements of OWL/XML that are no more than an IRI."""
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_GROWTH = 1 << 20
"""Bytes that expanded entities may add."""
_DEEPEST = 150
"""Levels of expressions."""
_TOKEN = re.compile(
    r"""\s+ | \#[^\n]*
    | (?P<iri> <[^<>"{}|^`\\\x00-\x20]*> )
    | (?P<text> "(?:[^"\\]|\\.)*" )
    | (?P<mark> \^\^ | [()=] )
    | @(?P<lang> [A-Za-z]+(?:-[A-Za-z0-9]+)* )
    | (?P<name> [^\s()<>"@^=\#]+ )""",
    re.VERBOSE | re.DOTALL,
)
_FUNCTIONAL = re.compile(r"\ufeff?(?:\s|#[^\n]*\n)*+(?:Prefix|Ontology)\s*\(")


@dataclass(frozen=True, slots=True)
class Expression:
    """`Name(arguments…)`."""

    name: str
    arguments: tuple[Argument, ...]


Argument: TypeAlias = Expression | NamedNode | BlankNode | Literal | int
"""A part of an expression; an integer is a cardinality."""


@dataclass(frozen=True, slots=True)
class OwlDocument:
    """An ontology as written.

    Attributes:
        iri, version: None for an ontology without a name.
        imports: IRIs.
        parts: annotations of the ontology, and axioms.
    """

    iri: NamedNode | None
    version: NamedNode | None
    imports: tuple[NamedNode, ...]
    parts: tuple[Expression, ...]


def syntax_of(data: bytes) -> Syntax | None:
    """OWL/XML or functional-style syntax, by the beginning of a file, whatever its name; None for neither.

    Raises:
        UsageError: the entities of XML expand too much.
    """
    head = data[:4096].decode("utf-8", "replace")
    if _FUNCTIONAL.match(head):
        return "functional"
    if "<" not in head or str(OWL) not in head:
        return None
    check_entities(data, len(data) + _GROWTH)
    try:
        _, root = next(ElementTree.iterparse(BytesIO(data), events=("start",)))  # noqa: S314 - checked
    except (ElementTree.ParseError, StopIteration):
        return None
    return "xml" if isinstance(root, ElementTree.Element) and root.tag == f"{{{OWL}}}Ontology" else None


def read_owl(data: bytes, syntax: Syntax) -> OwlDocument:
    """Read an ontology.

    Raises:
        SyntaxError: it is malformed, with the line if it is known.
        UnicodeDecodeError: it is not UTF-8.
        UsageError: its entities expand too much.
    """
    return _read_xml(data) if syntax == "xml" else _Functional(data.decode("utf-8-sig")).document()


def _fault(message: str, line: int | None = None) -> SyntaxError:
    error = SyntaxError(message)
    error.lineno = line
    return error


def _literal(text: str, datatype: NamedNode | None, language: str | None) -> Literal:
    """A literal; of `rdf:PlainLiteral` (https://www.w3.org/TR/rdf-plain-literal/) as RDF 1.1 has it."""
    if datatype == RDF.PlainLiteral:
        if not language:
            text, _, language = text.rpartition("@") if "@" in text else (text, "", "")
        datatype = None
    try:
        return Literal(text, language=language) if language else Literal(text, datatype=datatype)
    except ValueError as error:
        raise _fault(str(error)) from error


def _node(iri: str, line: int | None = None) -> NamedNode:
    try:
        return NamedNode(iri)
    except ValueError as error:
        raise _fault(tr("{text!r} is not an absolute IRI").format(text=iri), line) from error


# --- functional-style syntax ----------------------------------------------------------------------------


class _Functional:
    """The parser of a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._prefixes = dict(_STANDARD)
        self._tokens = self._scan()
        self._kind, self._value, self._at = "", "", 0
        self._step()

    def _scan(self) -> Iterator[tuple[str, str, int]]:
        at = 0
        while at < len(self._text):
            found = _TOKEN.match(self._text, at)
            if found is None:
                raise self._wrong(tr("unexpected {text!r}").format(text=self._text[at]), at)
            if found.lastgroup:
                yield found.lastgroup, found[found.lastgroup], at
            at = found.end()
        yield "end", tr("the end of the file"), at

    def _step(self) -> tuple[str, str]:
        """Go to the next token, and return the one before."""
        before = self._kind, self._value
        self._kind, self._value, self._at = next(self._tokens, ("end", "", len(self._text)))
        return before

    def _wrong(self, message: str, at: int | None = None) -> SyntaxError:
        return _fault(message, self._text.count("\n", 0, self._at if at is None else at) + 1)

    def _expect(self, value: str) -> None:
        if self._value != value or self._kind not in ("mark", "name"):
            raise self._wrong(
                tr("expected {wanted!r}, found {found!r}").format(wanted=value, found=self._value[:40])
            )
        self._step()

    def _is(self, mark: str) -> bool:
        return self._kind == "mark" and self._value == mark

    def document(self) -> OwlDocument:
        """The ontology of the text."""
        while self._kind == "name" and self._value == "Prefix":
            self._prefix()
        self._expect("Ontology")
        self._expect("(")
        names: list[NamedNode | None] = []
        while self._kind == "iri" or (self._kind == "name" and ":" in self._value):
            names.append(self._iri())
        if len(names) > 2:
            raise self._wrong(tr("an ontology has an IRI and a version IRI, no more"))
        imports: list[NamedNode] = []
        parts: list[Expression] = []
        while not self._is(")"):
            part = self._argument(0)
            if not isinstance(part, Expression):
                raise self._wrong(tr("expected an axiom"))
            if part.name == "Import":
                imports += [each for each in part.arguments if isinstance(each, NamedNode)]
            else:
                parts.append(part)
        self._step()
        if self._kind != "end":
            raise self._wrong(tr("unexpected {found!r} after the ontology").format(found=self._value[:40]))
        iri, version = [*names, None, None][:2]
        return OwlDocument(iri, version, tuple(imports), tuple(parts))

    def _prefix(self) -> None:
        self._step()
        self._expect("(")
        kind, name = self._step()
        if kind != "name" or not name.endswith(":"):
            raise self._wrong(
                tr("expected a prefix name such as 'ex:', found {name!r}").format(name=name[:40])
            )
        self._expect("=")
        kind, iri = self._step()
        if kind != "iri":
            raise self._wrong(tr("expected an IRI in angle brackets"))
        self._prefixes[name[:-1]] = iri[1:-1]
        self._expect(")")

    def _argument(self, depth: int) -> Argument:
        if depth > _DEEPEST:
            raise self._wrong(tr("expressions are nested too deeply"))
        if self._kind == "text":
            return self._string()
        if self._kind == "name" and self._value.isdecimal() and self._value.isascii():
            return int(self._step()[1])
        if self._kind == "name" and self._value.startswith("_:"):
            return BlankNode(_blank(self._step()[1][2:]))
        if self._kind == "iri" or (self._kind == "name" and ":" in self._value):
            return self._iri()
        if self._is("("):  # the lists of HasKey
            return Expression("", self._arguments(depth))
        if self._kind != "name":
            raise self._wrong(tr("unexpected {text!r}").format(text=self._value[:40]))
        return Expression(self._step()[1], self._arguments(depth))

    def _arguments(self, depth: int) -> tuple[Argument, ...]:
        self._expect("(")
        found = []
        while not self._is(")"):
            found.append(self._argument(depth + 1))
        self._step()
        return tuple(found)

    def _iri(self) -> NamedNode:
        kind, text = self._step()
        if kind == "iri":
            return _node(text[1:-1])
        prefix, _, local = text.partition(":")
        if prefix not in self._prefixes:
            raise self._wrong(tr("the prefix {prefix}: is not declared").format(prefix=prefix))
        return _node(self._prefixes[prefix] + local)

    def _string(self) -> Literal:
        text = re.sub(r"\\(.)", r"\1", self._step()[1][1:-1], flags=re.DOTALL)
        if self._kind == "lang":
            return _literal(text, None, self._step()[1])
        if self._is("^^"):
            self._step()
            return _literal(text, self._iri(), None)
        return _literal(text, None, None)


def _blank(name: str) -> str:
    """A label that RDF allows, and that is not one of `owl_mapping`."""
    return "i" + re.sub(r"\W", lambda found: f"_{ord(found[0]):x}_", name)


# --- OWL/XML -------------------------------------------------------------------------------------------


def _read_xml(data: bytes) -> OwlDocument:
    check_entities(data, len(data) + _GROWTH)
    try:
        root = ElementTree.fromstring(data)  # noqa: S314 - its entities were checked
    except ElementTree.ParseError as error:
        raise _fault(str(error), error.position[0]) from error
    reader = _Xml(root)
    imports, parts = [], []
    for element in root:
        name = _tag(element)
        if name == "Import":
            imports.append(reader.iri(element.text or ""))
        elif name != "Prefix":
            part = reader.argument(element, 0)
            if not isinstance(part, Expression):
                raise _fault(tr("{name} is not an axiom").format(name=name))
            parts.append(part)
    iri, version = (root.get(name) for name in ("ontologyIRI", "versionIRI"))
    return OwlDocument(
        reader.iri(iri) if iri else None,
        reader.iri(version) if version else None,
        tuple(imports),
        tuple(parts),
    )


def _tag(element: ElementTree.Element) -> str:
    return element.tag.removeprefix(f"{{{OWL}}}")


class _Xml:
    """Reads the elements of an ontology."""

    def __init__(self, root: ElementTree.Element) -> None:
        self._base = root.get(_XML_BASE) or root.get("ontologyIRI") or ""
        self._prefixes = dict(_STANDARD)
        for prefix in root.iter(f"{{{OWL}}}Prefix"):
            self._prefixes[prefix.get("name", "")] = prefix.get("IRI", "")

    def iri(self, text: str) -> NamedNode:
        """An IRI, which may be relative to the base."""
        text = text.strip()
        if _ABSOLUTE.match(text):
            return _node(text)
        if not text or text.startswith("#"):
            return _node(self._base.partition("#")[0] + text)
        return _node(urljoin(self._base, text))

    def argument(self, element: ElementTree.Element, depth: int) -> Argument:
        """What an element writes."""
        if depth > _DEEPEST:
            raise _fault(tr("expressions are nested too deeply"))
        name, about = _tag(element), element.attrib
        if name in _ENTITIES:
            return self._entity(name, element)
        if name == "AnonymousIndividual":
            return BlankNode(_blank(about.get("nodeID", "").removeprefix("_:")))
        if name == "Literal":
            datatype = about.get("datatypeIRI")
            return _literal(
                element.text or "", self.iri(datatype) if datatype else None, about.get(_XML_LANG)
            )
        if name == "Declaration":
            return Expression(name, tuple(self._declared(each) for each in element))
        arguments = [self.argument(each, depth + 1) for each in element]
        if name == "FacetRestriction":
            return Expression(name, (self.iri(about.get("facet", "")), *arguments))
        if "cardinality" in about:
            arguments.insert(0, _cardinality(about))
        return Expression(name, tuple(_without_facets(arguments)))

    def _entity(self, name: str, element: ElementTree.Element) -> NamedNode:
        about = element.attrib
        if "IRI" in about:
            return self.iri(about["IRI"])
        if name == "IRI":
            return self.iri(element.text or "")
        short = about.get("abbreviatedIRI") or (element.text or "").strip()
        prefix, colon, local = short.partition(":")
        if not colon or prefix not in self._prefixes:
            raise _fault(tr("{name} {short!r}: the prefix is not declared").format(name=name, short=short))
        return _node(self._prefixes[prefix] + local)

    def _declared(self, element: ElementTree.Element) -> Argument:
        if _tag(element) == "Annotation":
            return self.argument(element, 0)
        return Expression(_tag(element), (self._entity(_tag(element), element),))


def _cardinality(about: Mapping[str, str]) -> int:
    text = about["cardinality"].strip()
    if not (text.isascii() and text.isdecimal()):
        raise _fault(tr("{text!r} is not a cardinality").format(text=text))
    return int(text)


def _without_facets(arguments: list[Argument]) -> Iterator[Argument]:
    """The arguments, with facets as in functional-style syntax: an IRI and a literal, one after the other."""
    for each in arguments:
        if isinstance(each, Expression) and each.name == "FacetRestriction":
            yield from each.arguments
        else:
            yield each
