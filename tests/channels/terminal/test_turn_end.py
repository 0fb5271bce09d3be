"""The last line of a turn."""

from fairlead.api import wire as w
from fairlead.channels.terminal.turn_end import TurnUsage, describe_turn_end
from fairlead.core.ids import JobId, SessionKeyText

JOB = w.JobInfo(
    job_id=JobId("job_20261117_0014"),
    session_key=SessionKeyText("k"),
    state="success",
    attempt=1,
    enqueued_at="2026-11-17T12:00:00.000Z",
    started_at="2026-11-17T12:00:00.000Z",
    finished_at="2026-11-17T12:02:05.900Z",
)


def test_only_what_the_agent_reported_is_said():
    used = TurnUsage()
    assert describe_turn_end(JOB, used, "en") == "#14 · 2m05s"
    used.add(w.Usage(input_tokens=1000, output_tokens=300, cost_usd=0.002))
    used.add(w.Usage(input_tokens=200, context_used=24_000, context_size=200_000))
    assert describe_turn_end(JOB, used, "en") == "#14 · 2m05s · 1,200 tokens in, 300 out · $0.0020 · context 12%"
