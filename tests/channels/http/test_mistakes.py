"""What a caller sent and what is wrong with it, said in the caller's own words."""

from pathlib import Path
from typing import Any

import pytest

from tests.channels.harness import run_daemon_in

pytestmark = [pytest.mark.anyio, pytest.mark.req("C5")]

FIELDS = (
    "The fields are `userId`, `message`, `project`, `tool`, `stream`, `steer`, `files`; /openapi.json describes them."
)
USER = 'Give `userId`: your own id for the person, such as "alice".'
JSON = "Send a JSON object in UTF-8; /openapi.json describes its fields."


@pytest.mark.parametrize(
    ("body", "code", "message", "next_step"),
    [
        ({"message": "hi"}, "E_INVALID_USER", "Missing `userId`.", USER),
        ({}, "E_INVALID_USER", "Missing `userId`. Missing `message`.", USER),
        ({"userId": "alice"}, "E_INVALID_ARGS", "Missing `message`.", FIELDS),
        ({"user_id": "alice"}, "E_INVALID_ARGS", "Missing `message`.", FIELDS),
        (
            {"userId": "alice", "message": "hi", "projcet": "x"},
            "E_INVALID_ARGS",
            "Unknown field `projcet`. Did you mean `project`?",
            FIELDS,
        ),
        ({"userId": "alice", "message": 7}, "E_INVALID_ARGS", "`message` must be a text.", FIELDS),
        (
            {"userId": "", "message": "hi"},
            "E_INVALID_USER",
            "`userId` must be a text of 1 to 128 characters.",
            USER,
        ),
        (
            {"userId": "alice", "message": "hi", "stream": "yes", "tool": 1},
            "E_INVALID_ARGS",
            "`tool` must be a text or null. `stream` must be true or false.",
            FIELDS,
        ),
        ([], "E_INVALID_ARGS", "The body must be a JSON object.", FIELDS),
    ],
)
async def test_every_mistake_of_a_body_is_named_at_once(
    tmp_path: Path, body: Any, code: str, message: str, next_step: str
):
    async with run_daemon_in(tmp_path) as daemon:
        status, refused = await daemon.post("/v1/messages", body)
    assert (status, refused["error"]) == (400, {"code": code, "message": message, "next": next_step})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "The body is empty."),
        (b"hello", "The body is not valid JSON at byte 0."),
        (b'{"userId": "alice"', "The body ends in the middle of its JSON."),
        (b'{"userId": "\xff", "message": "hi"}', "The body is not UTF-8."),
        (b'{"userId": "a", "message": ' + b"[" * 100_000, "The body is not JSON."),
    ],
    ids=["empty", "words", "cut off", "not UTF-8", "deep"],
)
async def test_a_body_that_is_not_json_is_called_that_and_no_library_speaks(tmp_path: Path, data: bytes, message: str):
    async with run_daemon_in(tmp_path) as daemon:
        status, refused = await daemon.post("/v1/messages", data=data, headers={"Content-Type": "application/json"})
    expected = {"code": "E_INVALID_ARGS", "message": message, "next": JSON}
    assert (status, refused["error"]) == (400, expected)


async def test_a_wrong_choice_is_answered_with_the_right_ones(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        said = {}
        for method, path, body in (
            ("POST", "/v1/questions/q_1", {"verdict": "maybe"}),
            ("GET", "/v1/answers?userId=alice&limit=0", None),
            ("GET", "/v1/sessions/x/history?order=up", None),
            ("GET", "/v1/choices?command=projects2&argument=x", None),
            ("GET", "/v1/choices?command=tool&argument=x", None),
        ):
            status, refused = await daemon.ask(method, path, body)
            assert status == 400
            said[path] = refused["error"]["message"], refused["error"]["next"]
    assert said["/v1/questions/q_1"][0] == "`verdict` must be `allow` or `deny`."
    assert said["/v1/answers?userId=alice&limit=0"][0] == "`limit` must be a whole number from 1 to 100."
    assert said["/v1/sessions/x/history?order=up"][0] == "`order` must be `newest_first` or `oldest_first`."
    assert "project list, " in said["/v1/choices?command=projects2&argument=x"][1]
    assert said["/v1/choices?command=tool&argument=x"][1] == "Its arguments are: tool."


@pytest.mark.parametrize(
    ("user", "message"),
    [
        ("123", "'123' has digits only, as the ids of discord do, and is not linked."),
        ("owned", "'owned' is the id of a person on another channel."),
        ("a:b", "A user id has 1 to 128 visible characters and no ':'; 'a:b' does not."),
    ],
)
async def test_an_id_that_cannot_be_used_is_refused_with_the_true_reason(tmp_path: Path, user: str, message: str):
    async with run_daemon_in(tmp_path, FAIRLEAD_IDENTITIES={"somebody": ("terminal:owned",)}) as daemon:
        status, refused = await daemon.say(user, "hi")
    assert (status, refused["error"]["code"], refused["error"]["message"]) == (400, "E_INVALID_USER", message)


async def test_a_user_without_a_session_is_told_how_one_begins(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        status, refused = await daemon.get("/v1/status?userId=nobody")
    assert status == 409
    assert refused["error"] == {
        "code": "E_NOT_IN_MANAGED_THREAD",
        "message": "'nobody' has no session yet.",
        "next": "The first message starts one: POST /v1/messages with this `userId`.",
    }
