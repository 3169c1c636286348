"""The YAML of state documents."""

from collections import Counter
from collections.abc import Hashable
from typing import Any

import yaml


class Strict(yaml.SafeLoader):
    """A YAML loader for plain data only: no tags, no aliases, no repeated keys.

    With aliases, a few lines could stand for gigabytes.
    """

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.composer.ComposerError(None, None, "aliases are not allowed", None)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.Node, deep: bool = False) -> dict[Hashable, Any]:
        assert isinstance(node, yaml.MappingNode)
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for key, times in Counter(keys).items():
            if times > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} occurs {times} times", node.start_mark
                )
        return super().construct_mapping(node, deep)
