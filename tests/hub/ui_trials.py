"""A sender of trial requests, for tests of the dashboard."""

from dataclasses import dataclass, field

from store.hooks.trial import TrialAnswer, TrialRequest


@dataclass
class Trials:
    """Sends no request, but returns a 401 response for each trial."""

    asked: list[TrialRequest] = field(default_factory=list)

    def build(self, trial: TrialRequest) -> TrialAnswer:
        return TrialAnswer(f"POST {trial.url} HTTP/1.1\r\n\r\n", trial.body)

    async def send(self, trial: TrialRequest) -> TrialAnswer:
        self.asked.append(trial)
        built = self.build(trial)
        return TrialAnswer(
            built.request_head, trial.body, 1200, 401, None, "192.0.2.1:443", "Server: it", "<no>"
        )
