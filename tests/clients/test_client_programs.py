"""Programs with unmodified client libraries work with a running daemon.

Each program signs in, reads the repository, subscribes, receives and verifies a delivery, and adds
a comment. The libraries come from their registries. Without a registry, a test skips with the
reason.
"""

import asyncio
import json
import os
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from certificate_authority import Authority
from daemon import Site, done, said
from uv_command import find_uv
from waiting import PATIENCE, wait_until

PROGRAMS = Path(__file__).parent / "programs"
PYTHON_PACKAGES = (
    "PyGithub>=2.10,<3",
    "githubkit>=0.16,<0.17",
    "hishel<2",  # githubkit 0.16 imports names that hishel 2 no longer has
    "ghapi>=2.1,<3",
    "github3.py>=4,<5",
)
NODE_PACKAGES = ("octokit@5", "@octokit/webhooks@14", "probot@14")
SCOPES = ("repo", "admin:repo_hook", "user")
REPOSITORY = "ada/engine"
# The second run is of an unknown workflow: only one of its jobs was reported.
RUNS: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "workflow_run",
        {
            "workflow": {"id": 77, "name": "Release", "path": ".forge/workflows/release.yml"},
            "workflow_run": {"id": 7, "name": "Release", "workflow_id": 77, "status": "completed"},
        },
    ),
    (
        "workflow_job",
        {
            "workflow_job": {
                "id": 10,
                "run_id": 7,
                "name": "cast",
                "status": "completed",
                "conclusion": "failure",
                "steps": [
                    {"name": "Melt", "status": "completed", "conclusion": "success", "number": 1},
                    {"name": "Pour", "status": "completed", "conclusion": "failure", "number": 2},
                ],
            }
        },
    ),
    ("workflow_job", {"workflow_job": {"id": 9, "run_id": 8, "workflow_name": "Peal"}}),
)
SHA = "a" * 40
ENDS = {
    end: {"ref": ref, "sha": SHA, "repo": {"full_name": REPOSITORY}}
    for end, ref in (("head", "oil"), ("base", "main"))
}
PULL = 7
MERGED: dict[str, Any] = {
    "id": 70,
    "number": PULL,
    "title": "Oil the bell",
    "user": {"login": "grace"},
    "state": "closed",
    "created_at": "2026-11-20T09:00:00Z",
    "updated_at": "2026-11-20T10:00:00Z",
    "merged_at": "2026-11-20T10:00:00Z",
    "requested_reviewers": [{"login": "grace"}],
    **ENDS,
}
BY_GRACE: dict[str, Any] = {"user": {"login": "grace"}, "commit_id": SHA}
REVIEW = {"id": 71, "state": "approved", "body": "It rings", "submitted_at": MERGED["merged_at"]}
LINE = {"id": 72, "path": "bell.py", "body": "Oil it", "pull_request_review_id": REVIEW["id"]}
REVIEWED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("push", {"ref": "refs/heads/main", "before": "0" * 40, "after": SHA, "commits": []}),
    ("pull_request", {"action": "closed", "pull_request": MERGED}),
    (
        "pull_request_review",
        {"action": "submitted", "pull_request": MERGED, "review": BY_GRACE | REVIEW},
    ),
    (
        "pull_request_review_comment",
        {"action": "created", "pull_request": MERGED, "comment": BY_GRACE | LINE},
    ),
)
"""The events of a merged pull request with a review. The next issue gets the next number."""


@dataclass
class Forge:
    """A daemon whose vocabulary these clients know, and ada's token."""

    url: str
    token: str

    async def texts(self, number: int) -> list[str]:
        """Return the comments of an issue. Check that the repository has no hook any more."""
        headers = {"Authorization": f"Bearer {self.token}"}
        async with httpx.AsyncClient(headers=headers, trust_env=False, timeout=PATIENCE) as client:
            place = f"{self.url}/repos/{REPOSITORY}"
            answer = await client.get(f"{place}/issues/{number}/comments")
            hooks = await client.get(f"{place}/hooks")
        assert hooks.json() == []
        return [one["body"] for one in answer.json()]


@pytest.fixture
async def site(anyio_backend: str, tmp_path: Path) -> AsyncIterator[Site]:
    site = Site(tmp_path / "data")
    yield site
    await site.close()


@pytest.fixture
async def forge(site: Site) -> Forge:
    return await serve(site, "http")


async def serve(site: Site, scheme: str, **environment: str) -> Forge:
    scopes = [word for scope in SCOPES for word in ("--scope", scope)]
    token = (await said(site.folder, "token", "create", "ada", *scopes)).split()[0]
    url = f"{scheme}://127.0.0.1:{site.port}/api/v3"
    words = {"TOCSIN_BASE_URL": url, "TOCSIN_VOCABULARY": '{"service": "github"}'}
    await site.serve(**words, **environment)
    return Forge(url, token)


def installed(command: list[str], folder: Path) -> None:
    """Run an installer. Skip the test if it cannot reach its registry."""
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ended.returncode:
        pytest.skip(f"{command[0]} installed nothing: {ended.stderr[-500:]}")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has the client libraries."""
    folder, uv = tmp_path_factory.mktemp("clients"), find_uv()
    installed([uv, "venv", "-q", "venv"], folder)
    installed([uv, "pip", "install", "-q", "-p", "venv", *PYTHON_PACKAGES], folder)
    return folder / "venv" / "bin" / "python"


@pytest.fixture(scope="module")
def node_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose node modules are the client libraries."""
    npm, folder = shutil.which("npm"), tmp_path_factory.mktemp("node")
    if npm is None:
        pytest.skip("npm is not installed")
    installed([npm, "install", "--silent", "--no-audit", "--no-fund", *NODE_PACKAGES], folder)
    return folder


async def run(*program: str | Path, **environment: str) -> str:
    """Run a program, which must end with exit code 0. Return its output."""
    process = await asyncio.create_subprocess_exec(
        *(str(word) for word in program),
        env={**os.environ, **environment},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    return await done(process)


@pytest.mark.parametrize("library", ["pygithub", "githubkit", "ghapi", "github3"])
async def test_a_python_client_subscribes_and_answers(
    forge: Forge, python: Path, library: str
) -> None:
    report_review(forge)
    program = PROGRAMS / f"with_{library}.py"
    await run(python, program, forge.url, forge.token, REPOSITORY)
    (text,) = await forge.texts(PULL + 1)
    assert text.startswith("Received ")


async def test_octokit_subscribes_and_answers(forge: Forge, node_folder: Path) -> None:
    report_review(forge)
    # Node looks for packages beside the program.
    program = shutil.copy(PROGRAMS / "with_octokit.mjs", node_folder)
    await run("node", program, forge.url, forge.token, REPOSITORY)
    (text,) = await forge.texts(PULL + 1)
    assert text.startswith("Received ")


async def installed_app(site: Site) -> tuple[str, Path]:
    """Create an app and install it on ada's account for one repository.

    Return the id of the app and the file of its key.
    """
    url, permission = "https://mill.example/", ("--permission", "issues=write")
    kind = ("--kind", "integration", "--event", "issues", *permission)
    await said(site.folder, "repo", "add", "ada/other")
    await said(site.folder, "app", "add", "Mill", "--owner", "ada", "--url", url, *kind)
    await said(site.folder, "app", "install", "Mill", "ada", "--repo", "engine")
    key = site.folder.parent / "mill.pem"
    key.write_text(await said(site.folder, "app", "key", "add", "Mill"))
    return str(json.loads(await said(site.folder, "app", "show", "Mill", "--json"))["id"]), key


async def test_a_python_app_signs_in_and_answers(site: Site, forge: Forge, python: Path) -> None:
    app, key = await installed_app(site)
    program = PROGRAMS / "app_with_pygithub.py"
    assert await run(python, program, forge.url, app, key, REPOSITORY) == "done\n"
    assert await forge.texts(1) == ["Received by an app."]


async def test_an_octokit_app_signs_in_and_answers(
    site: Site, forge: Forge, node_folder: Path
) -> None:
    app, key = await installed_app(site)
    program = shutil.copy(PROGRAMS / "app_with_octokit.mjs", node_folder)
    await run("node", program, forge.url, app, key, REPOSITORY)
    assert await forge.texts(1) == ["Received by an app."]


async def test_an_app_on_probot_answers_an_issue(
    site: Site, forge: Forge, node_folder: Path
) -> None:
    app, key = await installed_app(site)
    program = shutil.copy(PROGRAMS / "app_with_probot.mjs", node_folder)
    await run("node", program, forge.url, app, key, REPOSITORY, forge.token)
    (text,) = await forge.texts(1)
    assert text.startswith("Received ")


@pytest.mark.skipif(shutil.which("gh") is None, reason="gh is not installed")
async def test_gh_calls_the_rest_api(site: Site, tmp_path: Path) -> None:
    forge, environment = await serve_to_gh(site, tmp_path)
    assert json.loads(await run("gh", "api", "user", **environment))["login"] == "ada"
    issues = f"repos/{REPOSITORY}/issues"
    made = await run("gh", "api", issues, "-f", "title=The bell is silent", **environment)
    listed = await run("gh", "api", "--paginate", issues, "--jq", ".[].number", **environment)
    assert listed.split() == [str(json.loads(made)["number"])]
    repository = ("-R", f"{environment['GH_HOST']}/{REPOSITORY}")
    labels = f"repos/{REPOSITORY}/labels"
    for words in (("create", "cracked", "--color", "ff0000"), ("edit", "cracked", "-n", "broken")):
        await run("gh", "label", *words, *repository, **environment)
    listed = await run("gh", "api", labels, "--jq", ".[].name", **environment)
    assert listed.split() == ["broken"]
    await run("gh", "label", "delete", "broken", "--confirm", *repository, **environment)
    assert json.loads(await run("gh", "api", labels, **environment)) == []
    report_runs(forge, environment["SSL_CERT_FILE"])
    listed = await run("gh", "run", "list", *repository, **environment)
    assert {line.split("\t")[3] for line in listed.splitlines()} == {"Release", ""}
    chosen = ("gh", "run", "list", "--workflow", "release.yml", *repository)
    assert len((await run(*chosen, **environment)).splitlines()) == 1
    flows = await run("gh", "workflow", "list", *repository, **environment)
    assert flows.split() == ["Release", "active", "77"]
    viewed = await run("gh", "run", "view", "--job", "10", *repository, **environment)
    shown = {line.partition(" (")[0].strip() for line in viewed.splitlines()}
    assert {"X cast", "✓ Melt", "X Pour"} <= shown
    viewed = await run("gh", "run", "view", "7", *repository, **environment)
    assert {"JOBS", "X cast", "X Pour"} <= {
        line.partition(" (")[0].strip() for line in viewed.splitlines()
    }
    asked = ("gh", "run", "view", "7", "--json", "jobs", "--jq", ".jobs[].name")
    assert (await run(*asked, *repository, **environment)).split() == ["cast"]
    assert "already completed" in await run("gh", "run", "watch", "7", *repository, **environment)


def report_runs(forge: Forge, authority: str) -> None:
    """Post RUNS, and wait until the worker has made the runs and jobs from them."""
    runs = f"{forge.url}/repos/{REPOSITORY}/actions/runs"
    with posted(forge, RUNS, verify=ssl.create_default_context(cafile=authority)) as client:
        wait_until(
            lambda: all(client.get(f"{runs}/{run}/jobs").json().get("jobs") for run in (7, 8)),
            "the jobs of both runs are listed",
        )


def report_review(forge: Forge) -> None:
    """Post REVIEWED, and wait until the worker has made a list from its last event."""
    comments = f"{forge.url}/repos/{REPOSITORY}/pulls/comments"
    with posted(forge, REVIEWED) as client:
        wait_until(lambda: client.get(comments).json() != [], "the comment on a line is listed")


@contextmanager
def posted(
    forge: Forge, events: Iterable[tuple[str, dict[str, Any]]], **how: Any
) -> Iterator[httpx.Client]:
    """Post events. Yield the client that did so."""
    origin, headers = forge.url.removesuffix("/api/v3"), {"Authorization": f"Bearer {forge.token}"}
    with httpx.Client(headers=headers, trust_env=False, timeout=PATIENCE, **how) as client:
        for event, payload in events:
            answer = client.post(f"{origin}/{REPOSITORY}/events/{event}", json=payload)
            answer.raise_for_status()
        yield client


async def serve_to_gh(site: Site, tmp_path: Path) -> tuple[Forge, dict[str, str]]:
    """Serve with TLS, which gh requires. Return the forge and gh's environment."""
    authority = Authority(tmp_path)
    authority.issue("hub")
    files = {
        "TOCSIN_TLS_CERTIFICATE": str(tmp_path / "hub.crt"),
        "TOCSIN_TLS_KEY": str(tmp_path / "hub.key"),
    }
    forge = await serve(site, "https", **files)
    host = forge.url.removeprefix("https://").partition("/")[0]
    return forge, {
        "GH_HOST": host,
        "GH_ENTERPRISE_TOKEN": forge.token,
        "GH_CONFIG_DIR": str(tmp_path / "gh"),
        "SSL_CERT_FILE": str(authority.certificate),
    }
