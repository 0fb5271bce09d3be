"""Measurements: what is in one, and that no more of them are kept than are shown."""

from pathlib import Path

import pytest

from fairlead.channels.http.health_samples import MOST, HealthMeters, HealthSamples
from fairlead.kit.durations import DurationMeter
from tests.channels.harness import run_daemon_in

pytestmark = [pytest.mark.anyio, pytest.mark.req("G9")]


async def test_a_sample_has_what_the_meters_noted_since_the_one_before(tmp_path: Path):
    meters = HealthMeters(DurationMeter(), DurationMeter())
    async with run_daemon_in(tmp_path) as daemon:
        samples = HealthSamples(daemon.flow.view, daemon.flow.ledger, meters)
        meters.syncs.note(0.25)
        samples.take()
        meters.rate_limit.note(2.0)
        samples.take(late_sec=0.5)
        first, second = samples.all()
        assert (first.sync_sec, first.rate_limit_sec, first.late_sec) == (0.25, None, 0.0)
        assert (second.sync_sec, second.rate_limit_sec, second.late_sec) == (None, 2.0, 0.5)
        assert (second.memory_bytes or 0) > 1_000_000
        for _ in range(MOST):
            samples.take()
        assert len(samples.all()) == MOST
