"""A certificate authority that a test creates, and certificates that it issues."""

import datetime
import ipaddress
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

NOW = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
DAY = datetime.timedelta(days=1)
# Certificates are valid at the times of the tests' clocks, and at the time of the machine's clock,
# which TLS libraries read.
EARLY, LATE = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), NOW + 3650 * DAY


def pem_of(key: Any) -> str:
    """The private key in PEM, without a password."""
    return str(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode())


@dataclass
class Authority:
    """A certificate authority. `parent` issues its certificate, or it is self-signed."""

    name: str = "Bell Founders"
    parent: "Authority | None" = None
    ends: datetime.datetime = LATE
    key: Any = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    certificate: x509.Certificate = field(init=False)

    def __post_init__(self) -> None:
        issuer = self.parent or self
        self.certificate = issuer.sign(self.name, self.key, self.ends, authority=True)

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def sign(
        self, name: str, key: Any, ends: datetime.datetime, *, authority: bool = False
    ) -> x509.Certificate:
        common = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        own = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, self.name)])
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        return (
            x509.CertificateBuilder(own, common, key.public_key(), x509.random_serial_number())
            .not_valid_before(EARLY)
            .not_valid_after(ends)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .sign(self.key, hashes.SHA256())
        )

    def issue(
        self, name: str = "tocsin", ends: datetime.datetime = LATE, key: Any = None
    ) -> tuple[str, str]:
        """A certificate and its private key, both in PEM."""
        key = key or ec.generate_private_key(ec.SECP256R1())
        certificate = self.sign(name, key, ends)
        return certificate.public_bytes(Encoding.PEM).decode(), pem_of(key)

    def server(self, folder: Path, *, asks: bool = True) -> ssl.SSLContext:
        """The TLS context of a server on loopback. If it `asks`, it requires that clients have a
        certificate of this authority.
        """
        file = folder / "server.pem"
        file.write_text("".join(self.issue("localhost")))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        if asks:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(cadata=self.pem)
        return context
