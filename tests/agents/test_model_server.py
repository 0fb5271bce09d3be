"""The model server by itself: what the brain decides, and that each dialect carries it whole."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from .model_server import (
    Ask,
    Conversation,
    Image,
    Message,
    ModelServer,
    Refuse,
    Reply,
    Run,
    Say,
    ToolCall,
    ToolResult,
    Usage,
    Use,
    Words,
    anthropic,
    brain,
    gemini,
    openai,
    openai_chat,
)
from .model_server.hands import within_reach

SHELLS = frozenset({"Bash", "AskUserQuestion"})


def said(*texts: str) -> Conversation:
    """User and model speak in turn, the user first."""
    messages = [Message("assistant" if n % 2 else "user", (Words(text),)) for n, text in enumerate(texts)]
    return Conversation("a-model", tuple(messages))


def told(reply: Reply | Refuse) -> str:
    assert isinstance(reply, Reply)
    return "".join(step.text for step in reply.steps if isinstance(step, Say))


def after_tools(prompt: str, *results: str) -> Conversation:
    rounds = [
        message
        for n, result in enumerate(results)
        for message in (
            Message("assistant", (ToolCall(str(n), "Bash", {}),)),
            Message("user", (ToolResult(str(n), result), Words("<system-reminder>be nice</system-reminder>"))),
        )
    ]
    return Conversation("a-model", (Message("user", (Words(prompt),)), *rounds))


def test_a_fact_is_remembered_only_if_the_request_shows_it():
    assert told(brain.answer(said("my name is Alice", "hello", "what is my name?"))) == "Your name is Alice."
    assert told(brain.answer(said("what is my name?"))) == "You have not told me your name."


def test_the_latest_fact_counts():
    agent_session = said("my name is Alice", "ok", "my name is Bob", "ok", "what is my name?")
    assert told(brain.answer(agent_session)) == "Your name is Bob."


def test_what_a_cli_adds_is_not_taken_for_the_persons_words():
    added = Words("<system-reminder>\nrun: rm -rf /\n</system-reminder>")
    agent_session = Conversation("a-model", (Message("user", (added, Words("hello"), added)),))
    assert told(brain.answer(agent_session)) == "You said: hello"


def test_an_order_may_follow_other_lines():
    assert brain.answer(said("A note from the bridge.\n\nrun: ls -l")) == Reply(
        (Say("I will run a command."), Run("ls -l"))
    )


def test_a_chain_goes_on_with_the_next_command_and_ends_with_all_results():
    chain = "chain: one ;; two"
    assert brain.answer(said(chain)) == Reply((Run("one"),))
    assert brain.answer(after_tools(chain, "1")) == Reply((Run("two"),))
    assert told(brain.answer(after_tools(chain, "1", "2"))) == "The tool said: 1 | 2"


def test_new_words_after_a_tool_result_are_a_new_prompt():
    agent_session = after_tools("run: ls", "a file")
    agent_session = Conversation("a-model", (*agent_session.messages, Message("user", (Words("what is my name?"),))))
    assert told(brain.answer(agent_session)) == "You have not told me your name."


def test_a_refusal_is_given_as_often_as_asked():
    prompt = said("status: 529 times=2 after=1")
    assert [brain.answer(prompt, refused_before=n) for n in range(2)] == [Refuse(529, 1)] * 2
    assert told(brain.answer(prompt, refused_before=2)) == "Answered after 2 refusals."


def test_a_background_task_that_ended_is_noted_and_the_old_order_not_repeated():
    notice = Words("<system-reminder><task-notification>done</task-notification></system-reminder>")
    agent_session = said("run: ls", "ok")
    agent_session = Conversation("a-model", (*agent_session.messages, Message("user", (notice,))))
    assert told(brain.answer(agent_session)) == "Noted: the background task has ended."


def test_a_wish_becomes_the_tool_the_cli_offers_or_words():
    wish = Reply((Run("ls"),))
    assert within_reach(wish, frozenset({"exec_command"})).steps == (Use("exec_command", {"cmd": "ls"}),)
    assert "no tool for that" in told(within_reach(wish, frozenset()))
    assert within_reach(Reply((Ask("Which?", ("a",)),)), SHELLS).steps[0].tool == "AskUserQuestion"


@given(st.text())
def test_whatever_is_said_without_an_order_gets_some_answer(text: str):
    assume(not brain.order_in(text)[0])
    assert isinstance(brain.answer(said(text)), Reply)


def events_in(stream: bytes) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in stream.splitlines() if line.startswith(b"data: ")]


def text_deltas(events: list[dict[str, Any]]) -> str:
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    return "".join(delta.get("text", "") for delta in deltas)


REPLY = Reply((Say("one "), Say("two"), Use("Bash", {"command": "ls"})))
USAGE = Usage(input=10, output=5, cached=2)


def test_anthropic_puts_deltas_into_one_block_and_the_tool_into_the_next():
    events = events_in(b"".join(anthropic.stream(REPLY, said("hi"), USAGE)))
    text = "".join(event["delta"].get("text", "") for event in events if event["type"] == "content_block_delta")
    starts = [event["content_block"]["type"] for event in events if event["type"] == "content_block_start"]
    assert (text, starts, events[-2]["delta"]["stop_reason"]) == ("one two", ["text", "tool_use"], "tool_use")


def test_openai_ends_with_every_item_and_the_usage():
    final = events_in(b"".join(openai.stream(REPLY, said("hi"), USAGE)))[-1]["response"]
    assert [item["type"] for item in final["output"]] == ["message", "function_call"]
    assert final["output"][0]["content"][0]["text"] == "one two"
    assert (final["usage"]["input_tokens"], final["usage"]["total_tokens"]) == (10, 15)


def test_gemini_streams_parts_and_stops():
    chunks = events_in(b"".join(gemini.stream(REPLY, said("hi"), USAGE)))
    parts = [part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]]
    assert parts[2]["functionCall"] == {"name": "Bash", "args": {"command": "ls"}}
    assert chunks[-1]["candidates"][0]["finishReason"] == "STOP"


def test_openai_chat_streams_deltas_numbers_the_calls_and_ends_with_the_usage():
    two_calls = Reply((*REPLY.steps, Use("Bash", {"command": "pwd"})))
    chunks = chat_chunks(b"".join(openai_chat.stream(two_calls, said("hi"), USAGE)))
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    calls = [call for delta in deltas for call in delta.get("tool_calls", [])]
    assert "".join(delta.get("content", "") for delta in deltas) == "one two"
    assert [(call["index"], call["function"]["arguments"]) for call in calls] == [
        (0, '{"command": "ls"}'),
        (1, '{"command": "pwd"}'),
    ]
    assert chunks[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert (chunks[-1]["choices"], chunks[-1]["usage"]["total_tokens"]) == ([], 15)


def chat_chunks(stream: bytes) -> list[dict[str, Any]]:
    assert stream.endswith(b"data: [DONE]\n\n")
    return events_in(stream.removesuffix(openai_chat.DONE))


def test_openai_chat_without_a_stream_says_the_same():
    choice = openai_chat.whole(REPLY, said("hi"), USAGE)["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("one two", "tool_calls")


def test_openai_chat_reads_a_conversation_with_a_picture_and_a_tool():
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    given = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "image?"}, picture]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "a file"},
    ]
    tools = [{"type": "function", "function": {"name": "bash"}}]
    conversation = openai_chat.conversation_of({"model": "a-model", "messages": given, "tools": tools})
    assert conversation == Conversation(
        model="a-model",
        messages=(
            Message("user", (Words("image?"), Image.of("image/png", "aGk="))),
            Message("assistant", (ToolCall("c1", "bash", {"command": "ls"}),)),
            Message("user", (ToolResult("c1", "a file"),)),
        ),
        tools=frozenset({"bash"}),
        system="be brief",
    )


def test_the_time_that_copilot_puts_before_the_words_is_not_spoken():
    words = "<current_datetime>2026-01-01T00:00:00Z</current_datetime>\n\nhello"
    given = {"model": "a-model", "messages": [{"role": "user", "content": words}]}
    assert told(brain.answer(openai_chat.conversation_of(given))) == "You said: hello"


def asked(text: str) -> dict[str, Any]:
    return {"model": "a-model", "stream": True, "messages": [{"role": "user", "content": text}]}


async def ask(server: ModelServer, text: str) -> str:
    async with aiohttp.ClientSession() as http:
        async with http.post(f"{server.url}/v1/messages", json=asked(text)) as response:
            events = events_in(await response.read())
    return "".join(event["delta"].get("text", "") for event in events if event["type"] == "content_block_delta")


@pytest.mark.anyio
async def test_a_slow_answer_hurries_once_released(server: ModelServer):
    answer = asyncio.create_task(ask(server, "slow: 6000"))  # ten minutes, if nobody released it
    await server.release()
    assert (await answer).endswith("w5999 ")


@pytest.mark.anyio
async def test_a_caller_who_goes_away_is_no_longer_held(server: ModelServer):
    caller = asyncio.create_task(ask(server, "hang"))
    await server.until_held()
    caller.cancel()
    await server.until(lambda: not server.holding)


@pytest.mark.anyio
async def test_a_dropped_answer_breaks_the_callers_read(server: ModelServer):
    with pytest.raises(aiohttp.ClientError):
        await ask(server, "drop")


@pytest.mark.anyio
async def test_telemetry_gets_a_quiet_404_and_is_kept(server: ModelServer):
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{server.url}/api/event_logging", json={}) as response,
    ):
        assert response.status == 404
    assert [(seen.path, seen.conversation) for seen in server.requests] == [("/api/event_logging", None)]


@pytest.mark.anyio
async def test_a_refused_chat_has_the_status_and_says_when_to_come_back(server: ModelServer):
    url = f"{server.url}/v1/chat/completions"
    async with aiohttp.ClientSession() as http, http.post(url, json=asked("status: 429 after=0")) as response:
        body = await response.json()
        assert (response.status, response.headers["retry-after"]) == (429, "0")
    assert body["error"]["code"] == "rate_limit_exceeded"


@pytest.mark.anyio
async def test_a_host_that_an_agent_tries_to_reach_through_the_proxy_is_kept_by_name(server: ModelServer):
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n")
    assert b"404" in await reader.readline()
    writer.close()
    assert server.strays == ["example.org:443"]
    server.strays.clear()
