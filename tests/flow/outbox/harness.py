"""Channels with weather, and agents with fixed answers, for the tests of the outbox."""

from fairlead.core.engine import TurnEnded
from fairlead.testing.channel import ChannelHistory, RecordingChannel, Weather
from tests.flow.harness import Agent


class Skies:
    """What the weather is now, and what it was."""

    def __init__(self, *forecast: Weather) -> None:
        self.now = Weather.FAIR
        self.forecast = list(forecast)
        self.calls = 0

    def __call__(self) -> Weather:
        self.calls += 1
        return self.forecast.pop(0) if self.forecast else self.now


def chat(skies: Skies | None = None, **more) -> RecordingChannel:
    return RecordingChannel(ChannelHistory(), weather=skies, **more)


def saying(*answers: str) -> Agent:
    left = list(answers)

    async def play(_invocation):
        yield TurnEnded(left.pop(0) if len(left) > 1 else left[0])

    return Agent(play)
