"""The page *Health*: each thing that is wrong has something to type or to look at, and charts stay small."""

import pytest

from fairlead.core.agent_views import AgentView
from fairlead.core.console_views import BoardDelivery
from fairlead.core.conversation import ConversationRef
from fairlead.core.health_views import HealthSample
from fairlead.core.replies import AgentCheckRow
from fairlead.core.views import Counts, LatencyView
from fairlead.render.console.health import MOST_POINTS, HealthModel, find_problems, health_page

pytestmark = pytest.mark.req("G9")

NOW = "2026-11-18T07:00:00.000Z"
COUNTS = Counts(
    seq=5,
    received=1,
    settled={},
    live_jobs={"queued": 2},
    queued={},
    sessions=1,
    open_questions=0,
    outbox_entries=0,
    cost_usd=0.0,
)


def sample(**more: float) -> HealthSample:
    return HealthSample(at=NOW, queued=1, running=0, owed=0, **more)  # pyright: ignore[reportArgumentType]


def model(**more: object) -> HealthModel:
    return HealthModel(**{"health": "ok", "counts": COUNTS, **more})  # pyright: ignore[reportArgumentType]


def test_nothing_is_wrong_where_nothing_is():
    assert find_problems(model(samples=(sample(sync_sec=0.01),)), "en") == []
    assert "Everything works." in health_page(model(), "en", NOW)


def test_each_problem_says_what_to_type_or_where_to_look():
    late = BoardDelivery(
        entry_id="o_1",
        kind="answer",
        job_id="job_1",
        session_id="s_1",
        title="<b>t</b>",
        where=ConversationRef("discord", "a", "c"),
        owed_at=NOW,
        last_error="403 <script>",
    )
    broken = AgentView(name="codex", check=AgentCheckRow(name="codex", ok=False, notes=("not found",)))
    ill = model(
        health="disk_full",
        damage="line 7 is damaged",
        samples=(sample(sync_sec=0.9, rate_limit_sec=8.0, late_sec=3.0),),
        undelivered=(late,),
        broken_agents=(broken,),
        logged_out=("claude",),
        spent_projects=("shop",),
        open_files=900,
        max_files=1000,
    )
    found = find_problems(ill, "en")
    assert len(found) == 10
    assert [one.what for one in found if not (one.command or one.path or one.next_step)] == []
    assert {"fairlead journal verify", "fairlead doctor", "df -h", "claude"} <= {one.command for one in found}
    page = health_page(ill, "en", NOW)
    assert "<script" not in page
    assert "403 &lt;script&gt;" in page


def test_an_old_moment_warns_no_more():
    calm = [sample(sync_sec=0.001)] * 40
    assert find_problems(model(samples=(sample(sync_sec=9.0), *calm)), "en") == []


def test_three_hours_of_measurements_are_few_points_and_the_worst_is_among_them():
    many = [sample(sync_sec=0.001)] * 719
    page = health_page(model(samples=(*many[:300], sample(sync_sec=0.4), *many[301:])), "en", NOW)
    drawn = page.split('id="chart-sync"')[1].split('id="chart-waits"')[0]
    assert drawn.split('points="')[1].split('"')[0].count(",") <= MOST_POINTS
    assert "400 ms" in drawn


def test_times_are_told_as_exactly_as_they_are_known():
    view = LatencyView(what="started", label="", bounds_sec=(0.01, 1.0), counts=(50, 98, 100), total_sec=9.0)
    page = health_page(model(latencies=(view,)), "en", NOW)
    assert "≤ 10 ms" in page
    assert "&gt; 1 s" in page
