"""Signing in with an OpenID Connect provider: its documents, its tokens, and whom they name.

Imports `openid_settings`. Only the dashboard imports it, and only if the setting `openid_issuer` is
set: it needs the extra `openid`.
"""
