"""The certificate of an owned server: self-signed, made once. Runners get it with their key and trust no other, so its
name and its address say nothing and are not checked."""

from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_NAME: Final = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "fairlead")])
_FROM: Final = datetime(2020, 1, 1, tzinfo=UTC)
"""Long ago, because clocks of machines differ."""
_LASTS: Final = timedelta(days=365 * 60)


def make_certificate() -> tuple[bytes, bytes]:
    """The certificate and its private key, in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(_NAME)
        .issuer_name(_NAME)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_FROM)
        .not_valid_after(_FROM + _LASTS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return (
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )
