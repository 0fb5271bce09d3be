"""What goes with a prompt: context files, pictures, the environment, and every flag of Claude's from its setting."""

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.engine import ImageProduced, InputFile, Noticed
from fairlead.errors import Code, FairleadError
from fairlead.runtimes.claude.command_line import ClaudeSettings, SessionChoice, conversation, one_shot
from fairlead.runtimes.claude.content import MOST_INPUT, content_of
from fairlead.runtimes.claude.runtime import ClaudeRuntime, claude_environment
from fairlead.runtimes.environment import child_environment, secret_values
from fairlead.runtimes.images import MAX_BASE64_OUT, MAX_IMAGES, NewImages, media_type_of, split_images
from fairlead.runtimes.prompts import without_outside_mentions
from fairlead.runtimes.tool_policy import ToolPolicy
from fairlead.runtimes.workspace import read_context
from tests.runtimes.harness import ReplayStage
from tests.support.runtime_contract import closing, invocation, key_in, only, run

pytestmark = pytest.mark.anyio

PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC")


# --- claude's command line ------------------------------------------------------------------------------------------


@pytest.mark.req("E2", "A10", "E6")
def test_every_flag_comes_from_its_setting():
    settings = ClaudeSettings(
        model="opus",
        fallback_model="sonnet",
        max_budget_usd=5,
        append_system_prompt="Be brief.",
        dangerously_skip_permissions=True,
        strict_mcp_config=True,
        debug_file="/tmp/debug.log",
    )
    argv = one_shot(
        settings,
        ToolPolicy(("Bash", "Read")),
        SessionChoice("k", is_new=True),
        "-p",
        model="opus",
        add_dirs=("/a", "/b"),
    )
    assert argv == (
        "claude",
        "-p",
        *("--verbose", "--output-format", "stream-json", "--include-partial-messages"),
        *("--model", "opus"),
        "--dangerously-skip-permissions",
        "--strict-mcp-config",
        *("--fallback-model", "sonnet"),
        *("--max-budget-usd", "5"),
        *("--append-system-prompt", "Be brief.", "--system-prompt-snapshot", "off"),
        *("--debug-file", "/tmp/debug.log"),
        *("--add-dir", "/a", "--add-dir", "/b"),
        *("--tools", "Bash,Read"),
        *("--session-id", "k"),
        "--",
        "-p",
    )


@pytest.mark.req("E2")
def test_without_settings_there_are_no_flags_and_a_resumed_talk_never_gets_a_session_id():
    argv = one_shot(ClaudeSettings(output_format="text"), ToolPolicy(()), SessionChoice("k", is_new=False), "hi")
    assert argv == ("claude", "-p", "--output-format", "text", "--tools", "", "-r", "k", "--", "hi")


@pytest.mark.req("E7")
def test_a_conversation_can_ask():
    argv = conversation(ClaudeSettings(), ToolPolicy(("Read",)))
    assert argv[argv.index("--permission-prompt-tool") + 1] == "stdio"
    assert argv[argv.index("--tools") + 1] == "Read,AskUserQuestion,EnterPlanMode,ExitPlanMode"
    assert "--replay-user-messages" in argv


@pytest.mark.req("E6")
def test_a_system_prompt_over_4000_characters_is_refused_at_the_start():
    with pytest.raises(FairleadError) as refusal:
        ClaudeRuntime(ClaudeSettings(append_system_prompt="x" * 4001), {}, lambda _: None)  # type: ignore[arg-type]
    assert refusal.value.code is Code.E_CONFIG
    assert "4001" in refusal.value.message


# --- context files --------------------------------------------------------------------------------------------------


@pytest.mark.req("E6")
def test_context_files_are_read_in_their_order_and_bootstrap_is_warned_of(tmp_path: Path):
    for name in ("USER.md", "SOUL.md", "BOOTSTRAP.md", "OTHER.md"):
        (tmp_path / name).write_text(f"this is {name}")
    context = read_context(tmp_path, system_prompt_is_set=False)
    assert [file.name for file in context.files] == ["SOUL.md", "USER.md", "BOOTSTRAP.md"]
    assert "BOOTSTRAP.md" in context.warnings[0]


@pytest.mark.req("E6")
def test_with_a_system_prompt_they_are_left_out_and_an_unconsumed_bootstrap_is_warned_of(tmp_path: Path):
    (tmp_path / "SOUL.md").write_text("a soul")
    assert read_context(tmp_path, system_prompt_is_set=True).warnings == ()
    (tmp_path / "BOOTSTRAP.md").write_text("begin")
    context = read_context(tmp_path, system_prompt_is_set=True)
    assert context.files == ()
    assert "is not read while CLAUDE_APPEND_SYSTEM_PROMPT is set" in context.warnings[0]


@pytest.mark.req("E6")
async def test_they_go_into_the_first_turn_of_a_talk(tmp_path: Path):
    stage = ReplayStage("gemini", tmp_path)
    turn = invocation(tmp_path, "hello")
    (tmp_path / "workspace" / "SOUL.md").write_text("You are kind.")
    async with closing(stage.runtime("resumes")) as runtime:
        await run(runtime, turn)
        await run(runtime, invocation(tmp_path, "again", resume_key="19202924-0a8a-497b-a936-158ea372b020"))

    first, second = stage.runs()
    assert first["stdin"] == '<context file="SOUL.md">\nYou are kind.\n</context>\n\nhello'
    assert second["stdin"] == "again"


# --- pictures -------------------------------------------------------------------------------------------------------


@pytest.mark.req("E8")
@pytest.mark.parametrize(
    ("name", "declared", "expected"),
    [
        ("a.txt", "IMAGE/PNG", "image/png"),
        ("a.JPG", "", "image/jpeg"),
        ("a.webp", "", "image/webp"),
        ("a.png", "text/html", None),
        ("a.gif", "image/gif; charset=x", "image/gif"),
        ("a.svg", "image/svg+xml", None),
        ("a", "", None),
    ],
)
def test_a_picture_is_known_by_its_type_then_by_its_extension(name: str, declared: str, expected: str | None):
    assert media_type_of(InputFile("/x", name, declared)) == expected


@pytest.mark.req("E8")
def test_at_most_ten_pictures_and_the_rest_is_named():
    files = tuple(InputFile(f"/{n}", f"{n}.png") for n in range(12))
    pictures, others = split_images((*files, InputFile("/t", "t.txt")))
    assert (len(pictures), [file.name for file in others]) == (MAX_IMAGES, ["10.png", "11.png", "t.txt"])


@pytest.mark.req("E8")
def test_claude_gets_pictures_as_blocks_and_is_told_of_those_that_are_too_large(tmp_path: Path):
    small, large = tmp_path / "small.png", tmp_path / "large.png"
    small.write_bytes(PIXEL)
    large.write_bytes(b"\0" * MOST_INPUT)
    files = (InputFile(str(small), "small.png"), InputFile(str(large), "large.png"), InputFile("/n.txt", "n.txt"))
    content = content_of(invocation(tmp_path, "look", files=files), note="", context=())

    assert [block["source"]["data"] for block in content.blocks] == [base64.b64encode(PIXEL).decode()]
    assert content.text.splitlines()[1:3] == ["- n.txt: /n.txt", f"- large.png: {large}"]
    assert content.notes == (
        f"large.png is too large to be sent as a picture ({MOST_INPUT} bytes); it is named instead.",
    )
    assert not content.fits_an_argument


@pytest.mark.req("E8")
async def test_codex_gets_pictures_with_a_flag_that_cannot_eat_the_prompt(tmp_path: Path):
    stage = ReplayStage("codex", tmp_path)
    turn = invocation(tmp_path, "look", files=(InputFile("/a/p.png", "p.png"),))
    async with closing(stage.runtime("answers")) as runtime:
        await run(runtime, turn)
    assert stage.runs()[0]["argv"][-4:] == ["-i", "/a/p.png", "--", "-"]


@pytest.mark.req("E9")
def test_the_same_picture_is_produced_once_and_bad_ones_never():
    images = NewImages()
    block = {"type": "image", "source": {"media_type": "image/png", "data": base64.b64encode(PIXEL).decode()}}
    assert images.take(block) == ImageProduced("image/png", PIXEL)
    assert images.take(block) is None
    assert images.take({"type": "image", "mimeType": "image/gif", "data": "R0lGODlh"}) is not None
    for bad in ({"source": {"media_type": "image/png", "data": "%%"}}, {"source": 7}, None, [], {"data": "AAAA"}):
        assert images.take(bad) is None


@pytest.mark.req("E9")
def test_at_most_ten_pictures_come_out_of_a_turn():
    images = NewImages()
    sources = [{"media_type": "image/png", "data": base64.b64encode(bytes([n])).decode()} for n in range(20)]
    taken = [images.take({"source": source}) for source in sources]
    assert [type(image) for image in taken] == [ImageProduced] * MAX_IMAGES + [Noticed] + [type(None)] * 9


@pytest.mark.req("E9")
def test_a_picture_over_25_mb_is_named_once_with_its_size_and_takes_no_place():
    images = NewImages()
    large = {"source": {"media_type": "image/png", "data": "A" * (MAX_BASE64_OUT + 4)}}
    named = images.take(large)
    assert isinstance(named, Noticed)
    assert str((MAX_BASE64_OUT + 4) * 3 // 4) in named.text
    assert images.take(large) is None
    sources = [{"media_type": "image/png", "data": base64.b64encode(bytes([n])).decode()} for n in range(MAX_IMAGES)]
    assert all(isinstance(images.take({"source": source}), ImageProduced) for source in sources)


# --- the environment ------------------------------------------------------------------------------------------------


@pytest.mark.req("B14", "A19")
@given(
    secrets=st.dictionaries(
        st.sampled_from(
            ["DISCORD_TOKEN", "DISCORD_BOT_TOKEN", "FAIRLEAD_HTTP_TOKEN", "GITHUB_TOKEN", "OPENAI_API_KEY"]
        ),
        st.just("secret"),
    ),
    extra=st.lists(st.sampled_from(["DISCORD_TOKEN", "FAIRLEAD_HTTP_TOKEN"])),
)
def test_no_secret_but_the_runtimes_own_gets_through_even_if_asked_for(secrets: dict[str, str], extra: list[str]):
    source = {**secrets, "PATH": "/bin", "ANTHROPIC_API_KEY": "own", "LC_ALL": "C"}
    assert claude_environment(source, tuple(extra)) == {"PATH": "/bin", "ANTHROPIC_API_KEY": "own", "LC_ALL": "C"}


@pytest.mark.req("A19")
def test_keys_and_tokens_are_kept_out_of_logs_and_paths_and_counts_are_not():
    environment = {
        "ANTHROPIC_API_KEY": "sk-1",
        "CLAUDE_CODE_OAUTH_TOKEN": "oauth-2",
        "AWS_SECRET_ACCESS_KEY": "aws-3",
        "SSH_KEY": "/home/me/.ssh/id",
        "MAX_TOKENS": "4096",
        "KEYBOARD": "de",
    }
    assert secret_values(environment) == ["sk-1", "oauth-2", "aws-3"]


def test_what_the_person_adds_gets_through():
    assert child_environment({"MY_KEY": "1", "OTHER": "2"}, extra=("MY_KEY",)) == {"MY_KEY": "1"}


def test_cloud_credentials_only_for_the_cloud_in_use():
    keys = {"AWS_SECRET_ACCESS_KEY": "a", "CLAUDE_CODE_USE_BEDROCK": "1"}
    assert claude_environment(keys, ()) == keys
    assert claude_environment({"AWS_SECRET_ACCESS_KEY": "a"}, ()) == {}


# --- mentions -------------------------------------------------------------------------------------------------------


@given(words=st.text())
def test_taking_the_joiners_out_again_gives_the_same_words(words: str):
    plain = words.replace("\u2060", "")
    assert without_outside_mentions(plain).replace("\u2060", "") == plain


def test_decorators_and_addresses_are_left_alone():
    words = "use @dataclass, write to bob@example.org, see @src/a.py"
    assert without_outside_mentions(words) == words


async def test_an_unconsumed_bootstrap_is_told_to_the_person_at_the_start_of_a_talk(tmp_path: Path):
    stage = ReplayStage("claude per turn", tmp_path)
    turn = invocation(tmp_path, "hello")
    (tmp_path / "workspace" / "BOOTSTRAP.md").write_text("begin")
    async with closing(stage.runtime("resumes")) as runtime:
        first = await run(runtime, turn)
        second = await run(runtime, invocation(tmp_path, "hello again", resume_key=key_in(first), job_id="job_2"))
    assert any("BOOTSTRAP.md" in note.text for note in only(Noticed, first))
    assert only(Noticed, second) == []
