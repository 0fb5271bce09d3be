"""/hook: what its arguments may be, and what people read of it."""

import pytest

from fairlead.core import requests as ask
from fairlead.core.replies import HookCatalogue, HookMade, HookTested
from fairlead.errors import Code, FairleadError
from fairlead.flow.commands.hooks import hook_handlers
from fairlead.render.replies import reply_text
from tests.flow.harness import OWNER, conversation_ref, run_flow, virtually


@virtually
async def test_a_hook_is_added_with_a_secret_that_no_list_shows():
    async with run_flow() as flow:
        made = await flow.command(ask.HookAdd(name="ci", events=("push",), where=("ref=refs/heads/main",)))
        listed = await flow.command(ask.HookList())
        assert isinstance(made, HookMade)
        assert isinstance(listed, HookCatalogue)
        assert (made.hook, made.hook.told) == (listed.hooks[0], conversation_ref(OWNER))
        assert made.secret in reply_text(made, "en")
        assert reply_text(listed, "en") == "ci  github  push, ref=refs/heads/main  api  chat:42"
        assert flow.choices("hook") == ["ci"]


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (ask.HookAdd(name="No"), Code.E_INVALID_NAME),
        (ask.HookAdd(name="a:b"), Code.E_INVALID_ARGS),
        (ask.HookAdd(name="x", form="gitlab"), Code.E_INVALID_ARGS),
        (ask.HookAdd(name="x", session="there"), Code.E_INVALID_ARGS),
        (ask.HookAdd(name="x", session="here", project="api"), Code.E_INVALID_ARGS),
        (ask.HookAdd(name="x", project="none"), Code.E_PROJECT_NOT_FOUND),
        (ask.HookAdd(name="x", tool="claude"), Code.E_TOOL_NOT_ENABLED),
        (ask.HookAdd(name="x", template="{"), Code.E_INVALID_ARGS),
        (ask.HookRemove("x"), Code.E_HOOK_NOT_FOUND),
        (ask.HookTest("1", "x"), Code.E_HOOK_NOT_FOUND),
    ],
    ids=str,
)
def test_a_mistake_leaves_neither_hook_nor_secret(request_: ask.Request, code: Code):
    @virtually
    async def story() -> None:
        async with run_flow() as flow:
            with pytest.raises(FairleadError) as refused:
                await flow.command(request_)
            assert (refused.value.code, flow.state.hooks) == (code, {})
            assert not flow.disk.exists(flow.journal._path.parent / "hook-secrets")

    story()


@virtually
async def test_a_test_runs_the_hook_whatever_its_conditions_are():
    async with run_flow() as flow:
        await flow.command(ask.HookAdd(name="ci", where=("a=b",), template="{*}"))
        tested = await flow.command(ask.HookTest("7", "ci"))
        assert isinstance(tested, HookTested)
        assert (await flow.ended(tested.job_id)).state == "success"
        assert hook_handlers is not None
