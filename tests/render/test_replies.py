"""Replies as people read them; the status reports to the letter."""

import msgspec
import pytest

from fairlead.core import replies as r
from fairlead.core.agent_sessions import Exchange
from fairlead.core.agents import ConfiguredAgent
from fairlead.core.commands import COMMANDS
from fairlead.core.conversation import ConversationRef
from fairlead.core.rules import RuleOffer
from fairlead.core.trees import FileChange
from fairlead.core.worktrees import MergeResult
from fairlead.render.replies import duration, render_reply, reply_lines, reply_text
from fairlead.render.words import CATALOGUES, ENGLISH, MISSING

STATUS = r.StatusReport(
    session_id="1359",
    session_key="agent:fairlead:thread:1:1359",
    project="my-app",
    tool="gemini",
    resume_key="gmn_session_abc",
    state="running",
    pending=2,
    running_job_id="job_20260226_0002",
    last_job=r.LastJob("job_20260226_0001", "success", 18.4, "2026-02-26T14:20:05.000Z"),
    resume_ready=True,
    retry_job_id=None,
    running_since="2026-02-26T14:21:00.000Z",
)

HOOK = r.HookRow(
    name="ci",
    path="/v1/hooks/ci",
    form="github",
    session_key="agent:fairlead:channel:hook:ci",
    told=ConversationRef("discord", "1", "1359"),
    project="api",
    events=("push",),
)

STORED = r.StoredSessionRow(key="k1", tool="claude", first_words="hello", exchanges=2)

SCHEDULE = r.ScheduleRow(
    number=3,
    status="proposed",
    cron="0 9 * * 1-5",
    zone="Europe/Berlin",
    next=("2026-11-18T08:00:00.000Z",),
    next_local=("Wed 2026-11-18 09:00 +01:00",),
    text="look at the build",
    person="42",
    session="here",
    missed="run",
    overlap="skip",
    ring="usual",
    check=("git", "diff", "a b"),
)
RULE = r.RuleRow(
    number=3,
    project="api",
    rule=RuleOffer("Bash", "exact", "make test"),
    person="42",
    made_at="2026-02-26T14:20:05.000Z",
    uses=12,
    used_at="2026-02-27T14:20:05.000Z",
)


@pytest.mark.req("A12")
def test_status_reads_as_specified():
    assert reply_text(STATUS, "en", lambda ts: ts[11:16]) == (
        "Working on #2, started 14:21; 2 more waiting.\n"
        "Session Status\n"
        "project: my-app\n"
        "tool: gemini\n"
        "session_key: gmn_session_abc\n"
        "state: running\n"
        "queue: pending=2, running=job_20260226_0002\n"
        "last_job: success, 18s, 14:20, #1\n"
        "resume_ready: yes\n"
        "retry_hint: n/a"
    )


@pytest.mark.req("A12")
def test_status_of_a_failed_session_hints_at_retry_and_says_who_decides():
    report = r.StatusReport(
        session_id="s",
        session_key="s",
        project="p",
        tool="codex",
        resume_key=None,
        state="failed",
        pending=0,
        running_job_id=None,
        last_job=None,
        resume_ready=False,
        retry_job_id="job_1",
        can_ask=False,
    )
    lines = reply_lines(report, "en")
    assert lines[0] == "Idle. Nothing has run here yet."
    assert lines[4:10] == [
        "session_key: n/a",
        "state: failed",
        "queue: pending=0, running=none",
        "last_job: n/a",
        "resume_ready: no",
        "retry_hint: /retry 1",
    ]
    assert lines[10:] == ["permissions: codex cannot ask; the project's permission tier decides"]


@pytest.mark.req("B1")
def test_agent_status_says_what_the_agent_cannot_do_and_who_can():
    report = r.AgentReport(
        session_id="s",
        project="p",
        project_number=1,
        tool="codex",
        model="m",
        state="Active",
        seconds_since_activity=3.0,
        cannot=(r.Inability("ask", ("codex-acp", "claude")), r.Inability("steer", ("claude",)), r.Inability("fork")),
    )
    assert (
        "cannot: ask for permission: the project's permission tier decides (codex-acp, claude can ask); "
        "accept messages while it works (claude can); fork a session"
    ) in reply_lines(report, "en")


@pytest.mark.req("A12")
def test_project_status_reads_as_specified():
    report = r.ProjectReport(
        name="my-app", session_total=4, running_sessions=1, queued_jobs=3, failed_jobs_24h=0, last_error=None
    )
    assert reply_text(report, "en") == (
        "Project Status: my-app\n"
        "session_total: 4\n"
        "running_sessions: 1\n"
        "queued_jobs: 3\n"
        "failed_jobs_24h: 0\n"
        "last_error: n/a"
    )


@pytest.mark.req("A12")
def test_a_project_list_shows_names_numbers_tools_and_paths():
    catalogue = r.ProjectCatalogue(
        (
            r.ProjectInfo(
                number=1,
                name="api",
                path="/srv/api",
                enabled_tools=("claude", "echo"),
                default_tool="claude",
                active=True,
            ),
            r.ProjectInfo(
                number=2,
                name="old",
                path="/srv/old",
                enabled_tools=("echo",),
                default_tool="echo",
                disabled="/srv/old is gone",
            ),
        )
    )
    assert reply_lines(catalogue, "en") == [
        "* #1 api  claude (claude, echo)  /srv/api",
        "  #2 old  echo (echo)  /srv/old  disabled: /srv/old is gone",
    ]


@pytest.mark.req("A12")
def test_rules_are_listed_with_what_they_cover_and_how_often_they_were_used():
    unused = r.RuleRow(
        number=4, project="web", rule=RuleOffer("Edit", "directory", "src"), person="42", made_at="2026-02-26T14:20:05Z"
    )
    assert reply_lines(r.RuleCatalogue((RULE, unused)), "en") == [
        "Allowed without asking (/rules remove NUMBER removes one):",
        "3. make test (project: api, used: 12, last: 2026-02-27)",
        "4. Edit src/… (project: web, used: 0)",
    ]


def test_a_session_list_shows_at_most_twenty():
    row = r.SessionRow(
        session_id="1359",
        session_key="agent:f:thread:1:1359",
        project="api",
        state="idle",
        last_activity_at="2026-02-26T14:20:05.000Z",
        conversation=_conversation(),
    )
    lines = reply_lines(r.SessionCatalogue((row,) * 30), "en")
    assert len(lines) == 20
    assert lines[0] == "1359  api  idle  2026-02-26T14:20:05.000Z  discord:1359"


def _conversation() -> ConversationRef:
    return ConversationRef("discord", "1", "1359")


@pytest.mark.parametrize(("seconds", "words"), [(0.2, "0s"), (59.9, "59s"), (125, "2m05s"), (3720, "1h02m")])
def test_durations_are_short(seconds: float, words: str):
    assert duration(seconds) == words


JOBS = r.JobCatalogue(
    (
        r.JobRow(
            job_id="job_20260226_0014",
            number=14,
            state="running",
            prompt="fix the tests",
            seconds=125.0,
            enqueued_at="2026-02-26T14:20:05.000Z",
        ),
        r.JobRow(
            job_id="job_20260226_0002", number=2, state="success", prompt="hi", enqueued_at="2026-02-26T14:19:05.000Z"
        ),
    )
)


@pytest.mark.req("A12")
def test_jobs_are_listed_by_number_state_time_and_words():
    assert reply_lines(JOBS, "en", lambda ts: ts[11:16]) == [
        "#14   Running   2m05s  14:20  fix the tests",
        "#2    Done          -  14:19  hi",
    ]
    assert reply_lines(r.JobCatalogue(()), "en") == ["There are no jobs yet. Your first message starts one."]


def test_a_choice_that_was_not_made_shows_what_is_chosen_and_what_else_there_is():
    assert reply_text(r.ToolSet("claude", choices=("claude", "codex")), "en") == (
        "Agent: claude. Others: codex. /tool NAME switches"
    )
    assert reply_text(r.ToolSet("echo", choices=("echo",)), "en") == "Agent: echo"
    assert reply_text(r.ModelSet("opus", ("haiku", "opus")), "en") == "Model: opus. Others: haiku"
    assert reply_text(r.ModeSet("", ("default", "plan")), "en") == "Mode: n/a. Others: default, plan"


WORKTREE = r.WorktreeRow(
    number=1, session_id="s", project="api", branch="fairlead/x", path="/wt/api/1-x", status="ready", target="main"
)

REPLIES: list[r.Reply] = [
    STATUS,
    JOBS,
    r.ProjectReport(
        name="my-app", session_total=4, running_sessions=1, queued_jobs=3, failed_jobs_24h=0, last_error=None
    ),
    r.ProjectInfo(
        number=1,
        name="api",
        path="/srv/api",
        enabled_tools=("claude", "echo"),
        default_tool="claude",
        created=True,
    ),
    r.ProjectInfo(
        number=2,
        name="old",
        path="/srv/old",
        enabled_tools=("echo",),
        default_tool="echo",
        disabled="/srv/old is gone",
    ),
    r.ProjectCatalogue(()),
    r.SessionCatalogue(()),
    r.SessionFound(
        r.SessionRow(
            session_id="1359",
            session_key="k",
            project="api",
            state="idle",
            last_activity_at="2026-02-26T14:20:05.000Z",
            conversation=_conversation(),
        )
    ),
    r.ToolSet("claude"),
    r.ToolSet("claude", from_next_job=True),
    r.ProjectSelected("api", 1, "/srv/api", "claude"),
    r.RenamedProject("api", "shop"),
    r.RemovedProject("api", "/srv/api", "PROJECTS"),
    r.RuleCatalogue((RULE,)),
    r.HookMade(HOOK, "s" * 64),
    r.HookCatalogue((HOOK,)),
    r.HookWasRemoved("ci"),
    r.HookTested("ci", "job_20260226_0001"),
    r.BudgetReport(
        "2026-02-26",
        "2026-02-27T00:00:00.000Z",
        (r.BudgetRow(project="api", spent_usd=2.0, spent_tokens=1500, usd=2.0, tokens=9000, held=True),),
    ),
    r.RuleWasRemoved(RULE),
    r.ScheduleCatalogue((SCHEDULE,)),
    r.ScheduleShown("proposed", SCHEDULE),
    r.ScheduleRan(3, "job_1"),
    r.JobQueued("job_2", 2, "job_1"),
    r.Spawned(returns="person", session_key="k", session_id="spawn-2", project="api", tool="claude", job_id="job_2"),
    r.SessionWasReset(session_key="k", cancelled=("job_1",)),
    r.JobsCancelled(("job_1",), ("job_2",)),
    r.Story("job_1", (r.Step(1, "2026-02-26T14:20:05.000Z", "JobEnqueued", "queued"),)),
    r.AgentReport(
        session_id="s",
        project="api",
        project_number=1,
        tool="claude",
        model="",
        state="Active",
        seconds_since_activity=3.0,
    ),
    r.AgentReport(
        session_id="s",
        project="api",
        project_number=1,
        tool="codex",
        model="m",
        state="Active",
        seconds_since_activity=3.0,
        options={"Effort": "high"},
        commands=("compact", "review"),
        can_ask=False,
        cannot=(r.Inability("ask", ("claude", "codex-acp")), r.Inability("steer", ("claude",)), r.Inability("fork")),
    ),
    r.CommandSent("job_1", "compact"),
    r.AgentStopped("s", killed=True),
    r.AgentStopped("s", killed=False),
    r.ModelSet("m"),
    r.ModeSet("plan"),
    r.UsageReport(session_id="s", input_tokens=1, output_tokens=2, cost_usd=0.5, context_used=10, context_size=100),
    r.SessionStarted("k", "s", "api", "claude"),
    r.AgentsChecked("2026-03-01T08:00:00.000Z", (r.AgentCheckRow(name="echo", ok=True, notes=("built in",)),)),
    r.AgentCatalogue(()),
    r.AgentCatalogue((ConfiguredAgent(name="goose", command=("goose", "acp")),)),
    r.AgentAdded("goose", ()),
    r.AgentAdded("goose", ("api", "web"), ("job_1",)),
    r.TurnSteered(job_id="job_20260105_0002", state="steered", into="job_20260105_0001"),
    r.TurnSteered(job_id="job_20260105_0002", state="steering", into="job_20260105_0001"),
    r.TurnSteered(job_id="job_20260105_0002", state="queued", reason="unsupported"),
    r.TurnSteered(job_id="job_20260105_0002", state="running", reason="no_turn"),
    r.SessionForkMade(session_key="k", session_id="7", forked_from="k0", project="api", tool="claude", branch="b"),
    r.SessionForkMade(session_key="k", session_id="7", forked_from="k0", project="api", tool="claude", is_here=True),
    r.SessionSwitched("k", "7"),
    r.MachineCatalogue(),
    r.MachineCatalogue((r.MachineRow(name="gpu", is_there=True, agents=("claude",)), r.MachineRow(name="laptop"))),
    r.MachineMayJoin("gpu", "fl1.abc"),
    r.MachineMayJoin("gpu", "fl1.abc", "/state/machines/accounts.conf"),
    r.MachineWasRemoved("gpu"),
    r.RenamedMachine("gpu", "big", ("big/trainer",)),
    r.AgentWasRemoved("goose"),
    r.AgentWasRemoved("goose", ("session 1359",), ("job_1",)),
    r.StoredSessionCatalogue("/srv/api", ()),
    r.StoredSessionCatalogue("/srv/api", (STORED,)),
    r.SessionAdoption(adopted=STORED, latest=(Exchange("hello", "hi"),)),
    r.SessionHandOff(session_id="s", tool="claude", resume_key="k", handed_off=True, command="cd / && claude"),
    r.SessionHandOff(session_id="s", tool="claude", resume_key="k", handed_off=False),
    r.WorktreeShown(done="made", worktree=WORKTREE),
    r.WorktreeCatalogue((WORKTREE,)),
    r.WorktreeCatalogue(()),
    r.WorktreeWasMerged(WORKTREE, MergeResult(target="main", before="b" * 40, after="c" * 40, commits_total=1)),
    r.WorktreeWasDiscarded(WORKTREE, "refs/fairlead/discarded/abcd/1", 7),
    r.ProjectWorktreesChosen("api", worktree=True),
    r.ProjectWorktreesChosen("api", worktree=False),
    r.ChangesShown(
        job_ids=("job_20261118_0001",),
        project="api",
        since="2026-11-18T03:00:00.000Z",
        files=(FileChange(path="a.py", kind="modified", added=1),),
        added=1,
        is_running=True,
        is_late=True,
        is_cut=True,
    ),
    r.TurnsUndone(
        undo_id="undo_1",
        job_ids=("job_20261118_0001",),
        what="both",
        files=(FileChange(path="a.py", kind="modified", added=1),),
        total=3,
        left=("b.py",),
    ),
    r.TurnsUndone(undo_id="undo_1", job_ids=("job_20261118_0001",), what="talk"),
    r.TurnsUndone(undo_id="undo_1", job_ids=("job_20261118_0001",), what="files", total=1, is_redo=True),
]


def test_every_kind_of_reply_is_among_the_examples():
    assert {type(reply) for reply in REPLIES} == {spec.reply for spec in COMMANDS.specs}


@pytest.mark.parametrize("lang", CATALOGUES)
@pytest.mark.parametrize("reply", REPLIES, ids=lambda reply: type(reply).__name__)
def test_every_reply_has_words_in_every_language(reply: r.Reply, lang: str):
    lines = reply_lines(reply, lang)
    assert lines
    assert all(line.strip() and "None" not in line and MISSING not in line for line in lines)


@pytest.mark.parametrize("reply", REPLIES, ids=lambda reply: type(reply).__name__)
def test_sentences_are_translated_and_the_names_of_fields_are_not(reply: r.Reply):
    english, japanese = render_reply(reply, "en"), render_reply(reply, "ja")
    assert len(english.sentences) == len(japanese.sentences)
    assert not set(english.sentences) & set(japanese.sentences)
    assert [row.partition(":")[0] for row in english.rows] == [row.partition(":")[0] for row in japanese.rows]


def test_a_projects_last_error_names_its_job_shortly():
    report = r.ProjectReport(
        name="my-app",
        session_total=1,
        running_sessions=0,
        queued_jobs=0,
        failed_jobs_24h=1,
        last_error="E_AGENT_ERROR (job_20260226_0014)",
    )
    assert reply_lines(report, "en")[-1] == "last_error: E_AGENT_ERROR (#14)"


STORY = r.Story(
    "job_20260226_0014",
    (
        r.Step(1, "14:20", "JobEnqueued", "accepted", key="JobEnqueued", fields={"job": "#14", "prompt": "fix it"}),
        r.Step(2, "14:21", "DeliveryDeferred", "waits", key="DeliveryDeferred", fields={"due": "15:00"}),
        r.Step(3, "14:22", "SomethingNew", "in a newer version's words", key="SomethingNew"),
        r.Step(4, "14:23", "JobHandedOver", "in an older version's words"),
    ),
)


def test_a_story_names_the_job_shortly_and_its_steps_follow_the_language():
    assert reply_lines(STORY, "en", lambda ts: f"<{ts}>") == [
        "What happened to #14",
        "<14:20>  accepted as #14: fix it",
        "<14:21>  delivery waits until <15:00>",
        "<14:22>  in a newer version's words",
        "<14:23>  in an older version's words",
    ]
    assert reply_lines(STORY, "ja")[:3] == [
        "#14 の経過",
        "14:20  #14 として受け付けました: fix it",
        "14:21  15:00 まで配信を待ちます",
    ]


def test_what_a_running_job_goes_on_with_is_said_in_every_language():
    now, later = r.ToolSet("echo"), r.ToolSet("echo", from_next_job=True)
    assert all(len(reply_text(later, lang)) > len(reply_text(now, lang)) for lang in CATALOGUES)


def test_a_channel_decides_how_a_path_stands_in_a_sentence():
    selected = r.ProjectSelected("api", 1, "/srv/__api__", "claude")
    assert render_reply(selected, "en", lambda text: f"`{text}`").sentences == (
        "Now working in project #1 api (`/srv/__api__`) with claude",
    )


class Greeted(msgspec.Struct, frozen=True):
    name: str
    key: str


def test_a_reply_that_no_renderer_knows_is_the_sentence_that_its_type_names(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(ENGLISH.load_group("reply"), "Greeted", "Hello, {name} ({key})")
    assert reply_lines(Greeted("Ada", "k"), "en") == ["Hello, Ada (k)"]  # type: ignore[arg-type]


def test_a_schedule_shows_how_its_time_was_read_with_its_next_times():
    lines = reply_lines(r.ScheduleShown("proposed", SCHEDULE), "en")
    assert "0 9 * * 1-5, in Europe/Berlin" in lines[0]
    assert "/schedule confirm" in lines[0]
    assert lines[1] == "next: Wed 2026-11-18 09:00 +01:00"
    assert "check: git diff 'a b'" in lines


def test_the_list_of_schedules_has_a_line_for_each():
    assert reply_lines(r.ScheduleCatalogue((SCHEDULE,)), "en") == [
        "3. 0 9 * * 1-5 Europe/Berlin · proposed · next: Wed 2026-11-18 09:00 +01:00 · look at the build"
    ]
