"""Commands that install and start tocsin: `serve`, `systemd`, `settings`, `completion`.

Imports `console` and the packages below it.
"""
