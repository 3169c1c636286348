"""The TLS of a hook's connections, as its options say."""

from typing import Any

from worker.http.tls_contexts import TlsChoice, UnusableMaterial, context_of, material_of


def tls_choice(
    options: dict[str, Any], ends_at: int | None, now: int, *, verify: bool
) -> tuple[TlsChoice, str]:
    """Return the choice, and why its material cannot be used, or an empty text.

    `ends_at` is the end of the first certificate in microseconds.
    """
    tls = options.get("tls")
    if not tls:
        return verify, ""
    if ends_at is not None and ends_at <= now:
        return verify, "a certificate in the option tls has expired"
    material = material_of(tls, verify=verify)
    try:
        context_of(material)
    except UnusableMaterial as error:
        return verify, f"the option tls: {error}"
    return material, ""
