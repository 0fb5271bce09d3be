"""The real gemini -p: failures, withheld tools, images by name, its json mode."""

import json
import uuid

import pytest

from .drive import Cli, answer_of
from .environment import GEMINI_MODEL
from .model_server import ModelServer
from .pictures import png

pytestmark = [pytest.mark.agents, pytest.mark.anyio]


@pytest.mark.parametrize("status", [401, 429, 500])
async def test_the_exit_code_of_a_lasting_refusal_is_the_status_modulo_256(gemini: Cli, status: int):
    ran = await gemini.turn(f"status: {status}")

    assert ran.exit_code == status % 256
    assert ran.of("result")[-1]["status"] == "error"


async def test_the_default_mode_withholds_the_shell(gemini: Cli, server: ModelServer):
    ran = await gemini.turn("run: touch forbidden")

    assert not (gemini.project / "forbidden").exists()
    assert "no tool for that" in answer_of("gemini", ran)


async def test_auto_edit_writes_but_does_not_run(gemini: Cli):
    await gemini.turn(f"write: {gemini.project}/note.txt hello", "--approval-mode=auto_edit")
    await gemini.turn("run: touch forbidden", "--approval-mode=auto_edit")

    assert (gemini.project / "note.txt").exists()
    assert not (gemini.project / "forbidden").exists()


async def test_an_image_named_in_the_prompt_reaches_the_model(gemini: Cli):
    picture = png()
    (gemini.project / "picture.png").write_bytes(picture)

    ran = await gemini.turn("@picture.png\nimage?")

    assert f"images: 1; image/png {len(picture)} bytes" in answer_of("gemini", ran)


async def test_an_unknown_session_is_refused_with_42(gemini: Cli):
    ran = await gemini.turn("hello", resume=str(uuid.uuid4()))

    assert (ran.exit_code, ran.of("result")) == (42, [])


async def test_json_mode_says_everything_at_once(gemini: Cli):
    async with gemini.start("--skip-trust", "-m", GEMINI_MODEL, "-o", "json", "--prompt=hello") as process:
        stdout, _ = await process.communicate(b"")

    assert json.loads(stdout)["response"] == "You said: hello"


async def test_the_automatic_model_costs_a_call_that_wants_structured_output(gemini: Cli, server: ModelServer):
    ran = await gemini.run("--skip-trust", "-o", "stream-json", "--prompt=hello")

    assert (ran.exit_code, answer_of("gemini", ran)) == (0, "You said: hello")
    assert len(server.requests) > len(server.turns) == 1
