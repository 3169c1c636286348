"""TLS served directly: the certificate of the settings, or the one that took its place since."""

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509

from hub.settings import HubSettings
from store import clock
from store.errors import Unusable, from_os_error

# Forward secrecy and authenticated encryption, as TLS 1.3 has nothing else.
CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"


class TLSContext:
    """What a server listens with. Who connects is answered by the certificate of that moment, and
    connections that are there go on with theirs.
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
        """Answer by this from now on."""
        self._current = loaded


def tls_of(settings: HubSettings) -> TLSContext | None:
    """What these settings say; None without a certificate. Unusable where it is of no use."""
    return None if settings.tls_certificate is None else TLSContext(settings)


def load(settings: HubSettings) -> ssl.SSLContext:
    """A context with the certificate and the key. Unusable says which of them is wrong, and how."""
    certificate, key = settings.tls_certificate, settings.tls_key or settings.tls_certificate
    assert certificate is not None, "asked for where there is one"
    assert key is not None
    for path in (certificate, key):
        _read(path)
    password = None
    if settings.tls_key_password is not None:
        password = _read(settings.tls_key_password).decode("utf-8", "replace").rstrip("\r\n")
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


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise from_os_error(f"cannot read {path}", error) from None


def _asked(password: str | None) -> str:
    # Without an answer the library would ask at the terminal.
    if password is None:
        raise Unusable(
            "the key in tls_key is encrypted: tls_key_password names its password's file"
        )
    return password


def _explained(error: ssl.SSLError, certificate: Path, key: Path, password: str | None) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"the key in {key} is not that of the certificate in {certificate}"
    if password is not None and error.reason in ("BAD_DECRYPT", "BAD_PASSWORD_READ", None):
        return f"the key in {key} does not open with the password of tls_key_password"
    return (
        f"there is no certificate in {certificate}, or no key in {key}, as PEM has them:"
        f" {error.reason or error}"
    )


@dataclass(frozen=True, slots=True)
class LeafCertificate:
    """What a certificate says of itself: names, and until when it is good, in microseconds."""

    names: tuple[str, ...]
    begins: int
    ends: int


def leaf_of(path: Path) -> LeafCertificate:
    """The first certificate of a file. Unusable where there is none."""
    try:
        found = x509.load_pem_x509_certificates(_read(path))[0]
    except ValueError as error:
        raise Unusable(f"there is no certificate in {path}: {error}") from None
    moments = [
        round(moment.timestamp()) * clock.SECOND
        for moment in (found.not_valid_before_utc, found.not_valid_after_utc)
    ]
    return LeafCertificate(tuple(_names(found)), *moments)


def _names(certificate: x509.Certificate) -> Iterator[str]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return
    yield from found.get_values_for_type(x509.DNSName)
    yield from (str(address) for address in found.get_values_for_type(x509.IPAddress))


def problems(settings: HubSettings, now: int) -> Iterator[str]:
    """What clients will stumble over: a base_url or a moment that the certificate is not for."""
    if settings.tls_certificate is None:
        return
    leaf = leaf_of(settings.tls_certificate)
    if not leaf.begins <= now < leaf.ends:
        yield (
            f"the certificate in {settings.tls_certificate} is good from {clock.iso(leaf.begins)}"
            f" to {clock.iso(leaf.ends)}, not now"
        )
    parts = urlsplit(settings.root())
    if parts.scheme != "https":
        yield f"base_url is {settings.root()}, and with tls_certificate https is served"
    elif settings.base_url and not any(_fits(name, parts.hostname or "") for name in leaf.names):
        named = ", ".join(leaf.names) or "nothing"
        yield f"base_url names {parts.hostname}, and the certificate is for {named}"


def _fits(name: str, host: str) -> bool:
    name, host = name.lower(), host.lower()
    if name.startswith("*."):
        return host.partition(".")[2] == name[2:]
    return name == host
