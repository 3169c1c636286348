"""An example of a release."""

from typing import Any

from hub.event_examples.pushes import WHEN, main
from hub.rest.serializers import node_id
from hub.rest.urls import Urls
from store import Row


def release(urls: Urls, repository: Row, sender: Row) -> dict[str, Any]:
    number, tag = 3, "v1.2.0"
    url = f"{urls.repository(repository)}/releases/{number}"
    shown = {
        "id": number,
        "node_id": node_id("Release", number),
        "url": url,
        "assets_url": f"{url}/assets",
        "upload_url": f"{url}/assets{{?name,label}}",
        "html_url": f"{urls.page(repository)}/releases/tag/{tag}",
        "tarball_url": f"{urls.repository(repository)}/tarball/{tag}",
        "zipball_url": f"{urls.repository(repository)}/zipball/{tag}",
        "tag_name": tag,
        "target_commitish": main(repository),
        "name": "Eight bells",
        "body": "All eight bells ring in order.",
        "draft": False,
        "prerelease": False,
        "immutable": False,
        "author": sender,
        "assets": [],
        "created_at": WHEN,
        "updated_at": WHEN,
        "published_at": WHEN,
    }
    return {"action": "published", "release": shown}
