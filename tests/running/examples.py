"""How tests by example are run: no finding is how quick a machine is, nor that a store outlives an
example.
"""

from hypothesis import HealthCheck, settings

IGNORED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("tests", deadline=None, suppress_health_check=IGNORED)
settings.load_profile("tests")
