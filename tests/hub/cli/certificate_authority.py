"""A certificate authority for tests of TLS."""

import datetime
import ipaddress
import ssl
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

DAY = datetime.timedelta(days=1)


class Authority:
    """A certificate authority that writes its certificates to `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tests' authority")])
        made = self._made(self._name, self._key.public_key(), DAY)
        basic = x509.BasicConstraints(ca=True, path_length=0)
        usage = dict.fromkeys(
            (
                "digital_signature", "content_commitment", "key_encipherment",
                "data_encipherment", "key_agreement", "encipher_only", "decipher_only",
            ),
            False,
        )  # fmt: skip
        signs = x509.KeyUsage(**usage, key_cert_sign=True, crl_sign=True)
        made = made.add_extension(basic, critical=True).add_extension(signs, critical=True)
        certificate = made.sign(self._key, hashes.SHA256())
        pem = certificate.public_bytes(Encoding.PEM)
        self.certificate = folder / "authority.crt"
        self.certificate.write_bytes(pem)
        self.trusting = ssl.create_default_context(cadata=pem.decode())

    def _made(self, name: x509.Name, key: Any, ends: datetime.timedelta) -> Any:
        now = datetime.datetime.now(datetime.UTC)
        number = x509.random_serial_number()
        made = x509.CertificateBuilder(self._name, name, key, number)
        made = made.not_valid_before(now - 2 * DAY).not_valid_after(now + ends)
        identifier = x509.SubjectKeyIdentifier.from_public_key(key)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return made.add_extension(identifier, critical=False).add_extension(issuer, critical=False)

    def issue(
        self,
        name: str,
        *,
        host: str = "localhost",
        ends: datetime.timedelta = DAY,
        password: bytes | None = None,
    ) -> int:
        """Write NAME.crt and NAME.key to the folder. Return the certificate's serial number."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
        local = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        names = x509.SubjectAlternativeName([x509.DNSName(host), local])
        made = self._made(subject, key.public_key(), ends).add_extension(names, critical=False)
        certificate = made.sign(self._key, hashes.SHA256())
        sealed = NoEncryption() if password is None else BestAvailableEncryption(password)
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, sealed)
        (self.folder / f"{name}.key").write_bytes(pem)
        (self.folder / f"{name}.crt").write_bytes(certificate.public_bytes(Encoding.PEM))
        number: int = certificate.serial_number
        return number
