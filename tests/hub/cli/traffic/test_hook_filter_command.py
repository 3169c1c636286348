"""Commands that set, show and test the filters of hooks."""

import json

from store import Store
from store.hooks import hooks

TAGS = json.dumps({"payload": {"ref": {"$startsWith": "refs/tags/"}}})


def test_a_filter_is_given_and_removed(run, store: Store, hook_id):
    said = run("hook", "edit", hook_id, "--filter", TAGS).stdout
    assert 'filter={"payload":{"ref":{"$startsWith":"refs/tags/"}}}' in said
    found = store.read_sync(hooks.by_id, hook_id)
    assert found["options"]["filter"] == json.loads(TAGS)
    run("hook", "edit", hook_id, "--filter", "default")
    assert store.read_sync(hooks.by_id, hook_id)["options"] == {}
    assert "this is not JSON" in run("hook", "edit", hook_id, "--filter", "{", code=2).stderr
    bad = json.dumps({"payload": {"ref": {"$regex": "x"}}})
    said = run("hook", "edit", hook_id, "--filter", bad, code=2).stderr
    assert "payload.ref.$regex: unknown operator" in said


def test_a_filter_is_tested_with_a_stored_event_and_a_file(run, listed, hook_id, tmp_path):
    run("hook", "edit", hook_id, "--filter", TAGS)
    (tmp_path / "push.json").write_text('{"ref": "refs/heads/main"}')
    said = run("hook", "test-filter", hook_id, "--file", tmp_path / "push.json").stdout
    assert said.startswith(f"hook {hook_id} leaves out this event\nno\tpayload.ref\t$startsWith\t")
    run("emit", "push", "ada/bell", "--file", "-", stdin='{"ref": "refs/tags/v1"}')
    event = listed("event", "list")[0]["id"]
    found = listed("hook", "test-filter", hook_id, "--event", event)
    assert found == {
        "matches": True,
        "conditions": [
            {
                "holds": True,
                "path": "payload.ref",
                "operator": "$startsWith",
                "expected": '"refs/tags/"',
                "found": ['"refs/tags/v1"'],
            }
        ],
    }
    other = run("hook", "test-filter", hook_id, "--event", event, "--filter", '{"action": "x"}')
    assert "leaves out" in other.stdout


def test_a_filter_in_cel_is_tested(run, listed, hook_id):
    run("hook", "edit", hook_id, "--filter", json.dumps({"cel": "payload.size > 1"}))
    said = run("hook", "test-filter", hook_id, "--file", "-", stdin='{"size": 2}').stdout
    assert said == f'hook {hook_id} delivers this event\nyes\t\tcel\t"payload.size > 1"\ttrue\n'
    found = run("hook", "test-filter", hook_id, "--file", "-", "--json", stdin="{}").stdout
    assert json.loads(found) == {
        "matches": False,
        "conditions": [
            {
                "holds": False,
                "path": "",
                "operator": "cel",
                "expected": '"payload.size > 1"',
                "found": [],
                "error": 'Key not found in map: "size"',
            }
        ],
    }
    said = run("hook", "edit", hook_id, "--filter", '{"cel": "payload.size >"}', code=2).stderr
    assert "cel: line 1, column 15: mismatched input" in said


def test_filtered_deliveries_are_listed(run, listed, hook_id):
    run("hook", "edit", hook_id, "--filter", TAGS)
    run("emit", "push", "ada/bell", "--file", "-", stdin='{"ref": "refs/heads/main"}')
    event = listed("event", "list")[0]["id"]
    (left_out,) = listed("event", "show", event)["deliveries"]
    assert left_out["state"] == "filtered"
    assert "payload.ref does not satisfy" in left_out["problem"]
    assert [row["state"] for row in listed("delivery", "list", "--state", "filtered")] == [
        "filtered"
    ]
    assert listed("hook", "show", hook_id)["filtered"] == 1


def test_a_filter_test_needs_a_filter_and_a_payload(run, hook_id, tmp_path):
    run("hook", "test-filter", hook_id, code=2)
    assert (
        "has no filter" in run("hook", "test-filter", 1, "--file", "-", code=2, stdin="{}").stderr
    )
    run("hook", "edit", hook_id, "--filter", TAGS)
    run("hook", "test-filter", hook_id, "--event", 99, code=4)
    said = run("hook", "test-filter", hook_id, "--file", "-", code=2, stdin="[]").stderr
    assert "the payload: Body should be a JSON object" in said
