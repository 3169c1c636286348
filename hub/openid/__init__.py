"""Signing in with an OpenID Connect provider: its documents, its tokens, and whom they name.

Imports `http` and `openid_settings`. Only the dashboard imports it, and only if the setting
`openid_issuer` is set: it needs the extra `openid`.
"""
