"""Signatures of releases: who wrote one, for readers who know the writer's key (Ed25519)."""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path
from typing import Any

from shoal.errors import InvalidInput, InvalidRelease
from shoal.release.folder import MANIFEST, SIGNATURE, dumps, loads, read_file

_SCHEME = "Ed25519"
# Signed with the manifest, so that a signature for something else is none for a release.
_CONTEXT = b"shoal release manifest, version 1\n"


def sign(
    folder: str | os.PathLike[str], key: str | os.PathLike[str], *, passphrase: str | None = None
) -> str:
    """Sign a saved release with your own key; `signature.json` is put beside its files.

    The manifest is signed, which has the hash of every file. Needs the extra `sign`.

    Parameters
    ----------
    folder : path
        A saved release.
    key : path
        A file with an Ed25519 private key in PEM: ``openssl genpkey -algorithm ed25519 -out key.pem``.
    passphrase : str, optional
        Of the key, where it is encrypted.

    Returns
    -------
    str
        The fingerprint of the public key: publish it where your readers know you.
    """
    place = Path(folder)
    data = read_file(place, MANIFEST)
    private = _private(Path(key), passphrase)
    public = private.public_key()
    raw = _raw(public)
    record = {
        "scheme": _SCHEME,
        "signs": f"SHA-256 of {MANIFEST}: {hashlib.sha256(data).hexdigest()}",
        "public_key": base64.b64encode(raw).decode(),
        "signature": base64.b64encode(private.sign(_CONTEXT + data)).decode(),
    }
    try:
        (place / SIGNATURE).write_text(dumps(record), encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{place / SIGNATURE} cannot be written: {error.strerror}") from None
    return fingerprint(raw)


def check_signature(folder: Path, trusted: str | os.PathLike[str] | None) -> str:
    """Say who signed a release, or raise where the signature is not its own or not of the key wanted.

    Parameters
    ----------
    folder : Path
        A saved release.
    trusted : path or str, optional
        A public key in PEM, or the fingerprint of one, that the signature has to be of.
    """
    record = loads(read_file(folder, SIGNATURE), SIGNATURE)
    if not isinstance(record, dict) or record.get("scheme") != _SCHEME:
        raise InvalidRelease(f"{SIGNATURE} is not a signature by {_SCHEME}")
    try:
        raw, signature = (
            base64.b64decode(record[part], validate=True) for part in ("public_key", "signature")
        )
    except (KeyError, TypeError, ValueError):
        raise InvalidRelease(f"{SIGNATURE} holds no key and signature") from None
    found = fingerprint(raw)
    if trusted is not None and (wanted := _wanted(trusted)) != found:
        raise InvalidRelease(f"it is signed by key {found}, not by {wanted}")
    library = _library()
    try:
        library.ed25519.Ed25519PublicKey.from_public_bytes(raw).verify(
            signature, _CONTEXT + read_file(folder, MANIFEST)
        )
    except (library.InvalidSignature, ValueError):
        raise InvalidRelease(f"{SIGNATURE} does not fit {MANIFEST}: one of them was changed") from None
    whose = "the key you trust" if trusted is not None else "key"
    return f"signed by {whose} {found}"


def fingerprint(raw: bytes) -> str:
    """Return a short name of a public key, as OpenSSH writes those of its keys.

    Examples
    --------
    >>> fingerprint(bytes(32))
    'SHA256:Zmh6rfhivXdsj8GLjp+OIAiXFIVu4jOzkCpZHQ1fKSU'
    """
    return "SHA256:" + base64.b64encode(hashlib.sha256(raw).digest()).decode().rstrip("=")


def _wanted(trusted: str | os.PathLike[str]) -> str:
    text = os.fspath(trusted)
    if text.startswith("SHA256:"):
        return text
    library = _library()
    try:
        public = library.serialization.load_pem_public_key(Path(text).read_bytes())
    except OSError as error:
        raise InvalidInput(f"the public key {text} cannot be read: {error.strerror}") from None
    except ValueError:
        raise InvalidInput(f"{text} holds no public key in PEM") from None
    if not isinstance(public, library.ed25519.Ed25519PublicKey):
        raise InvalidInput(f"{text} holds another kind of key than Ed25519")
    return fingerprint(_raw(public))


def _private(path: Path, passphrase: str | None) -> Any:
    library = _library()
    try:
        word = None if passphrase is None else passphrase.encode()
        found = library.serialization.load_pem_private_key(path.read_bytes(), word)
    except OSError as error:
        raise InvalidInput(f"the key {path} cannot be read: {error.strerror}") from None
    except (ValueError, TypeError):
        raise InvalidInput(f"{path} holds no private key in PEM, or its passphrase is another") from None
    if not isinstance(found, library.ed25519.Ed25519PrivateKey):
        raise InvalidInput(
            f"{path} holds another kind of key; make one with: "
            "openssl genpkey -algorithm ed25519 -out key.pem"
        )
    return found


def _raw(public: Any) -> bytes:
    kinds = _library().serialization
    raw: bytes = public.public_bytes(kinds.Encoding.Raw, kinds.PublicFormat.Raw)
    return raw


class _Library:
    """What is used of `cryptography`."""

    def __init__(self) -> None:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519

        self.InvalidSignature, self.serialization, self.ed25519 = InvalidSignature, serialization, ed25519


def _library() -> _Library:
    try:
        return _Library()
    except ImportError:
        raise InvalidInput("signatures need the extra 'sign': pip install 'shoal[sign]'") from None
