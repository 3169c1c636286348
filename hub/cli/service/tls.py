"""The TLS context of the server, whose certificate can be replaced while it serves."""

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hub.settings import HubSettings
from store import clock
from store.errors import Unusable, from_os_error
from store.named_file import read_file

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

# Only ciphers with forward secrecy and authenticated encryption, as in TLS 1.3.
CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
# A certificate that ends within this time, and within the last quarter of its own, is reported.
SOON = 7 * clock.DAY


class TLSContext:
    """The TLS context that the server listens with.

    A new connection gets the current certificate. Open connections keep theirs.
    """

    def __init__(self, settings: HubSettings) -> None:
        self._current = load(settings)
        self.context = load(settings)
        self.context.sni_callback = self._answer

    def _answer(
        self, connection: ssl.SSLObject | ssl.SSLSocket, name: str | None, context: ssl.SSLContext
    ) -> None:
        connection.context = self._current

    def use(self, loaded: ssl.SSLContext) -> None:
        """Use this context for new connections."""
        self._current = loaded


def tls_of(settings: HubSettings) -> TLSContext | None:
    """Return the TLS context of these settings, or None if they name no certificate.

    Raises Unusable if the certificate or the key is wrong.
    """
    return None if settings.tls_certificate is None else TLSContext(settings)


def load(settings: HubSettings) -> ssl.SSLContext:
    """Load the certificate and the key of these settings.

    Raises Unusable if one of them is wrong. The message says which one, and why.
    """
    certificate, key = settings.tls_certificate, settings.tls_key or settings.tls_certificate
    assert certificate is not None, "the caller checks this"
    assert key is not None
    for setting, path in (("tls_certificate", certificate), ("tls_key", key)):
        if path.is_fifo():
            # OpenSSL opens it itself, and would wait for a writer.
            raise Unusable(f"{setting}: cannot read {path}: it is a pipe")
        _read(setting, path)
    password = _password(settings.tls_key_password)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(CIPHERS)
    context.set_alpn_protocols(["http/1.1"])
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    try:
        context.load_cert_chain(certificate, key, lambda: _asked(password))
    except ssl.SSLError as error:
        raise Unusable(_explained(error, certificate, key, password)) from None
    return context


def _password(path: Path | None) -> str | None:
    if path is None:
        return None
    return _read("tls_key_password", path).decode("utf-8", "replace").rstrip("\r\n")


def _read(setting: str, path: Path) -> bytes:
    try:
        return read_file(path)
    except OSError as error:
        raise from_os_error(f"{setting}: cannot read {path}", error) from None


def _asked(password: str | None) -> str:
    # Without this function, OpenSSL would ask for the password at the terminal.
    if password is None:
        raise Unusable(
            "the key in tls_key is encrypted: set tls_key_password to the file with its password"
        )
    return password


def _explained(error: ssl.SSLError, certificate: Path, key: Path, password: str | None) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"the key in {key} does not match the certificate in {certificate}"
    if password is not None and error.reason in ("BAD_DECRYPT", "BAD_PASSWORD_READ", None):
        return f"the password in tls_key_password does not decrypt the key in {key}"
    return (
        f"there is no certificate in PEM format in {certificate}, or no key in {key}:"
        f" {error.reason or error}"
    )


@dataclass(frozen=True, slots=True)
class LeafCertificate:
    """A certificate's names and its validity, in microseconds since the epoch."""

    names: tuple[str, ...]
    begins: int
    ends: int


def leaf_of(path: Path) -> LeafCertificate:
    """Return the first certificate of a file. Raises Unusable if there is none."""
    # Imported here, because many hubs serve HTTP behind a proxy.
    from cryptography import x509

    try:
        found = x509.load_pem_x509_certificates(_read("tls_certificate", path))[0]
    except ValueError as error:
        raise Unusable(f"there is no certificate in {path}: {error}") from None
    moments = [
        round(moment.timestamp()) * clock.SECOND
        for moment in (found.not_valid_before_utc, found.not_valid_after_utc)
    ]
    return LeafCertificate(tuple(_names(found)), *moments)


def _names(certificate: "Certificate") -> Iterator[str]:
    from cryptography import x509

    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return
    yield from found.get_values_for_type(x509.DNSName)
    yield from (str(address) for address in found.get_values_for_type(x509.IPAddress))


def problems(settings: HubSettings, now: int) -> Iterator[str]:
    """Yield the errors that clients get now or soon.

    Each says that the certificate does not fit base_url, is not valid now, or ends soon.
    """
    if settings.tls_certificate is None:
        return
    leaf = leaf_of(settings.tls_certificate)
    if not leaf.begins <= now < leaf.ends:
        yield (
            f"the certificate in {settings.tls_certificate} is valid from {clock.iso(leaf.begins)}"
            f" to {clock.iso(leaf.ends)}, not now"
        )
    elif leaf.ends - now < min(SOON, (leaf.ends - leaf.begins) // 4):
        yield f"the certificate in {settings.tls_certificate} ends at {clock.iso(leaf.ends)}"
    parts = urlsplit(settings.root())
    if parts.scheme != "https":
        yield f"base_url is {settings.root()}, but with tls_certificate tocsin serves https"
    elif settings.base_url and not any(_fits(name, parts.hostname or "") for name in leaf.names):
        named = ", ".join(leaf.names) or "nothing"
        yield f"base_url names {parts.hostname}, but the certificate is for {named}"


def _fits(name: str, host: str) -> bool:
    name, host = name.lower(), host.lower()
    if name.startswith("*."):
        return host.partition(".")[2] == name[2:]
    return name == host
