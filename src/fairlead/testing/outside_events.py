"""Those of the simulator who send events to a hook, forged and repeated ones among them, and an owner with a budget."""

import asyncio
from random import Random
from typing import Final, cast

import msgspec

from fairlead.core.hook_deliveries import Delivery, signature_of
from fairlead.core.ids import QuestionId
from fairlead.core.questions import RespondToQuestion
from fairlead.core.replies import HookMade
from fairlead.core.requests import BudgetChange, BudgetClear, Caller, HookAdd, HookRemove, Request
from fairlead.errors import Code, FairleadError
from fairlead.testing.people import Talker, everybody
from fairlead.testing.world import JOURNAL, OWNER, Actor, Life, World

HOOK: Final = "ci"
_SPENDING: Final = "/usage 10 5 0.01"


def _owner(world: World) -> Caller:
    owner = world.participants[0]
    return Caller(person=OWNER, conversation=owner.conversation, session_key=owner.session_key, pre_authorised=True)


class HookSender:
    """Sends each event until it is taken, often twice, now and then at once; and later again, under another id."""

    has_plans = True

    def __init__(self, world: World, *, events: int) -> None:
        self._random = Random(f"{world.seed}/hooks")
        self._left = list(range(events))
        self._secret = ""

    async def act(self, world: World, life: Life) -> None:
        while not self._secret:
            await asyncio.sleep(self._random.expovariate(1 / 5))
            self._secret = await self._add_hook(world, life)
        while self._left:
            await asyncio.sleep(self._random.expovariate(1 / 20))
            number = self._left[0]
            copies = self._random.choice((1, 1, 2, 3))
            taken = await asyncio.gather(*(self._send(world, life, number) for _ in range(copies)))
            if all(taken):
                self._left.pop(0)
            else:
                await asyncio.sleep(self._random.uniform(60, 1800))
            await self._forge(world, life, number)
            if number and self._random.random() < 0.5:
                await self._send(world, life, self._random.randrange(number))

    async def _add_hook(self, world: World, life: Life) -> str:
        """A hook whose secret nobody saw, because the power went before the reply, is of no use: another is made."""
        if HOOK in life.state.hooks:
            await self._ask(world, life, HookRemove(HOOK))
        made = await self._ask(world, life, HookAdd(name=HOOK, template="{number}\n" + _SPENDING, project="api"))
        return made.secret if isinstance(made, HookMade) else ""

    async def _ask(self, world: World, life: Life, request: Request) -> object:
        try:
            return await life.gate.command(request, _owner(world))
        except FairleadError as refusal:
            world.tell(f"the owner asked for {request}: {refusal.code}")
            return None

    def _delivery(self, number: int, secret: str) -> Delivery:
        name = f"d-{self._random.randrange(10**9)}"
        bare = Delivery(hook=HOOK, body=msgspec.json.encode({"number": number}), event="push", number=name)
        return msgspec.structs.replace(bare, signature=signature_of("github", secret, bare))

    async def _send(self, world: World, life: Life, number: int) -> bool:
        try:
            receipt = await life.gate.take_event(self._delivery(number, self._secret))
        except FairleadError as refusal:
            world.tell(f"event {number} was refused: {refusal.code}")
            if refusal.code is Code.E_UNAUTHORIZED:
                world.accuse(f"event {number} has the right signature, and was refused")
            return False
        world.tell(f"event {number} is {receipt.job_id}")
        world.happened["events"] += 1
        world.happened["repeated events"] += receipt.duplicate
        if f'"{receipt.job_id}"'.encode() not in world.disk.durable_bytes(JOURNAL):
            world.accuse(f"event {number} was acknowledged as {receipt.job_id} before it was durable")
        known = world.events_taken.setdefault(number, receipt.job_id)
        if known != receipt.job_id:
            world.accuse(f"event {number} is {known} and {receipt.job_id}: two jobs")
        return True

    async def _forge(self, world: World, life: Life, number: int) -> None:
        secret = self._random.choice(("0" * 64, self._secret[::-1], ""))
        forged = self._delivery(number + 1000, secret)
        try:
            await life.gate.take_event(forged)
        except FairleadError:
            world.happened["forged events"] += 1
        else:
            world.accuse(f"the forged event {number} was taken")


class Budgeter:
    """The owner gives the project a small budget, answers what is asked about it, and takes it back in the end."""

    has_plans = True

    def __init__(self, world: World, *, changes: int) -> None:
        self._random = Random(f"{world.seed}/budgets")
        self._left = changes

    async def act(self, world: World, life: Life) -> None:
        while self._left > 0:
            await asyncio.sleep(self._random.expovariate(1 / 60))
            if await self._set(world, life, self._choose()):
                self._left -= 1
            for _ in range(6):
                await asyncio.sleep(self._random.choice((20, 60, 7200)))
                await self._answer(world, life)
        while life.state.budgets:
            await self._set(world, life, BudgetClear("api"))
            await asyncio.sleep(10)

    def _choose(self) -> Request:
        if self._random.random() < 0.5:
            return BudgetChange(project="api", usd=self._random.choice(("0.01", "0.02", "0.05")))
        return BudgetChange(project="api", tokens=self._random.choice((15, 40)))

    async def _set(self, world: World, life: Life, request: Request) -> bool:
        try:
            await life.gate.command(request, _owner(world))
        except FairleadError as refusal:
            world.tell(f"the budget was not changed: {refusal.code}")
            return False
        world.tell(f"the owner asked for {request}")
        return True

    async def _answer(self, world: World, life: Life) -> None:
        for question in life.view.open_questions():
            if question.budget_day and self._random.random() < 0.7:
                world.happened["questions about a budget"] += 1
                await self._respond(world, life, question.question_id, question.items[0].text)

    async def _respond(self, world: World, life: Life, question_id: str, text: str) -> None:
        choice = self._random.choice(("go_on", "go_on", "wait", "cancel"))
        response = RespondToQuestion(
            question_id=QuestionId(question_id), person=OWNER, verdict="allow", chosen={text: choice}
        )
        try:
            await life.gate.respond(response)
        except FairleadError as refusal:
            world.tell(f"the answer about {question_id} was refused: {refusal.code}")
        else:
            world.tell(f"the owner says {choice} to {question_id}")


class Spender(Talker):
    """A person whose every message costs something."""

    def _message(self, number: int) -> tuple[float, str]:
        wait, text = super()._message(number)
        return wait, f"{text}\n{_SPENDING}"


def everybody_with_hooks_and_budgets(world: World) -> list[Actor]:
    """The usual company, events from outside, and a budget that is often spent."""
    rng = Random(f"{world.seed}/outside")
    spenders = [Spender(world, p, messages=rng.randint(1, 3)) for p in world.participants[:3]]
    sender, budgeter = HookSender(world, events=rng.randint(1, 6)), Budgeter(world, changes=rng.randint(1, 3))
    return [*everybody(world), *cast("list[Actor]", spenders), sender, budgeter]
