"""What the three real CLIs have in common, each driven by hand against the model server."""

import asyncio
import signal

import pytest

from .drive import Cli, answer_of, session_of, turn_arguments
from .model_server import ModelServer, Say
from .model_server.replies import Reply

pytestmark = [pytest.mark.agents, pytest.mark.anyio]

RUNS_TOOLS = {
    "claude": ("--allowedTools=Bash,Write",),
    "codex": ("-s", "danger-full-access"),
    "gemini": ("--yolo",),
}


async def test_a_new_turn_is_answered_and_asks_the_model_once(cli: Cli, server: ModelServer):
    ran = await cli.turn("hello there")

    assert (ran.exit_code, answer_of(cli.name, ran)) == (0, "You said: hello there")
    assert [seen.prompt for seen in server.turns] == ["hello there"]


async def test_only_a_resumed_session_knows_the_name(cli: Cli):
    told = await cli.turn("my name is Alice")

    stranger = await cli.turn("what is my name?")
    friend = await cli.turn("what is my name?", resume=session_of(cli.name, told))

    assert answer_of(cli.name, stranger) == "You have not told me your name."
    assert answer_of(cli.name, friend) == "Your name is Alice."
    assert session_of(cli.name, friend) == session_of(cli.name, told)


async def test_an_allowed_command_runs_and_its_output_reaches_the_model(cli: Cli):
    ran = await cli.turn("run: touch made && echo made-it", *RUNS_TOOLS[cli.name])

    assert (cli.project / "made").exists()
    assert "made-it" in answer_of(cli.name, ran)


async def test_a_chain_runs_one_command_after_the_other(cli: Cli, server: ModelServer):
    ran = await cli.turn("chain: echo one >> log ;; echo two >> log ;; cat log", *RUNS_TOOLS[cli.name])

    assert (cli.project / "log").read_text() == "one\ntwo\n"
    assert answer_of(cli.name, ran).startswith("The tool said:")
    assert len(server.turns) == 4


async def test_a_file_is_written_with_the_tool_of_the_cli(cli: Cli):
    await cli.turn(f"write: {cli.project}/note.txt hello", *RUNS_TOOLS[cli.name])

    assert (cli.project / "note.txt").read_text().strip() == "hello"


@pytest.mark.parametrize("status", [429, 500, 529])
async def test_a_model_that_refuses_once_is_asked_again(cli: Cli, server: ModelServer, status: int):
    ran = await cli.turn(f"status: {status} times=1 after=1")  # codex asks again after 429 only if told when

    assert (ran.exit_code, answer_of(cli.name, ran)) == (0, "Answered after 1 refusals.")
    assert len(server.turns) == 2


async def test_a_scripted_reply_comes_before_the_brain(cli: Cli, server: ModelServer):
    server.script(Reply((Say("first "), Say("second"))))

    assert answer_of(cli.name, await cli.turn("hello")) == "first second"


async def test_a_held_answer_arrives_after_its_release(cli: Cli, server: ModelServer):
    turn = asyncio.create_task(cli.turn("hold"))
    await server.until_held()
    assert not turn.done()

    await server.release()

    assert answer_of(cli.name, await turn) == "Waiting. Released."


async def test_a_turn_that_hangs_is_ended_by_a_signal_and_can_be_resumed(cli: Cli, server: ModelServer):
    told = await cli.turn("my name is Bob")
    session = session_of(cli.name, told)
    async with cli.start(*turn_arguments(cli.name, "hang", resume=session)) as process:
        assert process.stdin is not None
        process.stdin.close()
        await server.until_held()
        process.send_signal(signal.SIGTERM)
        await process.communicate()

    ran = await cli.turn("what is my name?", resume=session)

    assert answer_of(cli.name, ran) == "Your name is Bob."
