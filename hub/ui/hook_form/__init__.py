"""The form of a hook: its fields, their validation as in the API, and the errors beside them."""
