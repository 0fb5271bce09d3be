"""The real codex exec: failures, images, its patch tool."""

import uuid

import pytest

from .drive import Cli, answer_of, session_of
from .model_server import ModelServer
from .pictures import png

pytestmark = [pytest.mark.agents, pytest.mark.anyio]


@pytest.mark.parametrize(
    ("status", "words"), [(401, "401"), (429, "429"), (500, "experiencing high demand"), (529, "529")]
)
async def test_a_lasting_refusal_fails_the_turn(codex: Cli, status: int, words: str):
    ran = await codex.turn(f"status: {status}")

    assert ran.exit_code == 1
    assert words in ran.of("turn.failed")[-1]["error"]["message"]


async def test_a_429_without_a_retry_time_is_not_tried_again(codex: Cli, server: ModelServer):
    await codex.turn("status: 429 times=1")

    assert len(server.turns) == 1


async def test_a_dropped_connection_is_announced_and_tried_again(codex: Cli, server: ModelServer):
    ran = await codex.turn("drop")

    assert ran.exit_code == 1
    assert ran.of("error")[0]["message"].startswith("Reconnecting... 1/1")
    assert len(server.turns) == 2


async def test_an_image_given_as_a_file_reaches_the_model(codex: Cli):
    picture = png()
    (codex.project / "picture.png").write_bytes(picture)

    ran = await codex.turn("image?", "-i", "picture.png")

    assert answer_of("codex", ran).startswith(f"images: 1; image/png {len(picture)} bytes sha256:")


async def test_a_patch_is_shown_as_a_file_change(codex: Cli):
    ran = await codex.turn("write: added.txt hello", "-s", "danger-full-access")

    changes = [event["item"] for event in ran.of("item.completed") if event["item"]["type"] == "file_change"]
    assert [change["kind"] for item in changes for change in item["changes"]] == ["add"]


async def test_usage_adds_up_over_the_thread(codex: Cli):
    first = await codex.turn("usage: 1000 10 100")
    second = await codex.turn("usage: 2000 20 200", resume=session_of("codex", first))

    counted = [ran.of("turn.completed")[-1]["usage"] for ran in (first, second)]
    assert [(usage["input_tokens"], usage["output_tokens"]) for usage in counted] == [(1000, 10), (3000, 30)]


async def test_an_unknown_thread_is_refused_and_a_word_silently_starts_another(codex: Cli):
    unknown = await codex.turn("hello", resume=str(uuid.uuid4()))
    a_word = await codex.turn("hello", resume="no-uuid-at-all")

    assert (unknown.exit_code, unknown.events) == (1, [])
    assert (a_word.exit_code, len(a_word.of("thread.started"))) == (0, 1)
