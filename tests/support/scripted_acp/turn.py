"""One turn on a thread of its own: follows the orders of the prompt, then answers the request."""

import os
import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from .orders import obeys_cancel, read_orders
from .sessions import UPDATED_AT, Session
from .settings import text_block
from .spending import spend, spend_cancelled
from .tools import end_cancelled
from .wire import Payload, Refused, Reply, fault_of_the_script, refusal_in

if TYPE_CHECKING:
    from .agent import ScriptedAgent

REPLAYED = {"agent_thought_chunk", "tool_call", "tool_call_update", "plan"}
STOP_REASONS = {"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"}


class Cancelled(Exception):  # noqa: N818 - how a turn learns that it is over, not a mistake
    pass


class EndedAtOnce(Exception):  # noqa: N818 - likewise
    pass


class Turn:
    """Other threads speak to the turn through its inbox: cancel, steer, responses, what it waits for."""

    def __init__(self, agent: "ScriptedAgent", session: Session, prompt: list[Payload], reply: Reply) -> None:
        self.agent = agent
        self.session = session
        self.wire = agent.wire
        self.switches = agent.switches
        self.prompt = prompt
        self.text = "\n".join(block["text"] for block in prompt if block["type"] == "text")
        self.said: list[str] = []
        self._sent: list[Payload] = []
        self.stop_reason = "end_turn"
        self.usage: tuple[int, int, int] | None = None
        self.requests = 1
        self.open_tools: list[Payload] = []
        self.obeys_cancel = obeys_cancel(self.text)
        self.was_cancelled = False
        self.fails_with: Refused | None = None
        self.was_steered = False
        self.skips_the_rest = False
        self.is_quiet = False
        self.is_over = False
        self.after_the_response: list[Callable[[], None]] = []
        self.reply = reply
        self._inbox: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()

    def start(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()

    def cancel(self) -> None:
        self._inbox.put(("cancel", None))

    def fail(self, refused: Refused) -> None:
        """Ends like a cancelled turn, but with an error."""
        self.fails_with = refused
        self.cancel()

    def steer(self, prompt: list[Payload]) -> None:
        self._inbox.put(("steer", "\n".join(block.get("text", "") for block in prompt)))

    def put(self, kind: str, value: Any = None) -> None:
        self._inbox.put((kind, value))

    def update(self, kind: str, /, **fields: Any) -> None:
        update = {"sessionUpdate": kind, **fields}
        self.wire.update(self.session.session_id, update)
        if kind in REPLAYED:
            self._sent.append(update)

    def say(self, text: str) -> None:
        """Three chunks, as a model's words come in pieces."""
        self.said.append(text)
        ids: Payload = {"messageId": f"msg_{os.urandom(10).hex()}"} if self.switches.message_ids else {}
        for piece in pieces_of(text):
            self.update("agent_message_chunk", content=text_block(piece), **ids)
        self._sent.append({"sessionUpdate": "agent_message_chunk", "content": text_block(text)})  # replayed whole

    def ask(self, method: str, params: Payload) -> Payload:
        """`{"result": …}` or `{"error": …}`. Whether a cancelled turn waits for the response, a switch says."""
        token = object()
        request_id = self.wire.request(method, params, lambda response: self.put("response", (token, response)))
        try:
            return self._response_to(token)
        except Cancelled:
            match self.switches.cancel_while_asking:
                case "cancel request":
                    self.wire.notify("$/cancel_request", {"requestId": request_id})
                case "after the answer":
                    self._response_to(token)
                case _:
                    pass
            raise

    def _response_to(self, token: object) -> Payload:
        while True:
            kind, value = self.wait()
            if kind == "response" and value[0] is token:
                return value[1]

    def wait(self) -> tuple[str, Any]:
        """The next thing that somebody put into the inbox for this turn."""
        kind, value = self._inbox.get()
        if kind == "cancel":
            self._obey_cancel()
        elif kind == "steer":
            self.was_steered = True
            self.perform(value, steered=True)
        return kind, value

    def look_up(self) -> None:
        """Between two orders: cancel and steering that have come meanwhile."""
        while not self._inbox.empty():
            self.wait()

    def perform(self, text: str, *, steered: bool = False) -> None:
        for step in read_orders(text, steered=steered):
            if self.skips_the_rest:
                return
            self.look_up()
            step(self)

    def wait_for_cancel(self) -> None:
        while not self.was_cancelled:
            self.wait()

    def give_up(self) -> NoReturn:
        raise Cancelled

    def end_at_once(self) -> NoReturn:
        """The turn ends well, without another word."""
        raise EndedAtOnce

    def _obey_cancel(self) -> None:
        self.was_cancelled = True
        if self.obeys_cancel:
            raise Cancelled

    def _run(self) -> None:
        try:
            outcome: Payload | Refused = self._follow_the_prompt()
        except Cancelled:
            outcome = self._cancelled()
        except Refused as refused:
            outcome = refused
        except Exception:  # a fault of the script must be seen by the test that used it
            outcome = fault_of_the_script()
        self.is_over = True
        self._remember()
        if self.switches.second_prompt == "together" and self.agent.is_waited_for(self):
            self.session.held_responses.append(lambda: self._respond(outcome, None))
            self._finish()
            return
        while self.session.held_responses:
            self.session.held_responses.pop(0)()
        self._respond(outcome, self._finish)

    def _cancelled(self) -> Payload | Refused:
        end_cancelled(self)
        if self.fails_with is not None:
            return self.fails_with
        told = str(self.switches.cancelled)
        return refusal_in(told) if told.startswith("error") else {"stopReason": told, **spend_cancelled(self)}

    def _follow_the_prompt(self) -> Payload:
        if self.switches.has("commands_when", "turn"):
            self.agent.announce_commands(self.session.session_id, self.switches.items_of("commands"))
        try:
            self.perform(self.text)
            while not self._closes():
                self.look_up()
            if not self.said and not self.is_quiet:
                self.say("Done.")
        except EndedAtOnce:
            pass
        return {"stopReason": self.stop_reason, **spend(self)}

    def _closes(self) -> bool:
        """Nothing has come while the last order was followed; from here on it is too late to steer."""
        with self.agent.lock:
            self.is_over = self._inbox.empty()
        return self.is_over

    def _remember(self) -> None:
        asked = {"sessionUpdate": "user_message_chunk", "content": text_block(self.text)}
        self.session.history += [asked, *self._sent]
        self.session.title = self.session.title or self.text.strip().split("\n")[0][:60]
        if self.switches.title == "before":
            self.update("session_info_update", _meta={"codex": {"threadStatus": {"type": "idle"}}})
            self.update("session_info_update", title=self.session.title)
        self.agent.store.save(self.session)

    def _respond(self, outcome: Payload | Refused, then: Callable[[], None] | None) -> None:
        if isinstance(outcome, Refused):
            self.reply.error(outcome, then)
            return
        if outcome["stopReason"] in STOP_REASONS:
            self.wire.check_result("session/prompt", outcome)
        self.reply.result(outcome, then)

    def _finish(self) -> None:
        if self.switches.title == "after":
            self.update("session_info_update", title=self.session.title, updatedAt=UPDATED_AT)
        for action in self.after_the_response:
            action()
        self.agent.end_turn(self.session, self)


def pieces_of(text: str) -> list[str]:
    size = max(1, -(-len(text) // 3))
    return [text[start : start + size] for start in range(0, len(text), size)]
