"""Where schedules, hooks, spawned sessions, budgets and the agents' own tools meet."""

import pytest

from fairlead.core import requests as ask
from fairlead.core.agent_tools import ToolHolder
from tests.flow.harness import OWNER, run_flow, virtually

pytestmark = pytest.mark.req("E10")

FRIEND = "7"
KEY = f"agent:fairlead:user:{OWNER}"


@virtually
async def test_an_answer_after_the_project_was_renamed_runs_in_the_renamed_project():
    async with run_flow() as flow:
        await flow.answered("hello")
        holder = ToolHolder(mark="abcd:job", project_path="/srv/api", session_key=KEY, generation=0)
        await flow.flow.agent_calls.call(holder, call_id="c", tool="ask_user", arguments={"question": "Which?"})
        question_id = await flow.question()
        await flow.command(ask.ProjectRename("api", "new"))
        job = await flow.ended(await flow.click(question_id, message="blue"))
        assert (job.state, job.project) == ("success", "new")
