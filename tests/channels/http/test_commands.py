"""Everything else that can be asked over HTTP, and the document that describes it."""

from pathlib import Path

import pytest

from tests.channels.harness import run_daemon_in

pytestmark = pytest.mark.anyio


@pytest.mark.req("A12", "B15", "C5")
async def test_projects_are_made_listed_selected_and_reported(tmp_path: Path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    async with run_daemon_in(tmp_path, PROJECTS=()) as daemon:
        status, refused = await daemon.say("alice", "hello")
        assert (status, refused["error"]["code"]) == (409, "E_PROJECT_NOT_SELECTED")
        new = {"name": "uno", "path": str(tmp_path / "one"), "tools": ["echo"], "default_tool": "echo"}
        assert (await daemon.post("/v1/projects", new))[1]["created"] is True
        assert (await daemon.post("/v1/projects", new))[0] == 409
        assert (await daemon.post("/v1/projects", {**new, "name": "Not Good"}))[1]["error"]["code"] == "E_INVALID_NAME"
        nul = {**new, "name": "nul", "args": {"echo": ["a\0b"]}}
        assert (await daemon.post("/v1/projects", nul))[1]["error"]["code"] == "E_INVALID_ARGS"
        assert (await daemon.post("/v1/agent/model", {"userId": "alice", "model": "a\0b"}))[0] == 400
        for directory in ("/", str(tmp_path), str(tmp_path / "state")):
            status, refused = await daemon.post("/v1/projects/add", {"path": directory})
            assert (status, refused["error"]["code"]) == (400, "E_INVALID_PATH")
        _, added = await daemon.post("/v1/projects/add", {"path": str(tmp_path / "two")})
        assert (added["name"], added["number"]) == ("two", 2)
        _, selected = await daemon.post("/v1/projects/switch", {"userId": "alice", "project": "2"})
        assert selected["name"] == "two"
        assert (await daemon.say("alice", "hello"))[0] == 200
        _, listed = await daemon.get("/v1/projects?userId=alice")
        _, report = await daemon.get("/v1/projects/two")
    assert [(p["name"], p.get("active", False)) for p in listed["projects"]] == [("uno", False), ("two", True)]
    assert (report["session_total"], report["queued_jobs"], report["last_error"]) == (1, 0, None)


@pytest.mark.req("A12", "C4", "C5")
async def test_a_session_is_looked_at_changed_and_reset(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        await daemon.say("alice", "hello")
        _, status = await daemon.get("/v1/status?userId=alice")
        assert (status["project"], status["tool"], status["state"], status["resume_ready"]) == (
            "proj",
            "echo",
            "idle",
            True,
        )
        assert (await daemon.post("/v1/tool", {"userId": "alice", "tool": "echo"}))[0] == 200
        refused = await daemon.post("/v1/tool", {"userId": "alice", "tool": "claude"})
        assert refused[1]["error"]["code"] == "E_TOOL_NOT_ENABLED"
        _, session = await daemon.get("/v1/sessions/agent:fairlead:user:alice")
        assert (session["tool"], session["queue"], session["running_job_id"]) == ("echo", [], None)
        assert (await daemon.post("/v1/cancel", {"userId": "alice"}))[1]["error"]["code"] == "E_NOTHING_TO_CANCEL"
        assert (await daemon.post("/v1/reset", {"userId": "alice"}))[0] == 200
        _, afterwards = await daemon.say("alice", "again")
        _, history = await daemon.get("/v1/sessions/agent:fairlead:user:alice/history")
    assert "turn 2" not in afterwards["answer"]
    assert len(history["jobs"]) == 2


@pytest.mark.req("B1", "B5", "C5")
async def test_the_agent_of_a_session_is_looked_at_given_another_model_and_stopped(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        refused = await daemon.get("/v1/agent?userId=alice")
        assert (refused[0], refused[1]["error"]["code"]) == (409, "E_NO_ACTIVE_SESSION")
        await daemon.say("alice", "hello\n/usage 10 20 0.5")
        _, agent = await daemon.get("/v1/agent?userId=alice")
        assert (agent["model"], agent["models"], agent["state"]) == ("echo-1", ["echo-1", "echo-2"], "Closed")
        assert (await daemon.post("/v1/agent/model", {"userId": "alice", "model": "echo-2"}))[1]["model"] == "echo-2"
        assert (await daemon.get("/v1/agent?userId=alice"))[1]["model"] == "echo-2"
        refused = await daemon.post("/v1/agent/model", {"userId": "alice", "model": "gpt-9"})
        assert refused[1]["error"]["code"] == "E_MODEL_UNAVAILABLE"
        assert (await daemon.post("/v1/agent/mode", {"userId": "alice", "mode": "plan"}))[1]["mode"] == "plan"
        _, agent = await daemon.get("/v1/agent?userId=alice")
        assert (agent["mode"], agent["modes"]) == ("plan", ["default", "plan"])
        refused = await daemon.post("/v1/agent/mode", {"userId": "alice", "mode": "bypassPermissions"})
        assert (refused[0], refused[1]["error"]["code"]) == (400, "E_MODE_UNAVAILABLE")
        _, usage = await daemon.get("/v1/agent/usage?userId=alice")
        assert (usage["input_tokens"], usage["output_tokens"], usage["cost_usd"]) == (10, 20, 0.5)
        for how in ("stop", "kill"):
            hanging = await daemon.begin("alice", "/hang")
            await daemon.until(hanging, "moved", state="running")
            _, stopped = await daemon.post(f"/v1/agent/{how}", {"userId": "alice"})
            assert stopped["killed"] is (how == "kill")
            done = await daemon.until(hanging, "done")
            assert done.data["job"]["state"] == "cancelled"


@pytest.mark.req("A12")
async def test_why_tells_what_became_of_a_message(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        _, job = await daemon.say("alice", "hello", "my-key")
        _, by_job = await daemon.get(f"/v1/why?subject={job['job_id']}")
        _, by_key = await daemon.get("/v1/why?subject=my-key")
    assert {"JobEnqueued", "JobStarted", "JobCompleted"} <= {step["type"] for step in by_job["steps"]}
    assert "JobEnqueued" in {step["type"] for step in by_key["steps"]}


@pytest.mark.req("A16", "C5")
async def test_one_job_of_several_is_cancelled_by_its_id(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        hanging = await daemon.begin("alice", "/hang")
        await daemon.until(hanging, "moved", state="running")
        queued = await daemon.begin("alice", "never")
        assert (await daemon.post(f"/v1/jobs/{queued}/cancel"))[1]["cancelled"] == [queued]
        assert (await daemon.get(f"/v1/jobs/{queued}"))[1]["state"] == "cancelled"
        assert (await daemon.post(f"/v1/jobs/{hanging}/cancel"))[1]["stopping"] == [hanging]
        done = await daemon.until(hanging, "done")
    assert done.data["job"]["state"] == "cancelled"


@pytest.mark.req("C5", "C6")
async def test_half_typed_arguments_are_completed(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        await daemon.say("alice", "hello")
        asked = {
            "command=project%20status&argument=project&typed=PR": [{"value": "proj"}],
            "command=agent%20start&argument=project": [{"value": "1", "label": "1: proj"}],
            "command=project%20create&argument=tools&typed=x,ec": [{"value": "x,echo"}],
            "command=agent%20model&argument=model&typed=2&userId=alice": [{"value": "echo-2"}],
            "command=agent%20model&argument=model&typed=2&userId=nobody": [],
            "command=project%20add&argument=path": [],
        }
        for query, choices in asked.items():
            assert await daemon.get(f"/v1/choices?{query}") == (200, {"choices": choices}), query
        for query in ("command=nonsense&argument=x", "command=status&argument=x"):
            status, refused = await daemon.get(f"/v1/choices?{query}")
            assert (status, refused["error"]["code"]) == (400, "E_INVALID_ARGS")
