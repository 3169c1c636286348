"""The number of tests that run at once follows the time that processors are idle."""

from dataclasses import dataclass

from throttle import INTERVAL, Throttle, processor_times, throttle_of


@dataclass
class Machine:
    """Two processors, whose times and clock a test moves."""

    idle: float = 0.0
    everything: float = 0.0
    seconds: float = 0.0

    def times(self) -> tuple[float, float]:
        return self.idle, self.everything

    def go_on(self, throttle: Throttle, idle: float) -> int:
        """Let one interval pass with this share of idle time. Return how many may run then."""
        self.seconds += INTERVAL
        self.everything += 200
        self.idle += 200 * idle
        throttle.look()
        return throttle.allowed

    def throttle(self) -> Throttle:
        return Throttle(3, 6, self.times, lambda: self.seconds)


def test_more_tests_run_while_processors_are_idle_and_fewer_while_none_is() -> None:
    machine = Machine()
    throttle = machine.throttle()
    assert throttle.allowed == 4
    assert [machine.go_on(throttle, 0.2) for _ in range(4)] == [5, 6, 6, 6]
    assert [machine.go_on(throttle, 0.03) for _ in range(2)] == [6, 6]
    assert [machine.go_on(throttle, 0.0) for _ in range(5)] == [5, 4, 3, 3, 3]
    assert [machine.go_on(throttle, 0.7) for _ in range(2)] == [5, 6]


def test_a_look_within_the_interval_changes_nothing() -> None:
    machine = Machine()
    throttle = machine.throttle()
    machine.idle = machine.everything = 100
    throttle.look()
    assert throttle.allowed == 4


def test_a_number_of_workers_stays_as_it_was_given() -> None:
    machine = Machine()
    throttle = Throttle(2, 2, machine.times, lambda: machine.seconds)
    assert [machine.go_on(throttle, idle) for idle in (0.9, 0.0)] == [2, 2]
    assert throttle_of("3").allowed == 3


def test_idle_time_is_a_part_of_all_time() -> None:
    idle, everything = processor_times()
    assert 0 <= idle <= everything
