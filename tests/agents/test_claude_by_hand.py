"""The real claude over its pipes: permission, questions, interrupt, images, what it does unasked."""

import base64
import uuid

import pytest

from .drive import AgentSession, Cli, Event, answer_of
from .model_server import ModelServer
from .pictures import png

pytestmark = [pytest.mark.agents, pytest.mark.anyio]


def image_block(data: bytes) -> Event:
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(data).decode()}
    return {"type": "image", "source": source}


async def permission_for(agent_session: AgentSession) -> Event:
    return await agent_session.until("control_request", lambda event: event["request"]["subtype"] == "can_use_tool")


@pytest.mark.parametrize("status", [401, 429, 500, 529])
async def test_a_lasting_refusal_is_an_error_in_a_result_that_calls_itself_success(claude: Cli, status: int):
    ran = await claude.turn(f"status: {status}")

    result = ran.of("result")[-1]
    said = (ran.exit_code, result["subtype"], result["is_error"], result["api_error_status"])
    assert said == (1, "success", True, status)


async def test_a_dropped_connection_does_not_pass_for_an_answer(claude: Cli):
    ran = await claude.turn("drop")

    assert (ran.exit_code, ran.of("result")[-1]["is_error"]) == (1, True)


async def test_without_permission_nothing_runs_and_the_denial_is_listed(claude: Cli):
    ran = await claude.turn("run: touch forbidden")

    assert not (claude.project / "forbidden").exists()
    assert [denial["tool_name"] for denial in ran.of("result")[-1]["permission_denials"]] == ["Bash"]


async def test_a_background_command_gives_a_second_result(claude: Cli):
    ran = await claude.turn("background: echo done > finished", "--allowedTools=Bash")

    first, second = ran.of("result")
    assert (first["result_index"], second["result_index"]) == (0, 1)
    assert second["origin"]["kind"] == "task-notification"
    assert answer_of("claude", ran) == "Noted: the background task has ended."


async def test_a_subagent_works_with_the_same_model(claude: Cli, server: ModelServer):
    ran = await claude.turn("subagent: say: greetings from below", "--allowedTools=Task")

    assert "greetings from below" in [seen.prompt.removeprefix("say: ") for seen in server.turns]
    assert ran.exit_code == 0


async def test_an_image_reaches_the_model_as_it_was_sent(claude: Cli):
    picture = png()
    async with claude.agent_session() as agent_session:
        await agent_session.say([{"type": "text", "text": "image?"}, image_block(picture)])
        result = await agent_session.until("result")

    assert result["result"].startswith(f"images: 1; image/png {len(picture)} bytes sha256:")


async def test_a_permission_granted_over_the_pipe_runs_the_command(claude: Cli):
    async with claude.agent_session() as agent_session:
        await agent_session.say("run: touch granted && echo granted")
        asked = await permission_for(agent_session)
        assert asked["request"]["input"]["command"] == "touch granted && echo granted"
        await agent_session.answer(asked, {"behavior": "allow", "updatedInput": asked["request"]["input"]})
        result = await agent_session.until("result")
        assert await agent_session.close() == 0

    assert (claude.project / "granted").exists()
    assert result["result"] == "The tool said: granted"


async def test_a_permission_denied_over_the_pipe_tells_the_model_why(claude: Cli):
    async with claude.agent_session() as agent_session:
        await agent_session.say("run: touch denied")
        await agent_session.answer(
            await permission_for(agent_session), {"behavior": "deny", "message": "not on a Sunday"}
        )
        result = await agent_session.until("result")

    assert not (claude.project / "denied").exists()
    assert "not on a Sunday" in result["result"]


async def test_a_question_is_answered_over_the_pipe(claude: Cli):
    async with claude.agent_session() as agent_session:
        await agent_session.say("ask: Which colour? | red | blue")
        asked = await permission_for(agent_session)
        assert asked["request"]["tool_name"] == "AskUserQuestion"
        answered = asked["request"]["input"] | {"answers": {"Which colour?": "blue"}}
        await agent_session.answer(asked, {"behavior": "allow", "updatedInput": answered})
        result = await agent_session.until("result")

    assert "blue" in result["result"]


async def test_an_interrupt_ends_the_turn_and_spares_the_process(claude: Cli, server: ModelServer):
    async with claude.agent_session() as agent_session:
        await agent_session.say("my name is Carol")
        await agent_session.until("result")
        await agent_session.say("hang")
        await server.until_held()
        await agent_session.send({"type": "control_request", "request_id": "i1", "request": {"subtype": "interrupt"}})
        interrupted = await agent_session.until("result")
        await agent_session.say("what is my name?")
        result = await agent_session.until("result")

    assert interrupted["is_error"]
    assert result["result"] == "Your name is Carol."


async def test_a_result_names_the_prompt_it_answers_and_an_unasked_one_does_not(claude: Cli):
    prompt = str(uuid.uuid4())
    async with claude.agent_session("--allowedTools=Bash") as agent_session:
        await agent_session.say("background: true", uuid=prompt)
        asked = await agent_session.until("result")
        unasked = await agent_session.until("result")

    assert asked["user_message_uuid"] == prompt
    assert unasked["origin"]["kind"] == "task-notification"
    assert unasked.get("user_message_uuid") != prompt
