"""The hypothesis profile of the tests: a slow example is no error, and all examples of a test may
share a fixture such as the store.
"""

from hypothesis import HealthCheck, settings

IGNORED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("tests", deadline=None, suppress_health_check=IGNORED)
settings.load_profile("tests")
