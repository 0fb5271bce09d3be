"""Looking: at what can be chosen, at what happens, and back at what the state has forgotten."""

import asyncio

import pytest
from flow_house import OWNER, flow_house, place, virtually

from fairlead.core import requests as ask
from fairlead.core.live import JobMoved, QuestionOpened, QuestionSettled
from fairlead.core.state import as_data
from fairlead.errors import Code, FairleadError
from fairlead.store.journal import open_state
from fairlead.testing.runtime import AgentLog, ScriptedRuntime

pytestmark = pytest.mark.req("A12")

DAY = 86400


@virtually
async def test_choices_are_those_that_fit_what_was_typed():
    runtimes = [ScriptedRuntime(AgentLog(), name=name) for name in ("echo", "other")]
    async with flow_house(projects=("/srv/api", "/srv/web"), runtimes=runtimes) as house:
        caller = house.caller()
        choices = house.view.choices
        assert choices("project", "", caller) == ["api", "web"]
        assert choices("project", " WE ", caller) == ["web"]
        assert choices("tool", "", caller) == ["echo", "other"]
        assert choices("session", "", caller) == []
        assert choices("model", "", caller) == []
        await house.answered("hello", project="api")
        first = await house.answered("/fail E_AGENT_ERROR")
        await asyncio.sleep(5)
        second = await house.answered("/fail E_AGENT_ERROR", user="other", project="web")
        assert choices("retryable", "", caller) == [first.job_id, second.job_id], "those of this session first"
        assert choices("retryable", "", house.caller("other")) == [second.job_id, first.job_id]
        assert choices("session", "", caller) == ["agent:fairlead:user:other", "agent:fairlead:user:42"]
        assert choices("model", "2", caller) == ["echo-2"]


@pytest.mark.req("B11")
@virtually
async def test_a_disabled_project_is_no_choice():
    from flow_house import PretendedDirectories

    directories = PretendedDirectories()
    async with flow_house(projects=("/srv/api", "/srv/web"), directories=directories) as house:
        disk = house.disk
    directories.gone.add("/srv/web")
    async with flow_house(disk=disk, projects=(), directories=directories) as house:
        assert house.view.choices("project", "", house.caller()) == ["api"]
        with pytest.raises(FairleadError) as caught:
            await house.command(ask.ProjectSwitch("web"))
        assert caught.value.code is Code.E_INVALID_PATH
    directories.gone.clear()
    async with flow_house(disk=disk, projects=(), directories=directories) as house:
        assert house.view.choices("project", "", house.caller()) == ["api", "web"]


@virtually
async def test_a_job_is_seen_whole_while_it_lives_and_after():
    async with flow_house() as house:
        receipt = await house.say("/slow 10\nwords")
        live = await house.view.job(receipt.job_id)
        assert live.state in {"queued", "running"}
        assert (live.prompt, live.answer) == ("/slow 10\nwords", "")
        await house.quiet()
        seen = await house.view.job(receipt.job_id)
        assert (seen.state, seen.prompt) == ("success", "/slow 10\nwords")
        assert seen.answer.endswith("words")
        assert (seen.started_at or "") < (seen.finished_at or "")


@virtually
async def test_a_job_older_than_the_states_memory_is_read_back_from_the_journal():
    async with flow_house() as house:
        old = await house.answered("/fail E_AGENT_ERROR\nan old question")
        long_answer = await house.answered("hello\n/long 300000")
        for _ in range(60):
            await house.answered("hello")
        await asyncio.sleep(9 * DAY)
        await house.answered("a new day")
        assert old.job_id not in house.state.jobs
        seen = await house.view.job(old.job_id)
        assert (seen.state, seen.error_code, seen.attempt) == ("failed", "E_AGENT_ERROR", 1)
        assert seen.prompt == "/fail E_AGENT_ERROR\nan old question"
        assert len((await house.view.job(long_answer.job_id)).answer) > 300_000
        story = await house.command(ask.Why(old.job_id))
        assert [s.type for s in story.steps][:3] == ["JobEnqueued", "JobStarted", "JobFailed"]
        again = await house.command(ask.Retry(old.job_id))
        assert (again.attempt, again.retry_of) == (2, old.job_id)
        await house.ended(again.job_id)
        assert house.agents.invoked[-1].prompt == "/fail E_AGENT_ERROR\nan old question"


@virtually
async def test_a_long_text_that_left_with_its_job_is_said_to_be_gone():
    async with flow_house(channels=[]) as house:
        old = await house.answered("hello\n/long 300000")
        house.blobs.forget_unnamed([])
        seen = await house.view.job(old.job_id)
        assert seen.state == "success"
        assert "no longer kept" in seen.answer


@virtually
async def test_what_the_journal_does_not_know_is_not_found():
    async with flow_house() as house:
        for name in ("job_20260105_0099", "", "agent:fairlead:user:42", "job_"):
            with pytest.raises(FairleadError) as caught:
                await house.view.job(name)
            assert caught.value.code is Code.E_JOB_NOT_FOUND


@virtually
async def test_history_is_in_order_and_without_texts():
    async with flow_house() as house:
        ids = [(await house.answered(f"message {n}")).job_id for n in range(4)]
        history = house.view.history(f"agent:fairlead:user:{OWNER}")
        assert [j.job_id for j in history] == ids
        assert {(j.prompt, j.answer) for j in history} == {("", "")}


@virtually
async def test_a_watcher_sees_what_it_asked_for_and_questions_too():
    async with flow_house() as house:
        mine = house.view.watch(session_key="agent:fairlead:user:42")
        seen = []

        async def look() -> None:
            async for event in mine:
                match event:
                    case JobMoved():
                        seen.append(event.state)
                    case QuestionOpened():
                        seen.append(event.question.title)
                    case QuestionSettled():
                        seen.append(f"{event.outcome} by {event.person}")
                    case _:
                        pass

        looking = asyncio.ensure_future(look())
        await house.answered("not mine", user="other")
        receipt = await house.say("/ask ls")
        await house.click(await house.question())
        await house.ended(receipt.job_id)
        await asyncio.sleep(1)
        looking.cancel()
        await mine.aclose()
        assert seen == ["queued", "running", "waiting", "Run ls", "allow by 42", "running", "success"]
        await house.answered("unwatched")
        assert place().channel == "chat"


@pytest.mark.req("A7", "A20")
@virtually
async def test_the_journal_alone_gives_the_state_that_lived():
    async with flow_house(projects=("/srv/api", "/srv/web")) as house:
        await house.answered("hello", project="api")
        await house.say("/ask ls", user="b", project="web")
        await house.click(await house.question(), for_session=True)
        await house.answered("/fail E_AGENT_ERROR", user="c", project="api")
        await house.command(ask.Reset())
        await house.say("/hang", user="d", project="api")
        await house.say("waits", user="d")
        with pytest.raises(FairleadError):
            await house.say("  ", user="d")
        await asyncio.sleep(3 * DAY)
        await house.until(lambda: True)
        lived = as_data(house.state)
        await house.journal.snapshot(house.state)
        both = as_data(open_state(house.journal._path.parent, house.disk).state)
        house.disk.unlink(house.journal._snapshot_path)
        alone = as_data(open_state(house.journal._path.parent, house.disk).state)
        assert lived == alone
        assert both == alone


@pytest.mark.req("B8")
@virtually
async def test_every_refusal_and_every_end_is_logged_with_its_code():
    import structlog

    async with flow_house() as house:
        with structlog.testing.capture_logs() as lines:
            with pytest.raises(FairleadError):
                await house.say("")
            with pytest.raises(FairleadError):
                await house.gate.command(ask.Status(), house.caller("666", vouched=False))
            await house.answered("/fail E_AGENT_ERROR")
            await house.answered("hello")
        levels = [(line["event"], line["log_level"], line.get("error_code")) for line in lines]
        assert ("message refused", "info", "E_EMPTY_MESSAGE") in levels
        assert ("command refused", "warning", "E_OWNER_ONLY") in levels
        turns = [line for line in lines if line["event"] == "turn ended"]
        assert [(t["outcome"], t["log_level"]) for t in turns] == [("failed", "error"), ("success", "info")]
        assert all({"job_id", "session_key", "tool", "seconds", "cost_usd"} <= set(t) for t in turns)
