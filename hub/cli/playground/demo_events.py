"""The demonstration's repository, and the names of its three events."""

from store import Row

OWNER, NAME = "ada", "bell-tower"
USER: Row = {"id": 1, "login": OWNER, "type": "User", "site_admin": False}
REPOSITORY: Row = {
    "id": 1,
    "name": NAME,
    "full_name": f"{OWNER}/{NAME}",
    "private": False,
    "owner": USER,
    "default_branch": "main",
}
EVENTS = ("push", "issues", "release")
