"""YAML as state documents are written in it."""

from collections import Counter
from collections.abc import Hashable
from typing import Any

import yaml


class Strict(yaml.SafeLoader):
    """Plain data only: no tags, no aliases (a few lines of them can stand for gigabytes), no key
    twice.
    """

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.composer.ComposerError(None, None, "aliases are not taken here", None)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.Node, deep: bool = False) -> dict[Hashable, Any]:
        assert isinstance(node, yaml.MappingNode)
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for key, times in Counter(keys).items():
            if times > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} is there {times} times", node.start_mark
                )
        return super().construct_mapping(node, deep)
