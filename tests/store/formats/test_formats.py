"""Formats: CloudEvents as their SDK reads them, thin events, and texts for chats."""

from typing import Any

import orjson
import pytest
from cloudevents.core.bindings.http import HTTPMessage, from_http_event
from hypothesis import given
from hypothesis import strategies as st

from store.formats import chat, cloudevents
from store.formats.event_view import EventView
from store.formats.formats import FORMATS, JSON, media_type, render

AT = 1_795_246_380_000_000
REPOSITORY = {
    "id": 7,
    "full_name": "ada/bell-tower",
    "url": "https://hub.example/repos/ada/bell-tower",
    "html_url": "https://hub.example/ada/bell-tower",
}
SENDER = {"login": "ada"}
PUSH = {
    "ref": "refs/heads/main",
    "compare": "https://hub.example/compare",
    "commits": [
        {"id": "c9e7a1b35f8d", "message": "Oil *the* bell\n\nMore", "url": "https://hub.example/c"}
    ],
    "repository": REPOSITORY,
    "sender": SENDER,
}
ISSUE = {
    "action": "opened",
    "issue": {
        "id": 70,
        "number": 12,
        "title": "It [rings] @all",
        "url": "https://hub.example/repos/ada/bell-tower/issues/12",
        "html_url": "https://hub.example/ada/bell-tower/issues/12",
        "updated_at": "2026-03-02T08:15:00Z",
    },
    "repository": REPOSITORY,
    "sender": SENDER,
}


def view(name: str, payload: Any, guid: str = "guid-1") -> EventView:
    return EventView(name, guid, orjson.dumps(payload), AT)


def sent(name: str, format_: str, payload: Any, **given: Any) -> tuple[dict[str, str], bytes]:
    """The headers and the body of a request in a format."""
    rendered = render(format_, view(name, payload), **given)
    lines = [line for line in rendered.headers.split("\r\n") if line]
    headers = dict(line.split(": ", 1) for line in lines)
    return {"content-type": media_type(format_), **headers}, rendered.body


@pytest.mark.parametrize("format_", ["cloudevents_binary", "cloudevents_structured"])
class TestCloudEvents:
    def test_the_sdk_reads_an_event(self, format_: str) -> None:
        event = from_http_event(HTTPMessage(*sent("issues", format_, ISSUE, prefix="com.github")))
        assert (event.get_id(), event.get_specversion()) == ("guid-1", "1.0")
        assert event.get_source() == REPOSITORY["url"]
        assert (event.get_type(), event.get_subject()) == ("com.github.issues.opened", "12")
        assert event.get_time().isoformat() == "2026-03-02T08:15:00+00:00"
        assert event.get_data() == ISSUE

    def test_a_status_has_its_commit(self, format_: str) -> None:
        payload = {"sha": "6dcb09b5b578", "state": "success", "repository": REPOSITORY}
        event = from_http_event(HTTPMessage(*sent("status", format_, payload)))
        assert (event.get_type(), event.get_subject()) == ("tocsin.status", "6dcb09b5b578")

    def test_a_push_has_its_ref_and_the_time_of_arrival(self, format_: str) -> None:
        event = from_http_event(HTTPMessage(*sent("push", format_, PUSH)))
        assert (event.get_type(), event.get_subject()) == ("tocsin.push", "refs/heads/main")
        assert event.get_time().isoformat() == "2026-11-21T07:33:00+00:00"

    @pytest.mark.parametrize(
        "given",
        ["2026-02-30T08:15:00Z", "2026-03-02T24:15:00Z", "2026-03-02T08:15:00+99:00", "now"],
    )
    def test_a_time_that_does_not_exist_is_the_time_of_arrival(
        self, format_: str, given: str
    ) -> None:
        payload = {**ISSUE, "issue": {**ISSUE["issue"], "updated_at": given}}
        event = from_http_event(HTTPMessage(*sent("issues", format_, payload)))
        assert event.get_time().isoformat() == "2026-11-21T07:33:00+00:00"

    def test_an_empty_event_has_the_hub_as_its_source(self, format_: str) -> None:
        event = from_http_event(HTTPMessage(*sent("ping", format_, {})))
        assert (event.get_source(), event.get_subject()) == ("urn:tocsin:hub", None)

    def test_odd_characters(self, format_: str) -> None:
        ref = 'refs/heads/grün "1%"\r\nx: y'
        event = from_http_event(HTTPMessage(*sent("push", format_, {"ref": ref})))
        assert event.get_subject() == ref


def test_a_source_is_short() -> None:
    body = orjson.dumps({"repository": {"full_name": "é" * 5000}})
    source = cloudevents.attributes(EventView("push", "g", body, 0), "x")["source"]
    assert source == f"/repos/{'%C3%A9' * cloudevents.MOST}"


def test_headers_of_the_binary_form() -> None:
    headers, body = sent("push", "cloudevents_binary", {"ref": 'a "ü%\r\n'})
    assert headers["ce-subject"] == "a%20%22%C3%BC%25%0D%0A"
    assert "ce-datacontenttype" not in headers
    assert headers["content-type"] == JSON
    assert headers["webhook-format"] == "cloudevents_binary"
    assert body == orjson.dumps({"ref": 'a "ü%\r\n'})


def test_the_structured_form_keeps_the_payloads_text() -> None:
    event = EventView("push", "g", b'{"a": 1.0,  "b":"\\u00e9"}', AT)
    body = render("cloudevents_structured", event).body
    assert b'"data":{"a": 1.0,  "b":"\\u00e9"}' in body
    assert media_type("cloudevents_structured") == "application/cloudevents+json"


def test_a_thin_event_names_the_related_object() -> None:
    assert orjson.loads(sent("issues", "thin", ISSUE)[1]) == {
        "id": "guid-1",
        "type": "issues.opened",
        "created_at": "2026-11-21T07:33:00Z",
        "repository": {"id": 7, "full_name": "ada/bell-tower", "url": REPOSITORY["url"]},
        "related_object": {"type": "issue", "id": "12", "url": ISSUE["issue"]["url"]},
    }
    empty = orjson.loads(sent("ping", "thin", {})[1])
    assert (empty["repository"], empty["related_object"]) == (None, None)


OWN: dict[str, Any] = {"id": 3, "full_name": "tower/new clock"}


@pytest.mark.parametrize(
    ("payload", "own", "thin", "source"),
    [
        ({}, OWN, {**OWN, "url": None}, "/repos/tower/new%20clock"),
        ({"repository": None}, OWN, {**OWN, "url": None}, "/repos/tower/new%20clock"),
        ({}, {}, None, "urn:tocsin:hub"),
        (
            {"repository": {"full_name": "a/b"}},
            OWN,
            {"id": None, "full_name": "a/b", "url": None},
            "/repos/a/b",
        ),
        (
            PUSH,
            OWN,
            {"id": 7, "full_name": "ada/bell-tower", "url": REPOSITORY["url"]},
            REPOSITORY["url"],
        ),
    ],
)
def test_a_payload_without_a_repository_has_the_event_s(
    payload: dict[str, Any], own: dict[str, Any], thin: dict[str, Any] | None, source: str
) -> None:
    event = view("push", payload)
    event.own_repository = own
    assert orjson.loads(render("thin", event).body)["repository"] == thin
    assert orjson.loads(render("cloudevents_structured", event).body)["source"] == source
    shown = "a repository" if thin is None else thin["full_name"]
    assert shown in text_of("slack", render("slack", event).body)


def text_of(format_: str, body: bytes) -> str:
    content = orjson.loads(body)
    if format_ == "teams":
        (attachment,) = content["attachments"]
        (block,) = attachment["content"]["body"]
        return str(block["text"])
    return str(content["content" if format_ == "discord" else "text"])


class TestChats:
    def test_slack_shows_a_push(self) -> None:
        assert text_of("slack", sent("push", "slack", PUSH)[1]) == (
            "ada pushed <https://hub.example/compare|1 commit> to branch main of"
            " <https://hub.example/ada/bell-tower|ada/bell-tower>\n"
            "<https://hub.example/c|c9e7a1b> Oil *the* bell"
        )

    def test_mattermost_shows_an_issue(self) -> None:
        assert text_of("mattermost", sent("issues", "mattermost", ISSUE)[1]) == (
            "ada opened the issue [\\#12 It \\[rings\\] @\u200ball]"
            "(https://hub.example/ada/bell-tower/issues/12)"
            " in [ada/bell-tower](https://hub.example/ada/bell-tower)"
        )

    def test_discord_allows_no_mentions(self) -> None:
        content = orjson.loads(sent("issues", "discord", ISSUE)[1])
        assert content["allowed_mentions"] == {"parse": []}

    def test_teams_gets_a_card(self) -> None:
        content = orjson.loads(sent("issues", "teams", ISSUE)[1])
        assert content["type"] == "message"
        assert content["attachments"][0]["content"]["type"] == "AdaptiveCard"
        assert "ada opened the issue" in text_of("teams", orjson.dumps(content))

    @pytest.mark.parametrize(
        ("name", "payload", "said"),
        [
            ("ping", {}, "This hook works"),
            ("push", {**PUSH, "forced": True}, "force-pushed"),
            ("push", {**PUSH, "deleted": True}, "deleted branch main"),
            ("push", {**PUSH, "ref": "refs/tags/v1", "commits": []}, "0 commits> to tag v1"),
            ("push", {**PUSH, "commits": PUSH["commits"] * 8}, "and 3 more"),
            ("push", {**PUSH, "total_commits": 1}, "|1 commit> to branch main"),
            ("push", {**PUSH, "total_commits": 20}, "|20 commits> to branch main"),
            ("push", {**PUSH, "total_commits": 20}, "\nand 19 more"),
            ("push", {**PUSH, "total_commits": True}, "|1 commit> to branch main"),
            ("push", {**PUSH, "total_commits": 2**63}, "|1 commit> to branch main"),
            (
                "push",
                {"compare_url": "https://hub.example/compare", "commits": []},
                "<https://hub.example/compare|0 commits>",
            ),
            (
                "status",
                {
                    "context": "ci/tone",
                    "state": "failure",
                    "sha": "6dcb09b5b578",
                    "description": "Flat\nby a quarter",
                    "target_url": "https://ci.example/1",
                },
                "<https://ci.example/1|ci/tone>: failure on 6dcb09b in a repository\nFlat",
            ),
            ("status", {}, "status: changed in a repository"),
            ("pull_request", {"action": "closed", "pull_request": {"merged": True}}, "merged the"),
            (
                "pull_request",
                {"action": "review_requested", "pull_request": {}},
                "review requested",
            ),
            (
                "issue_comment",
                {"action": "created", "comment": {"body": "Yes.\nNo."}, "issue": {"number": 3}},
                "created a comment on #3 in a repository\nYes.",
            ),
            ("release", {"action": "published", "release": {"tag_name": "v1"}}, "release v1 of"),
            (
                "create",
                {"ref_type": "tag", "ref": "v1", "sender": SENDER},
                "ada created the tag v1",
            ),
            ("delete", {"ref_type": "branch", "ref": "x"}, "somebody deleted the branch x"),
            (
                "workflow_run",
                {"workflow_run": {"name": "CI", "conclusion": "timed_out", "head_branch": "main"}},
                "CI: timed out on main",
            ),
            ("star", {"action": "created", "sender": SENDER}, "ada: star created in"),
            ("repository_vulnerability_alert", {}, "repository vulnerability alert"),
        ],
    )
    def test_the_common_events(self, name: str, payload: Any, said: str) -> None:
        assert said in text_of("slack", sent(name, "slack", payload)[1])

    @pytest.mark.parametrize("format_", chat.CHATS)
    def test_foreign_text_makes_no_link_and_no_mention(self, format_: str) -> None:
        evil = "<!channel> <https://evil.example|x> [x](https://evil.example) @everyone &"
        payload = {**ISSUE, "issue": {"number": 1, "title": evil, "html_url": "javascript:1"}}
        text = text_of(format_, sent("issues", format_, payload)[1])
        assert "javascript" not in text
        assert "<!channel>" not in text
        if format_ == "slack":
            assert "<https://evil" not in text
        else:
            assert "](https://evil" not in text
            assert "@everyone" not in text

    @pytest.mark.parametrize("format_", chat.CHATS)
    def test_a_text_is_short(self, format_: str) -> None:
        long = {"id": "x", "message": "*" * 5000, "url": "https://hub.example/" + "x" * 900}
        payload = {**PUSH, "commits": [long] * 9}
        assert len(text_of(format_, sent("push", format_, payload)[1])) <= chat.MOST

    @pytest.mark.parametrize("format_", chat.CHATS)
    @pytest.mark.parametrize("letter", ["b", "&", "*", "@"])
    def test_a_line_that_is_too_long_is_cut(self, format_: str, letter: str) -> None:
        payload = {**PUSH, "ref": f"refs/heads/{letter * 3000}"}
        text = text_of(format_, sent("push", format_, payload)[1])
        assert 100 < len(text) <= chat.MOST
        assert " to branch " in text

    def test_no_more_is_escaped_than_a_message_holds(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Rendering takes place on the event loop, and payloads have up to 25 MiB."""
        lengths, markup = [], chat.MARKUP

        class Markup:
            def sub(self, new: str, text: str) -> str:
                lengths.append(len(text))
                return markup.sub(new, text)

        monkeypatch.setattr(chat, "MARKUP", Markup())
        sent("push", "discord", {**PUSH, "ref": "*" * 100_000, "sender": {"login": "x" * 9_000}})
        assert max(lengths) == chat.MOST


MEMBERS = [
    *("action", "ref", "issue", "pull_request", "comment", "commits", "repository", "sender"),
    *("release", "id", "number", "title", "body", "url", "updated_at", "check_run"),
]
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(MEMBERS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(ANY_JSON, st.sampled_from(["push", "issues", "issue_comment", "release", "check_run", "x"]))
def test_every_payload_has_every_format(payload: Any, name: str) -> None:
    for format_ in FORMATS:
        rendered = render(format_, view(name, payload))
        orjson.loads(rendered.body)
        assert rendered.headers.isascii()
        assert all(": " in line for line in rendered.headers.split("\r\n") if line)
