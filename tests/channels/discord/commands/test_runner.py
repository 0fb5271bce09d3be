"""Every slash command: the way it is meant, each error it has, and a stranger who tries it."""

import re
from pathlib import Path
from typing import Any

import pytest
from loopback_discord import Conversation, Fault, Message, Person

from fairlead.core.commands import COMMANDS
from fairlead.core.job_names import short_name
from fairlead.render.words import CATALOGUES, ENGLISH, error_line
from tests.channels.discord.harness import Stage, a_stage

pytestmark = pytest.mark.anyio


async def asked(person: Person, conversation: Conversation, command: str, **typed: Any) -> str:
    """What the person reads; every reply is theirs alone."""
    reply = await person.slash(conversation, command, **typed).reply()
    assert reply.ephemeral
    return read(reply)


def read(reply: Message) -> str:
    embeds = [f"{e.get('title') or ''}\n{e.get('description') or ''}" for e in reply.embeds]
    return "\n".join([reply.content, *embeds])


@pytest.fixture
async def thread(stage: Stage) -> Conversation:
    return await stage.start_thread()


def directory(stage: Stage, name: str) -> str:
    path = stage.daemon.home / name
    path.mkdir(exist_ok=True)
    return str(path)


# --- projects


@pytest.mark.req("A12")
async def test_project_create_answers_with_a_summary(stage: Stage) -> None:
    path = directory(stage, "web-src")
    text = await asked(
        stage.owner, stage.text_channel, "project create", name="web", path=path, tools_csv="echo", default_tool="echo"
    )
    assert text.startswith(f"Created project web ({path})")
    assert "default_tool: echo" in text
    created = stage.daemon.journal("ProjectCreated")[-1]["payload"]
    assert (created["name"], created["path"]) == ("web", path)


@pytest.mark.req("A12", "A18")
@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"name": "api"}, "E_PROJECT_EXISTS"),
        ({"name": "new", "path": "/nowhere/at/all"}, "E_INVALID_PATH"),
        ({"name": "new", "tools_csv": "claude-9000"}, "E_INVALID_TOOLSET"),
        ({"name": "new", "default_tool": "gemini"}, "E_INVALID_TOOLSET"),
        ({"name": "Not A Name"}, "E_INVALID_NAME"),
        ({"name": "new", "args_json": "{"}, "E_INVALID_ARGS"),
    ],
)
async def test_project_create_refuses_with_a_code(stage: Stage, given: dict[str, str], code: str) -> None:
    right = {"path": directory(stage, "new"), "tools_csv": "echo", "default_tool": "echo"}
    text = await asked(stage.owner, stage.text_channel, "project create", **(right | given))
    assert text.startswith(f"{code}: ")


@pytest.mark.req("A12")
async def test_project_list_shows_names_tools_and_paths(stage: Stage) -> None:
    text = await asked(stage.owner, stage.text_channel, "project list")
    assert "#1 api  echo (echo)" in text
    assert str(stage.daemon.project) in text


@pytest.mark.req("B1")
async def test_projects_shows_numbers_and_paths(stage: Stage) -> None:
    text = await asked(stage.owner, stage.text_channel, "projects")
    assert f"1: {stage.daemon.project}" in text


@pytest.mark.req("A12")
async def test_project_status_has_its_five_fields(stage: Stage) -> None:
    text = await asked(stage.owner, stage.text_channel, "project status", project_name="api")
    names = [line.partition(":")[0] for line in text.strip("`\n").splitlines()]
    assert names == [
        "Project Status", "session_total", "running_sessions", "queued_jobs", "failed_jobs_24h", "last_error",
    ]  # fmt: skip


@pytest.mark.req("A12", "A18")
async def test_a_project_that_is_not_there_is_named_in_the_error(stage: Stage) -> None:
    for command in ("project status", "start", "session list"):
        text = await asked(stage.owner, stage.text_channel, command, project_name="nosuch")
        assert text == "E_PROJECT_NOT_FOUND: The project nosuch was not found. /project list shows all of them."


@pytest.mark.req("B1")
async def test_project_add_registers_a_directory_and_refuses_what_is_none(stage: Stage) -> None:
    path = directory(stage, "third")
    text = await asked(stage.owner, stage.text_channel, "project add", path=path)
    assert text.startswith("Registered project #")
    assert f"({path})" in text
    text = await asked(stage.owner, stage.text_channel, "project add", path="/not/there")
    assert text.startswith("E_INVALID_PATH: The path /not/there does not exist")


@pytest.mark.req("A18", "B8")
async def test_what_is_wrong_with_a_path_is_said_and_what_may_have_been_meant(stage: Stage) -> None:
    file = stage.daemon.home / "a-file"
    file.touch()
    wrong = {
        str(file): f"({file} is not a directory.)",
        "api": "(api is not an absolute path.)",
        f"{stage.daemon.project}x": f"Did you mean {stage.daemon.project}?)",
        "~nobody-of-that-name/api": "(~nobody-of-that-name/api is not an absolute path.)",
    }
    for path, words in wrong.items():
        text = await asked(stage.owner, stage.text_channel, "project add", path=path)
        assert text.startswith("E_INVALID_PATH: ")
        assert text.endswith(words)
    text = await asked(stage.owner, stage.text_channel, "project add", path="/" + "x" * 5000)
    assert text.startswith("E_INVALID_PATH: ")
    assert len(text) < 2000


async def test_what_was_typed_is_shown_as_it_was_typed(stage: Stage) -> None:
    text = await asked(stage.owner, stage.text_channel, "session open", session_id="**@everyone**")
    assert text == "E_SESSION_NOT_FOUND: The session `**@everyone**` was not found. /session list shows all of them."
    path = directory(stage, "__init__ *x*")
    assert f"(`{path}`)" in await asked(stage.owner, stage.text_channel, "project add", path=path)
    assert f": `{path}`" in await asked(stage.owner, stage.text_channel, "projects")


@pytest.mark.req("B1", "A12")
async def test_lists_that_are_too_long_to_show_come_whole_as_a_file(tmp_path: Path) -> None:
    paths = [tmp_path / "root" / f"{number:03}-{'x' * 80}" for number in range(150)]
    for path in paths:
        path.mkdir(parents=True)
    async with a_stage(tmp_path, FAIRLEAD_PROJECT_ROOT=str(tmp_path / "root")) as stage:
        numbered = await stage.owner.slash(stage.text_channel, "projects").reply()
        assert "more lines in answer.md" in read(numbered)
        listed = stage.owner.slash(stage.text_channel, "project list")
        last = await listed.followup(lambda m: m.attachments)
        for message in (numbered, last):
            whole = stage.discord.world.attachments[message.attachments[0].id].data.decode()
            assert [path for path in paths if str(path) not in whole] == []
        offered = await stage.owner.autocomplete(stage.text_channel, "start", "project_name", "").choices()
        assert len(offered) == 25


@pytest.mark.req("B15")
async def test_project_switch_selects_where_direct_messages_work(stage: Stage) -> None:
    fourth = directory(stage, "fourth")
    await asked(stage.owner, stage.text_channel, "project add", path=fourth)
    text = await asked(stage.owner, stage.owner.dm, "project switch", project="fourth")
    number = stage.daemon.journal("ProjectCreated")[-1]["payload"]["number"]
    assert text == f"Now working in project #{number} fourth ({fourth}) with echo"
    assert "project: fourth" in await asked(stage.owner, stage.owner.dm, "status")
    text = await asked(stage.owner, stage.owner.dm, "project switch", project="1")
    assert text.startswith("Now working in project #1 api (")
    assert (await asked(stage.owner, stage.owner.dm, "project switch", project="99")).startswith("E_PROJECT_NOT_FOUND")


# --- sessions


@pytest.mark.req("A12")
async def test_start_answers_with_thread_and_session_id(stage: Stage) -> None:
    text = await asked(stage.owner, stage.text_channel, "start", project_name="api")
    thread = stage.text_channel.threads()[-1]
    assert text == f"Session started: <#{thread.id}>\nsession_id: {thread.id}"
    created = stage.daemon.journal("SessionCreated")[-1]["payload"]
    assert (created["session_id"], created["project"]) == (str(thread.id), "api")


@pytest.mark.req("A12", "A18")
async def test_start_works_only_in_a_text_channel(stage: Stage, thread: Conversation) -> None:
    for conversation in (thread, stage.owner.dm):
        text = await asked(stage.owner, conversation, "start", project_name="api")
        assert text.startswith("E_NOT_IN_TEXT_CHANNEL: ")


@pytest.mark.req("A12")
async def test_session_list_is_sorted_by_activity_and_links_to_threads(stage: Stage) -> None:
    older, newer = await stage.start_thread(), await stage.start_thread()
    said = stage.owner.say(older, "I am the latest now")
    await older.wait_for_answer(after=said)
    rows = (await asked(stage.owner, stage.text_channel, "session list", project_name="api")).splitlines()
    assert re.fullmatch(rf"<#{older.id}> · api · idle · <t:\d+:R>", rows[0])
    assert any(str(newer.id) in row for row in rows[1:])


@pytest.mark.req("A6", "A3", "A12", "A18")
async def test_session_open_leads_back_or_says_why_not(stage: Stage) -> None:
    thread = await stage.start_thread()
    thread.archive()
    text = await asked(stage.owner, stage.text_channel, "session open", session_id=str(thread.id))
    assert f"<#{thread.id}>" in text
    assert not thread.thread.archived
    thread.lock()
    text = await asked(stage.owner, stage.text_channel, "session open", session_id=str(thread.id))
    assert text.startswith("E_THREAD_ACCESS_FAILED: ")
    thread.unlock()
    thread.delete()
    text = await asked(stage.owner, stage.text_channel, "session open", session_id=str(thread.id))
    assert text.startswith("E_THREAD_ACCESS_FAILED: ")
    text = await asked(stage.owner, stage.text_channel, "session open", session_id="12345")
    assert text.startswith("E_SESSION_NOT_FOUND: The session 12345 was not found.")


@pytest.mark.req("A12")
async def test_status_has_its_fields_in_their_order(stage: Stage, thread: Conversation) -> None:
    said = stage.owner.say(thread, "hello")
    await thread.wait_for_answer(after=said)
    text = await asked(stage.owner, thread, "status")
    words, *names = [line.partition(":")[0] for line in text.splitlines()]
    assert words.startswith("Idle. The last job was #2")
    assert re.search(r"ended <t:\d+:R>\.$", text.splitlines()[0])
    assert names[:9] == [
        "**Session Status**", "project", "tool", "session_key", "state", "queue", "last_job", "resume_ready",
        "retry_hint",
    ]  # fmt: skip
    assert "queue: pending=0, running=none" in text
    assert re.search(r"(?m)^last_job: success, \d+s, <t:\d+:R>, #2$", text)
    assert "resume_ready: yes" in text


@pytest.mark.req("A3", "A12")
async def test_a_command_in_an_archived_thread_reopens_it_to_answer(stage: Stage, thread: Conversation) -> None:
    thread.archive()
    assert "Session Status" in await asked(stage.owner, thread, "status")
    assert not thread.thread.archived


@pytest.mark.req("A12", "A18")
@pytest.mark.parametrize(
    ("command", "typed"), [("status", {}), ("tool", {"tool": "echo"}), ("reset", {}), ("cancel", {})]
)
async def test_elsewhere_these_say_that_no_session_is_here(stage: Stage, command: str, typed: dict[str, str]) -> None:
    empty = stage.discord.text_channel(stage.text_channel.channel.guild, f"empty-{command}")  # type: ignore[arg-type]
    text = await asked(stage.owner, empty, command, **typed)
    assert text.startswith("E_NOT_IN_MANAGED_THREAD: ")


@pytest.mark.req("A12", "A18")
async def test_tool_refuses_what_the_project_does_not_enable(stage: Stage, thread: Conversation) -> None:
    assert await asked(stage.owner, thread, "tool", tool="echo") == "The agent is now echo, from the next job on"
    text = await asked(stage.owner, thread, "tool", tool="claude")
    assert text.startswith("E_TOOL_NOT_ENABLED: This project does not allow the agent claude.")


@pytest.mark.req("A12", "A16", "A18")
async def test_retry_makes_a_new_job_and_refuses_what_did_not_fail(stage: Stage, thread: Conversation) -> None:
    said = stage.owner.say(thread, "/fail E_AGENT_ERROR")
    await thread.wait_for_answer(lambda m: "E_AGENT_ERROR" in m.content, after=said)
    failed = stage.daemon.journal("JobFailed")[-1]["payload"]["job_id"]
    choices = await stage.owner.autocomplete(thread, "retry", "job_id", failed[-4:]).choices()
    assert failed in [c["value"] for c in choices]
    text = await asked(stage.owner, thread, "retry", job_id=failed)
    again = stage.daemon.journal("JobEnqueued")[-1]["payload"]["job_id"]
    assert text == f"Trying again as {short_name(again)} (attempt 2)"
    text = await asked(stage.owner, thread, "retry", job_id=failed)
    assert text.startswith("E_JOB_NOT_RETRYABLE: ")
    assert f"If that failed too, use /retry {again}." in text
    text = await asked(stage.owner, thread, "retry", job_id="job_20200101_0001")
    assert text.startswith("E_JOB_NOT_FOUND: ")


async def test_cancel_ends_what_runs_and_what_waits(stage: Stage, thread: Conversation) -> None:
    stage.owner.say(thread, "/hang")
    waiting = stage.owner.say(thread, "behind it")
    await stage.daemon.until_journalled("JobEnqueued", message_id=str(waiting.id))
    text = await asked(stage.owner, thread, "cancel")
    assert (text.count("Stopping #"), text.count("Cancelled #")) == (1, 1)
    assert (await asked(stage.owner, thread, "cancel")).startswith("E_NOTHING_TO_CANCEL: ")


@pytest.mark.req("C4")
async def test_reset_begins_afresh(stage: Stage, thread: Conversation) -> None:
    said = stage.owner.say(thread, "one")
    await thread.wait_for_answer(after=said)
    said = stage.owner.say(thread, "two")
    assert "turn 2 of talk" in (await thread.wait_for_answer(after=said)).content
    text = await asked(stage.owner, thread, "reset")
    assert text == "Conversation reset. The next message starts a new one; the history is kept."
    said = stage.owner.say(thread, "three")
    assert "turn 2" not in (await thread.wait_for_answer(after=said)).content


async def test_why_tells_what_became_of_a_message(stage: Stage, thread: Conversation) -> None:
    said = stage.owner.say(thread, "what will become of me?")
    await thread.wait_for_answer(after=said)
    await stage.discord.wait_for(lambda: "✅" in said.reactions)
    link = f"https://discord.com/channels/{thread.channel.guild_id}/{thread.id}/{said.id}"
    story = await asked(stage.owner, thread, "why", message=link)
    for step in (f"in <#{thread.id}>", f"goes to <#{thread.id}>", "echo started in api", "answered: ", "message 1 was"):
        assert step in story
    assert all(line.startswith("<t:") for line in story.splitlines()[1:]), "times as Discord shows them"
    text = await asked(stage.owner, thread, "why", message="https://discord.com/channels/1/2/111111111111111111")
    assert text.startswith("E_MESSAGE_NOT_FOUND: ")


# --- agents


@pytest.mark.req("B1", "B7")
async def test_agent_start_makes_a_thread_by_the_projects_number(stage: Stage) -> None:
    text = await asked(stage.owner, stage.text_channel, "agent start", project_id=1)
    assert text.startswith(f"Session started: <#{stage.text_channel.threads()[-1].id}>")
    text = await asked(stage.owner, stage.text_channel, "agent start", project_id=4711)
    assert text == "E_PROJECT_NOT_FOUND: The project #4711 was not found. /project list shows all of them."


@pytest.mark.req("B1")
async def test_agent_status_model_and_usage_speak_of_the_session_here(stage: Stage, thread: Conversation) -> None:
    said = stage.owner.say(thread, "/usage 1200 300 0.5")
    await thread.wait_for_answer(after=said)
    report = await asked(stage.owner, thread, "agent status")
    assert f"session: {thread.id}" in report
    assert "project: #1 api" in report
    usage = await asked(stage.owner, thread, "agent usage")
    assert "input_tokens: 1200" in usage
    assert "cost: $0.50" in usage
    offered = await stage.owner.autocomplete(thread, "agent model", "model_id", "echo").choices()
    assert [c["value"] for c in offered] == ["echo-1", "echo-2"]
    elsewhere = stage.discord.text_channel(stage.text_channel.channel.guild, "elsewhere")  # type: ignore[arg-type]
    assert await stage.owner.autocomplete(elsewhere, "agent model", "model_id", "echo").choices() == offered
    assert await asked(stage.owner, thread, "agent model", model_id="echo-2") == "Switched the model to echo-2"
    text = await asked(stage.owner, thread, "agent model", model_id="gpt-99")
    assert text.startswith("E_MODEL_UNAVAILABLE: The model gpt-99 is not available.")


@pytest.mark.req("E3")
async def test_agent_mode_is_chosen_from_what_the_agent_offers(stage: Stage, thread: Conversation) -> None:
    said = stage.owner.say(thread, "hello")
    await thread.wait_for_answer(after=said)
    offered = await stage.owner.autocomplete(thread, "agent mode", "mode", "pl").choices()
    assert [c["value"] for c in offered] == ["plan"]
    text = await asked(stage.owner, thread, "agent mode", mode="plan")
    assert text == "The mode is now plan, until Fairlead is restarted"
    assert "mode: plan" in await asked(stage.owner, thread, "agent status")
    text = await asked(stage.owner, thread, "agent mode", mode="bypassPermissions")
    assert text.startswith("E_MODE_UNAVAILABLE: This mode cannot be used here.")


@pytest.mark.req("B1", "B5")
@pytest.mark.parametrize(
    ("command", "words"), [("agent stop", "The session has ended"), ("agent kill", "The session was killed")]
)
async def test_agent_stop_and_kill_end_the_running_turn(
    stage: Stage, thread: Conversation, command: str, words: str
) -> None:
    said = stage.owner.say(thread, "/hang")
    await stage.discord.wait_for(lambda: "👀" in said.reactions, what="taken")
    await stage.discord.wait_for(lambda: any(c == thread.id for _, c in stage.discord.typings), what="typing")
    assert await asked(stage.owner, thread, command) == words
    assert (await asked(stage.owner, thread, command)).startswith("E_NO_ACTIVE_SESSION: ")


# --- everybody else, and every language

ANY_VALUE = {"integer": 1, "yes_no": True}
EVERY_COMMAND: dict[str, dict[str, Any]] = {
    spec.words: {a.option_name: ANY_VALUE.get(a.kind, "x") for a in spec.arguments_for("menu") if a.required}
    for spec in COMMANDS.specs_for("menu")
}


@pytest.mark.req("A13", "A18")
@pytest.mark.parametrize("command", EVERY_COMMAND)
async def test_a_stranger_gets_nothing_but_a_code(stage: Stage, command: str) -> None:
    eve = stage.discord.person(f"eve-{command}".replace(" ", "-"))
    text = await asked(eve, stage.text_channel, command, **EVERY_COMMAND[command])
    assert text.startswith("E_OWNER_ONLY: ")
    assert str(eve.id) not in str(stage.daemon.journal())


@pytest.mark.req("A13")
async def test_a_stranger_is_offered_no_choices(stage: Stage) -> None:
    eve = stage.discord.person("eve-choices")
    described = {p: o for c in stage.discord.world.commands[None] for p, o in _options(c, c["name"]).items()}
    completed = [path for path, option in described.items() if option.get("autocomplete")]
    assert len(completed) >= 10
    for path in completed:
        *command, focused = path.split(".")
        assert await eve.autocomplete(stage.text_channel, " ".join(command), focused, "").choices() == [], path


async def test_every_command_is_tried_by_a_stranger(stage: Stage) -> None:
    described = {p: o for c in stage.discord.world.commands[None] for p, o in _options(c, c["name"]).items()}
    subcommands = {p: [o for o in c.get("options") or () if o["type"] == 1] for p, c in described.items()}
    callable_ = {p.replace(".", " ") for p, c in described.items() if c.get("type") == 1 and not subcommands[p]}
    assert callable_ == set(EVERY_COMMAND)


async def test_choices_are_offered_for_what_can_be_known(stage: Stage) -> None:
    thread = await stage.start_thread()
    offered = {
        ("start", "project_name", "ap"): "api",
        ("project status", "project_name", ""): "api",
        ("tool", "tool", "ec"): "echo",
        ("session open", "session_id", str(thread.id)): str(thread.id),
        ("agent start", "project_id", "ap"): 1,
        ("project create", "tools_csv", "e"): "echo",
        ("project create", "tools_csv", "x, ec"): "x,echo",
        ("project create", "default_tool", "ec"): "echo",
    }
    for (command, focused, typed), wanted in offered.items():
        choices = await stage.owner.autocomplete(thread, command, focused, typed).choices()
        assert wanted in [c["value"] for c in choices], command


async def test_a_command_that_is_no_longer_there_is_refused_in_the_persons_language(stage: Stage) -> None:
    commands = stage.discord.world.commands[None]
    gone = next(c for c in commands if c["name"] == "status") | {"name": "gone"}
    commands.append(gone)
    stage.owner.user.locale = "zh-TW"
    try:
        text = await asked(stage.owner, stage.text_channel, "gone")
    finally:
        commands.remove(gone)
        stage.owner.user.locale = "en-US"
    assert text == error_line("zh-TW", "E_INTERNAL")


@pytest.mark.req("A1")
@pytest.mark.parametrize("fault", [Fault.reset(), Fault.reset_after_work()], ids=["reset", "lost"])
async def test_a_command_is_answered_although_its_acknowledgement_was_lost(stage: Stage, fault: Fault) -> None:
    stage.discord.faults.next("POST", "/interactions/*", fault)
    assert "1: /" in await asked(stage.owner, stage.text_channel, "projects")


@pytest.mark.req("A1")
async def test_every_command_is_acknowledged_before_anything_else(stage: Stage) -> None:
    reply = stage.owner.slash(stage.text_channel, "project list")
    assert await reply.acknowledged() == 5


async def test_a_japanese_reader_reads_japanese(stage: Stage) -> None:
    stage.owner.user.locale = "ja"
    try:
        text = await asked(stage.owner, stage.text_channel, "agent start", project_id=4711)
        assert text == error_line("ja", "E_PROJECT_NOT_FOUND", id=4711)
        assert text.startswith("E_PROJECT_NOT_FOUND: プロジェクト #4711 が見つかりません。")
        path = directory(stage, "nihon")
        text = await asked(stage.owner, stage.text_channel, "project add", path=path)
        number = stage.daemon.journal("ProjectCreated")[-1]["payload"]["number"]
        assert text == f"プロジェクト #{number} を登録しました（{path}）"
    finally:
        stage.owner.user.locale = "en-US"
        await asked(stage.owner, stage.text_channel, "projects")


def _options(command: dict[str, Any], path: str) -> dict[str, dict[str, Any]]:
    found = {path: command}
    for option in command.get("options") or ():
        found |= _options(option, f"{path}.{option['name']}")
    return found


async def test_descriptions_are_registered_in_four_languages(stage: Stage) -> None:
    registered = [c for commands in stage.discord.world.commands.values() for c in commands]
    described = {p: o for c in registered for p, o in _options(c, c["name"]).items()}
    groups = {spec.group for spec in COMMANDS.specs_for("menu")}
    lines = {spec.words for spec in COMMANDS.specs if "menu" not in spec.ways} - groups
    not_in_menus = {f"command.{words.replace(' ', '.')}" for words in lines} | {"command.model.model_id"}
    assert {f"command.{path}" for path in described} == {
        key for key in ENGLISH if key.startswith("command.") and key not in not_in_menus
    }
    for path, option in described.items():
        assert option["description"] == ENGLISH[f"command.{path}"]
        assert set(option["description_localizations"]) == {"ja", "zh-TW", "zh-CN"}
        assert option["description_localizations"]["ja"] == CATALOGUES["ja"][f"command.{path}"]
