"""The API's operations: one module a group of the specification."""

from hub.operation import Operation
from hub.operations import hook_deliveries, hooks

MODULES = (hooks, hook_deliveries)
OPERATIONS: tuple[Operation, ...] = tuple(
    one for module in MODULES for one in module.ops.operations
)
