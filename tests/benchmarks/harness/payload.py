"""Event bodies that look and compress like the ones of a platform."""

import random

import orjson

SIZE = 8000
"""The bytes of an event, unless a figure has its own size."""
TEXT = """add fix the a of to in when test branch merge remove parser handler queue retry timeout
for response header support docs update version build cache index token error from with session
request config default option path file state check delivery signature client server"""
WORDS = TEXT.split()


def payload(size: int, seed: int) -> bytes:
    """Return the body of a push with `size` bytes. Each seed gives another one."""
    chosen = random.Random(seed)
    commits: list[dict[str, object]] = []
    body: dict[str, object] = {
        "ref": "refs/heads/main",
        "repository": {"id": 1, "full_name": "bench/marked", "private": False},
        "sender": {"login": "bench", "id": 1, "type": "User"},
        "commits": commits,
        "seed": seed,
        "filler": "",
    }
    length = len(orjson.dumps(body))
    while True:
        commit = _commit(chosen)
        length += len(orjson.dumps(commit)) + 1
        if length > size:
            break
        commits.append(commit)
    body["filler"] = "." * (size - len(orjson.dumps(body)))
    return orjson.dumps(body)


def _commit(chosen: random.Random) -> dict[str, object]:
    sha = f"{chosen.getrandbits(160):040x}"
    author = {"name": "Ada L.", "email": "ada@example.com", "username": "ada"}
    return {
        "id": sha,
        "message": " ".join(chosen.choices(WORDS, k=9)),
        "timestamp": f"2026-11-21T07:{chosen.randrange(60):02}:{chosen.randrange(60):02}Z",
        "url": f"https://forge.example/bench/marked/commit/{sha}",
        "author": author,
        "committer": author,
        "added": [],
        "modified": [f"{chosen.choice(WORDS)}/{chosen.choice(WORDS)}.py"],
    }
