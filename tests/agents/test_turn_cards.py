"""What a real agent changed and tested in a turn is told with its job."""

from pathlib import Path

import pytest

from .daemon import Daemon, ended
from .environment import AgentName
from .model_server import ModelServer

pytestmark = [pytest.mark.agents, pytest.mark.anyio, pytest.mark.req("F3")]
TEST = """import unittest


class One(unittest.TestCase):
    def test_it(self):
        open("made", "w").close()
"""


@pytest.mark.parametrize("name", ["claude", "codex"])
async def test_the_files_the_tests_and_the_tokens_of_a_turn(name: AgentName, tmp_path: Path, server: ModelServer):
    daemon = Daemon(name, tmp_path, server)
    (daemon.project / "test_one.py").write_text(TEST)
    await daemon.start()
    try:
        async with daemon.client() as client:
            accepted = await client.submit("alice", "run: PYTHONDONTWRITEBYTECODE=1 python3 -m unittest", tool=name)
            if name == "claude":
                question = await daemon.question(client)
                await client.respond(question.question_id, "allow", user="alice")
            job = await ended(client, accepted.job_id)
    finally:
        await daemon.end()
    assert job.changed is not None
    assert [file.path for file in job.changed.files] == ["made"]
    assert [(run.command, run.ok) for run in job.report.checks] == [("unittest", True)]
    assert job.input_tokens > 0
