"""A sender of trials for the dashboard's tests."""

from dataclasses import dataclass, field

from store.hooks.trial import TrialAnswer, TrialRequest


@dataclass
class Trials:
    """A sender of trials that answers 401."""

    asked: list[TrialRequest] = field(default_factory=list)

    def build(self, trial: TrialRequest) -> TrialAnswer:
        return TrialAnswer(f"POST {trial.url} HTTP/1.1\r\n\r\n", trial.body)

    async def send(self, trial: TrialRequest) -> TrialAnswer:
        self.asked.append(trial)
        built = self.build(trial)
        return TrialAnswer(
            built.request_head, trial.body, 1200, 401, None, "192.0.2.1:443", "Server: it", "<no>"
        )
