"""TLS for connections to receivers: one context for each distinct material."""

import os
import re
import ssl
from dataclasses import dataclass, field
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

MOST_CONTEXTS = 256
HASHED = re.compile(r"[0-9a-f]{8}\.[0-9]+")
"""The name of a certificate in a directory of OpenSSL, by which it is found."""
BEGIN = "-----BEGIN "
CERTIFICATE = re.compile(f"{BEGIN}CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


class UnusableMaterial(Exception):
    """A certificate or a key of this side cannot be used."""


@dataclass(frozen=True, slots=True, eq=False)
class TlsMaterial:
    """Certificates, a key and choices of one hook. Equal material has an equal digest."""

    verify: bool
    client_cert: str = field(default="", repr=False)
    client_key: str = field(default="", repr=False)
    ca: str = field(default="", repr=False)
    verify_hostname: bool = True
    min_version: str = ""
    digest: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        parts = (self.client_cert, self.client_key, self.ca, self.min_version)
        whole = "\0".join([*parts, str(self.verify), str(self.verify_hostname)])
        object.__setattr__(self, "digest", sha256(whole.encode()).digest())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TlsMaterial) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


TlsChoice = bool | TlsMaterial
"""Whether certificates are verified, or the material of a hook that has its own."""


def material_of(tls: dict[str, Any], *, verify: bool) -> TlsMaterial:
    """Return the material for the option `tls` of a hook (store.endpoint_access.client_tls)."""
    return TlsMaterial(verify, **{name: value for name, value in tls.items() if value is not None})


def verifying_context(
    *, cafile: str | None = None, capath: str | None = None, cadata: str | None = None
) -> ssl.SSLContext:
    """Return a context that verifies servers.

    Without a file, directory or text of authorities, it trusts the authorities of the machine.
    Raises OSError if the file cannot be read, and ssl.SSLError if it has no certificate.
    """
    context = ssl.create_default_context(cafile=cafile, capath=capath, cadata=cadata)
    # Python sets it since 3.13. Then certificates of many private authorities are refused, because
    # they lack details of RFC 5280, and a newer Python would end the deliveries.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


@lru_cache(maxsize=MOST_CONTEXTS)
def context_of(choice: TlsChoice) -> ssl.SSLContext:
    """Return the context for a choice. Raises UnusableMaterial if none can be made of it."""
    material = choice if isinstance(choice, TlsMaterial) else TlsMaterial(choice)
    try:
        context = (
            verifying_context(cadata=material.ca)
            if material.ca
            else verifying_context(capath=_directory(ssl.get_default_verify_paths()))
        )
        if material.min_version:
            context.minimum_version = VERSIONS[material.min_version]
        if material.client_cert:
            _load_client(context, material)
            # Apache asks for it after it has read the request, if only a path needs it.
            context.post_handshake_auth = True
    except (ssl.SSLError, ValueError, TypeError) as error:
        reason = getattr(error, "reason", None) or error
        raise UnusableMaterial(f"the certificate cannot be used: {reason}") from None
    context.set_alpn_protocols(["http/1.1"])
    context.check_hostname = material.verify and material.verify_hostname
    if not material.verify:
        context.verify_mode = ssl.CERT_NONE
    return context


@cache
def _directory(paths: ssl.DefaultVerifyPaths) -> str | None:
    """Return the machine's directory of authorities if it has all that its file has.

    OpenSSL reads the file for each context, which takes 50 ms and a megabyte, and the hub would
    stand still meanwhile. In the directory, it looks up one authority when it needs it.
    """
    if paths.capath is None:
        return None
    try:
        found = [path for path in Path(paths.capath).iterdir() if HASHED.fullmatch(path.name)]
        known = {one for path in found for one in _certificates(path)}
        has_all = paths.cafile is None or known.issuperset(_certificates(Path(paths.cafile)))
    except (OSError, ValueError):
        return None
    return paths.capath if has_all else None


def _certificates(path: Path) -> list[bytes]:
    """Read the certificates in a file. Raises ValueError if it has anything else in PEM."""
    text = path.read_text("utf-8")
    found = CERTIFICATE.findall(text)
    if text.count(BEGIN) != len(found):
        raise ValueError(f"{path} has more than certificates")
    return [ssl.PEM_cert_to_DER_cert(one) for one in found]


def _load_client(context: ssl.SSLContext, material: TlsMaterial) -> None:
    """Load the client certificate and its key, which Python's `ssl` reads from a file only.

    The file is in memory, so it needs no room in a temporary folder, and the key reaches no disk.
    """
    from cryptography.hazmat.primitives import serialization as pem

    # OpenSSL reads fewer forms of PEM than the check of a saved key, which may be on one line.
    # That check validated the key. It takes 0.25 seconds for a long one.
    key = pem.load_pem_private_key(
        material.client_key.encode(), None, unsafe_skip_rsa_key_validation=True
    ).private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.NoEncryption())
    with os.fdopen(os.memfd_create("client"), "wb") as file:
        file.write(material.client_cert.encode() + b"\n" + key)
        file.flush()
        # For an encrypted key among the certificates, OpenSSL would ask the terminal.
        context.load_cert_chain(f"/proc/self/fd/{file.fileno()}", password="")
