"""The commands about the agents' own sessions: `/session adopt` and `/handoff`."""

import pytest

from fairlead.core import replies as told
from fairlead.core import requests as ask
from fairlead.core.agent_sessions import ResumeCommand, SessionWriter
from fairlead.core.events import SessionAdopted, SessionHandedOff, SessionTakenBack
from fairlead.errors import Code
from fairlead.flow.commands.agent_sessions import shell_line
from fairlead.testing.disk import SimulatedDisk
from fairlead.testing.records import PretendedRecords
from fairlead.testing.runtime import AgentLog, ScriptedRuntime
from tests.flow.commands.harness import refused
from tests.flow.harness import conversation_ref, run_flow, virtually

pytestmark = pytest.mark.req("F8", "F9")
PROJECT = "/srv/api"


def an_agent(records: PretendedRecords, log: AgentLog | None = None, name: str = "echo") -> ScriptedRuntime:
    return ScriptedRuntime(log or AgentLog(), name=name, records=records)


def a_terminal_session(key: str = "terminal-1") -> PretendedRecords:
    records = PretendedRecords()
    records.say_in_terminal(PROJECT, key, "my name is Alice", "Noted.")
    records.say_in_terminal(PROJECT, key, "what is 2 + 2?", "4")
    return records


@virtually
async def test_sessions_that_were_begun_in_a_terminal_are_listed_newest_first_with_those_that_are_used():
    records = a_terminal_session()
    records.say_in_terminal(PROJECT, "older", "an old thing", "yes")
    records.say_in_terminal("/srv/other", "elsewhere", "not of this project", "no")
    async with run_flow(runtimes=[an_agent(records)]) as flow:
        await flow.command(ask.SessionAdopt("terminal-1"))
        listed = await flow.command(ask.SessionAdopt())
        assert listed.adopted is None
        rows = [(row.key, row.first_words, row.exchanges, row.here) for row in listed.offered.sessions]
        assert rows == [("terminal-1", "my name is Alice", 2, True), ("older", "an old thing", 1, False)]
        assert await flow.command(ask.StoredSessionList()) == listed.offered


@virtually
async def test_an_adopted_session_is_resumed_with_the_next_message_and_its_last_exchanges_are_shown():
    log, records = AgentLog(), a_terminal_session()
    async with run_flow(runtimes=[an_agent(records, log)], agents=log) as flow:
        first = await flow.answered("hello")
        before = flow.state.sessions[first.session_key].resume_keys["echo /srv/api"]
        done = await flow.command(ask.SessionAdopt("terminal-1"))
        assert [(e.prompt, e.answer) for e in done.latest] == [
            ("my name is Alice", "Noted."),
            ("what is 2 + 2?", "4"),
        ]
        assert (done.before, done.adopted.key, done.adopted.here) == (before, "terminal-1", True)
        await flow.answered("and now?")
        assert log.invoked[-1].resume_key == "terminal-1"
        assert [fact.key for fact in flow.facts(SessionAdopted)] == ["terminal-1"]
        # There is a way back: the key that was shown.
        records.say_in_terminal(PROJECT, before, "hello", "hello")
        await flow.command(ask.SessionAdopt(before))
        await flow.answered("here again")
        assert log.invoked[-1].resume_key == before


@virtually
async def test_the_beginning_of_an_id_is_enough_if_only_one_has_it():
    records = a_terminal_session("abcdef-1")
    records.say_in_terminal(PROJECT, "abcdef-2", "another", "yes")
    async with run_flow(runtimes=[an_agent(records)]) as flow:
        assert await refused(flow.command(ask.SessionAdopt("abcdef"))) is Code.E_SESSION_NOT_FOUND
        assert await refused(flow.command(ask.SessionAdopt("abcde"))) is Code.E_SESSION_NOT_FOUND
        assert (await flow.command(ask.SessionAdopt("abcdef-2"))).adopted.key == "abcdef-2"


@virtually
async def test_a_session_of_another_agent_of_the_project_brings_its_agent_with_it():
    log, records = AgentLog(), a_terminal_session()
    runtimes = [an_agent(PretendedRecords()), an_agent(records, log, "other")]
    async with run_flow(runtimes=runtimes) as flow:
        done = await flow.command(ask.SessionAdopt("terminal-1"))
        assert done.adopted.tool == "other"
        job = await flow.answered("hello")
        assert (job.runtime, log.invoked[-1].resume_key) == ("other", "terminal-1")
        assert await refused(flow.command(ask.SessionAdopt("", "vim"))) is Code.E_TOOL_NOT_ENABLED


@pytest.mark.parametrize("certain", [True, False])
@virtually
async def test_a_session_that_another_process_has_open_is_not_adopted(certain: bool):
    records = a_terminal_session()
    records.writers["terminal-1"] = (SessionWriter(4711, "echo-agent --resume terminal-1", certain),)
    async with run_flow(runtimes=[an_agent(records)]) as flow:
        assert await refused(flow.command(ask.SessionAdopt("terminal-1"))) is Code.E_SESSION_IN_USE
        assert flow.facts(SessionAdopted) == []
        del records.writers["terminal-1"]
        assert (await flow.command(ask.SessionAdopt("terminal-1"))).adopted.here


@virtually
async def test_a_session_that_is_used_elsewhere_in_fairlead_is_not_adopted():
    async with run_flow(runtimes=[an_agent(a_terminal_session())]) as flow:
        await flow.command(ask.SessionAdopt("terminal-1"), user="bob", at=conversation_ref("bob"))
        assert await refused(flow.command(ask.SessionAdopt("terminal-1"))) is Code.E_SESSION_IN_USE


@virtually
async def test_only_the_owner_sees_what_was_said_in_a_terminal():
    async with run_flow(runtimes=[an_agent(a_terminal_session())]) as flow:
        guest = flow.caller("guest", pre_authorised=False)
        for request in (ask.SessionAdopt(), ask.StoredSessionList(), ask.HandSession()):
            assert await refused(flow.gate.command(request, guest)) is Code.E_OWNER_ONLY
        assert flow.choices("stored_session", caller=guest) == []


@virtually
async def test_ids_are_completed_from_the_latest_look():
    records = a_terminal_session()
    async with run_flow(runtimes=[an_agent(records)]) as flow:
        assert flow.choices("stored_session") == []  # the first key that is typed begins the look
        await flow.until(lambda: flow.choices("stored_session") == ["terminal-1"])
        assert flow.choices("stored_session", "alice") == ["terminal-1"]
        assert len(records.looked_at) == 1, "a look that is fresh is not taken again"


# --- handing off


@virtually
async def test_a_session_is_handed_off_and_comes_back_with_what_was_said_in_the_terminal():
    log, records = AgentLog(), PretendedRecords()
    async with run_flow(runtimes=[an_agent(records, log)], agents=log) as flow:
        first = await flow.answered("hello")
        key = flow.state.sessions[first.session_key].resume_keys["echo /srv/api"]
        records.say_in_terminal(PROJECT, key, "hello", "hello")
        handed_off = await flow.command(ask.HandSession())
        assert (handed_off.handed_off, handed_off.command) == (True, f"cd /srv/api && echo-agent --resume {key}")
        waiting = await flow.say("while you were away")
        assert waiting.held == "handed_off"
        assert (await flow.command(ask.HandSession())).command == handed_off.command
        assert (await flow.command(ask.Status())).handed_off_at
        records.say_in_terminal(PROJECT, key, "in the terminal", "done there")
        back = await flow.command(ask.HandSession("back"))
        assert (back.handed_off, back.exchanges, back.pending) == (False, 1, 1)
        assert [(e.prompt, e.answer) for e in back.latest] == [("in the terminal", "done there")]
        assert (await flow.ended(waiting.job_id)).state == "success"
        assert log.invoked[-1].resume_key == key
        assert [fact.exchanges for fact in flow.facts(SessionTakenBack)] == [1]


@virtually
async def test_a_session_does_not_come_back_while_the_terminal_has_it_open():
    records = PretendedRecords()
    async with run_flow(runtimes=[an_agent(records)]) as flow:
        first = await flow.answered("hello")
        key = flow.state.sessions[first.session_key].resume_keys["echo /srv/api"]
        await flow.command(ask.HandSession())
        records.writers[key] = (SessionWriter(0, "echo-agent", ended_by="echo-agent stop"),)
        assert await refused(flow.command(ask.HandSession("back"))) is Code.E_SESSION_IN_USE
        assert flow.state.sessions[first.session_key].hand_off is not None


@virtually
async def test_what_cannot_be_read_is_said_to_be_unknown():
    records = PretendedRecords()
    async with run_flow(runtimes=[an_agent(records)]) as flow:
        await flow.answered("hello")
        await flow.command(ask.HandSession())
        assert (await flow.command(ask.HandSession("back"))).unread


@virtually
async def test_a_hand_off_and_what_waits_for_it_survive_a_restart():
    disk, log, records = SimulatedDisk(), AgentLog(), PretendedRecords()
    async with run_flow(disk=disk, runtimes=[an_agent(records, log)]) as flow:
        await flow.answered("hello")
        await flow.command(ask.HandSession())
        waiting = await flow.say("waits")
    async with run_flow(disk=disk, runtimes=[an_agent(records, log)], life=1) as flow:
        assert flow.state.jobs[waiting.job_id].state == "queued"
        assert len(log.invoked) == 1
        await flow.command(ask.HandSession("back"))
        assert (await flow.ended(waiting.job_id)).state == "success"


@virtually
async def test_a_running_turn_is_not_handed_off_and_neither_is_a_session_without_an_answer():
    async with run_flow(runtimes=[an_agent(PretendedRecords())]) as flow:
        assert await refused(flow.command(ask.HandSession())) is Code.E_NOT_IN_MANAGED_THREAD
        running = await flow.say("/slow 30")
        await flow.until(lambda: len(flow.state.running) == 1)
        assert await refused(flow.command(ask.HandSession())) is Code.E_SESSION_STATE
        await flow.ended(running.job_id)
        await flow.command(ask.Reset())
        assert await refused(flow.command(ask.HandSession())) is Code.E_SESSION_STATE
        assert flow.facts(SessionHandedOff) == []


@virtually
async def test_an_agent_that_keeps_no_sessions_of_its_own_cannot_be_handed_off():
    async with run_flow() as flow:
        await flow.answered("hello")
        assert await refused(flow.command(ask.HandSession())) is Code.E_SESSION_STATE
        assert (await flow.command(ask.SessionAdopt())).offered == told.StoredSessionCatalogue(PROJECT, ())


@virtually
async def test_a_message_to_a_session_that_is_handed_off_can_be_cancelled():
    async with run_flow(runtimes=[an_agent(PretendedRecords())]) as flow:
        await flow.answered("hello")
        await flow.command(ask.HandSession())
        waiting = await flow.say("not needed")
        await flow.command(ask.Cancel(waiting.job_id))
        assert flow.state.jobs[waiting.job_id].state == "cancelled"


def test_the_command_for_a_shell_quotes_what_a_shell_would_read():
    here = ResumeCommand("/srv/my app", ("claude", "--resume", "k1"), {"CLAUDE_CONFIG_DIR": "/home/me/$x"})
    assert shell_line(here) == "cd '/srv/my app' && env 'CLAUDE_CONFIG_DIR=/home/me/$x' claude --resume k1"
    there = ResumeCommand("/srv", ("sudo", "-H", "-u", "bot", "--", "claude", "--resume", "k1"), {"A": "b"})
    assert shell_line(there) == "cd /srv && sudo -H -u bot -- env A=b claude --resume k1"
