"""Descriptions of the callers of an operation."""

import pytest
from contract_checks import own

from hub.auth.token_rights import CLASSIC
from hub.openapi.requirements import requirements
from hub.operations import OPERATIONS

ACCESS = {one.id: one.access for one in OPERATIONS}
ANYBODY = "Anybody may use this"


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.id)
def test_an_operation_is_open_to_anybody_only_without_credentials(operation) -> None:
    shown = own().content["paths"][operation.path][operation.method.lower()]
    assert (ANYBODY in shown["description"]) == ({} in shown["security"])


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.id)
def test_rights_of_rejected_tokens_are_not_named(operation) -> None:
    said, kinds = requirements(operation.access), operation.access.kinds
    assert "Permission of fine-grained" not in said or "fine_grained" in kinds
    assert "app tokens" not in said or not {"app_user", "installation"}.isdisjoint(kinds)
    assert "classic tokens" not in said or not set(CLASSIC).isdisjoint(kinds)


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        (
            "oauth-authorizations/get-grant",
            "Credentials: the user's name and password, by Basic authentication.",
        ),
        (
            "apps/delete-token",
            "Credentials: the app's client id and client secret, by Basic authentication.",
        ),
        ("apps/get-authenticated", "Credentials: a JSON web token of the app."),
        (
            "checks/create",
            "Role in the repository: write. Kinds of tokens: app_user, installation."
            " Permission of app tokens: checks (write).",
        ),
        (
            "enterprise-team-organizations/get-assignments",
            "Role in the enterprise: member. Kinds of tokens: personal."
            " Scope of classic tokens: read:enterprise.",
        ),
        ("meta/get-all-versions", "Anybody may use this, without a token too."),
    ],
)
def test_callers_are_described(operation: str, said: str) -> None:
    assert requirements(ACCESS[operation]) == said
