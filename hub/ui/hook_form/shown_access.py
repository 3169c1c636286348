"""The access of a hook to its endpoint in words, without secret values."""

from typing import Any


def shown_access(options: dict[str, Any]) -> list[tuple[str, str]]:
    """Return facts about the options for the access, each with its name."""
    headers = options.get("headers") or {}
    found = [("Header", f"{name}: {value}") for name, value in headers.items()]
    found += _shown_tls(options.get("tls") or {})
    oauth2 = options.get("oauth2")
    if oauth2:
        found.append(("Access token", f"of {oauth2['token_url']} for {oauth2['client_id']}"))
    return found


def _shown_tls(tls: dict[str, Any]) -> list[tuple[str, str]]:
    facts = {
        "Client certificate": "its own" if tls.get("client_cert") else "",
        "Certificate authorities": "its own" if tls.get("ca") else "",
        "Host name in the certificate": "not checked"
        if tls.get("verify_hostname") is False
        else "",
        "Lowest version of TLS": tls.get("min_version") or "",
    }
    return [(name, text) for name, text in facts.items() if text]
