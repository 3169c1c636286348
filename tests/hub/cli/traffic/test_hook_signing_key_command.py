"""Commands for the signatures and the signing keys of hooks."""

import json

from store import Store
from store.crypto import ed25519
from store.hooks import signing_keys

KEY = ed25519.write_private(bytes(range(32)))
PUBLIC = "whpk_A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="


def keys(run, hook_id: int) -> list[str]:
    found: list[str] = json.loads(run("hook", "show", hook_id, "--json").stdout)["public_keys"]
    return found


def test_a_key_is_made_rotated_and_imported(run, store: Store, hook_id):
    assert keys(run, hook_id) == []
    run("hook", "edit", hook_id, "--signatures", "sha256,v1a")
    (first,) = keys(run, hook_id)
    made = run("hook", "rotate-key", hook_id)
    second = made.stdout.strip()
    assert "the old one also signs until" in made.stderr
    assert keys(run, hook_id) == [second, first]
    refused = run("hook", "rotate-key", hook_id, code=5)
    assert "use --overlap 0s if no receiver needs an old key" in refused.stderr
    assert keys(run, hook_id) == [second, first]
    imported = run("hook", "rotate-key", hook_id, "--key", "-", "--overlap", "0s", stdin=f"{KEY}\n")
    assert imported.stdout.strip() == PUBLIC
    assert KEY not in imported.output
    assert keys(run, hook_id) == [PUBLIC]
    run("hook", "rotate-key", hook_id)
    run("hook", "rotate-key", hook_id, "--end")
    assert len(keys(run, hook_id)) == 1


def test_wrong_keys_and_signatures_are_rejected(run, hook_id):
    assert "32 bytes" in run("hook", "rotate-key", hook_id, "--key", "whsk_AAEC", code=2).stderr
    assert "signatures" in run("hook", "edit", hook_id, "--signatures", "md5", code=2).stderr
    run("hook", "rotate-key", 99, code=4)


def test_a_document_has_a_key(run, store: Store, hook_id, tmp_path):
    document = tmp_path / "state.yaml"
    document.write_text(
        "hooks:\n  - repository: ada/bell\n    url: https://198.41.0.4/other\n"
        f"    signing_key: {KEY}\n    delivery: {{signatures: [v1a]}}\n"
    )
    assert "created" in run("load", document).output
    (seed,) = [one.seed for one in store.read_sync(signing_keys.private_keys, 2)]
    assert seed == bytes(range(32))
    assert "unchanged" in run("load", document).output
