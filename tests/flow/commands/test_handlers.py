"""The commands of every channel: what each answers, what each refuses, and with which code."""

import pytest

from fairlead.core import replies as told
from fairlead.core import requests as ask
from fairlead.core.command_spec import CommandSpec
from fairlead.core.limits import Limits
from fairlead.errors import Code, FairleadError
from fairlead.flow.commands.handlers import BUILT_IN
from fairlead.testing.clock import run_virtually
from tests.flow.commands.harness import a_project, refused
from tests.flow.harness import OWNER, PretendedDirectories, run_flow, virtually

pytestmark = pytest.mark.req("A12")


@virtually
async def test_every_request_has_its_answer():
    async with run_flow() as flow:
        await flow.answered("hello")
        asked: list[ask.Request] = [
            a_project("web"),
            ask.ProjectAdd("/srv/more"),
            ask.ProjectList(),
            ask.ProjectStatus("api"),
            ask.ProjectSwitch("web"),
            ask.Status(),
            ask.Tool("echo"),
            ask.SessionList(),
            ask.SessionOpen("agent:fairlead:user:42"),
            ask.Why("job_20260105_0001"),
            ask.AgentStatus(),
            ask.AgentModel("echo-2"),
            ask.AgentMode("plan"),
            ask.AgentUsage(),
            ask.Reset(),
        ]
        for request in asked:
            assert isinstance(await flow.command(request), told.Reply), request
        refusing = {
            ask.Retry: ask.Retry("job_x"),
            ask.Cancel: ask.Cancel(),
            ask.AgentStop: ask.AgentStop(),
            ask.Start: ask.Start("1"),
        }
        for request in refusing.values():
            await refused(flow.command(request))


@virtually
async def test_a_command_that_nobody_handles_fails_at_the_start_and_not_in_front_of_a_person():
    class Unhandled(ask.Request, frozen=True):
        pass

    spec = CommandSpec(words="unhandled", request=Unhandled, reply=told.ModelSet)
    with pytest.raises(AssertionError, match="no handler for"):
        async with run_flow(commands=BUILT_IN.with_command(spec, lambda _parts: {})):
            pass


@virtually
async def test_a_command_for_the_owner_alone_is_refused_to_everybody_else():
    class Secret(ask.Request, frozen=True):
        pass

    async def tell(_request: Secret, _caller: ask.Caller) -> told.ModelSet:
        return told.ModelSet("told")

    spec = CommandSpec(words="secret", request=Secret, reply=told.ModelSet, who="the owner")
    commands = BUILT_IN.with_command(spec, lambda _parts: {Secret: tell})
    async with run_flow(commands=commands, limits=Limits(allowed_people=("43",))) as flow:
        for person in ("43", "666"):
            asked = flow.gate.command(Secret(), flow.caller(person, pre_authorised=False))
            assert await refused(asked) is Code.E_OWNER_ONLY
        assert await flow.gate.command(Secret(), flow.caller(OWNER, pre_authorised=False)) == told.ModelSet("told")


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (a_project("Web"), Code.E_INVALID_NAME),
        (a_project(""), Code.E_INVALID_NAME),
        (a_project("x" * 41), Code.E_INVALID_NAME),
        (a_project("api"), Code.E_PROJECT_EXISTS),
        (a_project("web", path="/srv/gone"), Code.E_INVALID_PATH),
        (a_project("web", tools=()), Code.E_INVALID_TOOLSET),
        (a_project("web", tools=("vim",), default_tool="vim"), Code.E_INVALID_TOOLSET),
        (a_project("web", default_tool="claude"), Code.E_INVALID_TOOLSET),
        (a_project("web", args={"codex": ("-x",)}), Code.E_INVALID_ARGS),
        (ask.ProjectAdd("/srv/gone"), Code.E_INVALID_PATH),
        (ask.ProjectStatus("nope"), Code.E_PROJECT_NOT_FOUND),
        (ask.ProjectSwitch("nope"), Code.E_PROJECT_NOT_FOUND),
        (ask.SessionList("nope"), Code.E_PROJECT_NOT_FOUND),
        (ask.SessionOpen("nope"), Code.E_SESSION_NOT_FOUND),
        (ask.Status(), Code.E_NOT_IN_MANAGED_THREAD),
        (ask.Tool("echo"), Code.E_NOT_IN_MANAGED_THREAD),
        (ask.Reset(), Code.E_NOT_IN_MANAGED_THREAD),
        (ask.Cancel(), Code.E_NOT_IN_MANAGED_THREAD),
        (ask.Retry("nonsense"), Code.E_JOB_NOT_FOUND),
        (ask.Retry("job_20260105_9999"), Code.E_JOB_NOT_FOUND),
        (ask.Why("nothing of the kind"), Code.E_MESSAGE_NOT_FOUND),
        (ask.AgentStatus(), Code.E_NO_ACTIVE_SESSION),
        (ask.AgentStop(), Code.E_NO_ACTIVE_SESSION),
        (ask.AgentMode("x"), Code.E_NO_ACTIVE_SESSION),
        (ask.AgentModel("x"), Code.E_NO_ACTIVE_SESSION),
        (ask.AgentUsage(), Code.E_NO_ACTIVE_SESSION),
        (ask.Start("1", "api"), Code.E_NOT_IN_TEXT_CHANNEL),
    ],
)
@pytest.mark.req("A18")
def test_what_cannot_be_is_refused_with_its_code_and_changes_nothing(request_: ask.Request, code: Code):
    from fairlead.testing.clock import run_virtually

    async def story() -> None:
        directories = PretendedDirectories()
        directories.gone.add("/srv/gone")
        async with run_flow(directories=directories) as flow:
            before = flow.state.seq
            assert await refused(flow.command(request_)) is code
            assert flow.state.seq == before

    run_virtually(story())


@pytest.mark.req("A13")
@virtually
async def test_strangers_may_ask_nothing_at_all():
    async with run_flow(limits=Limits(allowed_people=("43",))) as flow:
        stranger = flow.caller("666", pre_authorised=False)
        for request in (ask.Status(), ask.ProjectList(), ask.Why("x"), ask.Reset(), ask.AgentStop(kill=True)):
            assert await refused(flow.gate.command(request, stranger)) is Code.E_OWNER_ONLY
        assert await flow.gate.command(ask.ProjectList(), flow.caller("43", pre_authorised=False))
        assert await flow.gate.command(ask.ProjectList(), flow.caller(OWNER, pre_authorised=False))


@virtually
async def test_a_command_that_crashes_says_so_and_ends_nothing():
    class Broken(PretendedDirectories):
        def inspect(self, path):
            if path == "/srv/broken":
                raise RuntimeError("a bug")
            return super().inspect(path)

    async with run_flow(directories=Broken()) as flow:
        assert await refused(flow.command(ask.ProjectAdd("/srv/broken"))) is Code.E_INTERNAL
        assert (await flow.answered("hello")).state == "success"


@pytest.mark.req("A13")
@pytest.mark.parametrize("subject", ["ChoiceMade", "QuestionAnswered", "allow", "my secret", "900900", OWNER])
def test_a_guest_learns_by_no_word_what_the_owner_said_alone_with_the_agent(subject: str):
    async def story() -> None:
        async with run_flow(limits=Limits(allowed_people=("43",))) as flow:
            await flow.say("/question Which? | red || Where? | here")
            question = await flow.question()
            await flow.click(question, chosen={"Which?": "my secret"}, partial=True)
            await flow.click(question, chosen={"Where?": "there"}, partial=True)
            with pytest.raises(FairleadError) as empty:
                await flow.say("", message_id="900900")
            guest = flow.caller("43", pre_authorised=False)
            with pytest.raises(FairleadError) as told:
                await flow.gate.command(ask.Why(subject), guest)
            assert (empty.value.code, told.value.code) == (Code.E_EMPTY_MESSAGE, Code.E_MESSAGE_NOT_FOUND)

    run_virtually(story())
