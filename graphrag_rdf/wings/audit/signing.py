"""Keys, and signatures of packs: W3C Data Integrity proofs of the cryptosuite `eddsa-rdfc-2022`.

References: Verifiable Credential Data Integrity 1.0, Data Integrity EdDSA Cryptosuites v1.0 (W3C
Recommendations, 15 May 2025), RDF Dataset Canonicalization (21 May 2024), the did:key method. A key is named
by its did:key, so that whoever has the proof has the key; whose it is, the signer has to say elsewhere.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pyoxigraph as ox
from pyoxigraph import BlankNode, Literal, NamedNode, Quad

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import DCTERMS, RDF, XSD
from graphrag_rdf.store.folder import is_store

_DIGITS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_ED25519 = b"\xed\x01"  # of the table multicodec
_SECURITY = "https://w3id.org/security#"
_CONTEXT = "https://w3id.org/security/data-integrity/v2"
_FIXED = {"type": "DataIntegrityProof", "cryptosuite": "eddsa-rdfc-2022", "proofPurpose": "assertionMethod"}


class BadProof(ValueError):  # noqa: N818 - it says what is the matter
    """A proof that is malformed, or not of this document."""


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        hint = tr("run: pip install 'graphrag-rdf[sign]'")
        raise UsageError(tr("the package cryptography is missing"), hint=hint) from error
    return ed25519


def new_key(path: Path) -> str:
    """Write a new private key, which only its owner can read, and return its did:key.

    Raises:
        UsageError: the file lies in a store.
        OSError: it exists, or cannot be written.
    """
    key = _ed25519().Ed25519PrivateKey.generate()
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    if any(is_store(folder) for folder in path.resolve().parents):
        hint = tr("keep keys elsewhere: copies of a store would contain it")
        raise UsageError(tr("{path} lies in a store").format(path=path), hint=hint)
    data = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
    return did_of(key)


def read_key(path: Path) -> Any:
    """The private key in a file that `new_key` or `openssl genpkey -algorithm ed25519` wrote.

    Raises:
        UsageError: it is another kind of key, or others may read it.
        OSError: it cannot be read.
    """
    ed25519 = _ed25519()
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(path.read_bytes(), None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise UsageError(tr("{path} is no private Ed25519 key without a password").format(path=path))
    if os.name == "posix" and path.stat().st_mode & 0o077:
        hint = tr("run: chmod 600 {path}").format(path=path)
        raise UsageError(tr("others may read the key {path}").format(path=path), hint=hint)
    return key


def did_of(key: Any) -> str:
    """The did:key of a private key."""
    return f"did:key:{_multibase(_ED25519 + key.public_key().public_bytes_raw())}"


def canonical(quads: Iterable[Quad]) -> str:
    """A dataset in canonical N-Quads (RDFC-1.0)."""
    dataset = ox.Dataset(quads)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0_SHA_256)
    lines = ox.serialize(dataset, format=ox.RdfFormat.N_QUADS) or b""
    return "".join(sorted(f"{line}\n" for line in lines.decode().split("\n") if line))


def sign(document: str, key: Any, created: datetime) -> dict[str, str]:
    """A proof of a document in canonical N-Quads."""
    did = did_of(key)
    method = f"{did}#{did.removeprefix('did:key:')}"
    proof = {**_FIXED, "created": f"{created:%Y-%m-%dT%H:%M:%SZ}", "verificationMethod": method}
    return {"@context": _CONTEXT, **proof, "proofValue": _multibase(key.sign(_hash(document, proof)))}


def check_proof(document: str, proof: Mapping[str, Any]) -> str:
    """Check a proof by the key at the end of its `verificationMethod`, and return the did:key of that.

    Raises:
        BadProof: it is malformed, or the document or the proof was changed.
        UsageError: the package cryptography is missing.
    """
    public_key = _ed25519().Ed25519PublicKey
    from cryptography.exceptions import InvalidSignature

    try:
        if any(proof[name] != value for name, value in _FIXED.items()):
            raise BadProof(tr("it is no proof of the cryptosuite eddsa-rdfc-2022"))
        key = proof["verificationMethod"].rpartition("#")[2]
        public, signature = _bytes(key), _bytes(proof["proofValue"])
        if not public.startswith(_ED25519):
            raise BadProof(tr("its key is no Ed25519 key"))
        public_key.from_public_bytes(public[2:]).verify(signature, _hash(document, proof))
    except InvalidSignature:
        raise BadProof(tr("the signature is not of these contents")) from None
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise error if isinstance(error, BadProof) else BadProof(tr("it is malformed")) from error
    return f"did:key:{key}"


def _hash(document: str, proof: Mapping[str, Any]) -> bytes:
    """What is signed: the hash of the proof's own statements, then that of the document."""
    suite = Literal(proof["cryptosuite"], datatype=NamedNode(f"{_SECURITY}cryptosuiteString"))
    statements: dict[NamedNode, NamedNode | Literal] = {
        RDF.type: NamedNode(f"{_SECURITY}{proof['type']}"),
        DCTERMS.created: Literal(proof["created"], datatype=XSD.dateTime),
        NamedNode(f"{_SECURITY}cryptosuite"): suite,
        NamedNode(f"{_SECURITY}proofPurpose"): NamedNode(f"{_SECURITY}{proof['proofPurpose']}"),
        NamedNode(f"{_SECURITY}verificationMethod"): NamedNode(proof["verificationMethod"]),
    }
    node = BlankNode()
    config = canonical(Quad(node, predicate, value) for predicate, value in statements.items())
    return b"".join(hashlib.sha256(text.encode()).digest() for text in (config, document))


def _multibase(data: bytes) -> str:
    """Bytes in base58btc; none of ours begin with a zero byte but by chance."""
    number, digits = int.from_bytes(data), ""
    while number:
        number, digit = divmod(number, 58)
        digits = _DIGITS[digit] + digits
    return "z" + _DIGITS[0] * (len(data) - len(data.lstrip(b"\0"))) + digits


def _bytes(multibase: str) -> bytes:
    if not multibase.startswith("z") or len(multibase) > 200:
        raise ValueError(multibase)
    number = 0
    for digit in multibase[1:]:
        number = number * 58 + _DIGITS.index(digit)
    zeros = len(multibase[1:]) - len(multibase[1:].lstrip(_DIGITS[0]))
    return b"\0" * zeros + number.to_bytes((number.bit_length() + 7) // 8)
