"""The toy channel: letters in numbered boxes. All it knows of Fairlead is its ports, its core and its words."""

from collections import defaultdict
from itertools import count

from fairlead.core.conversation import ConversationRef
from fairlead.core.inbound import Inbound
from fairlead.core.keys import user_key
from fairlead.core.questions import RespondToQuestion
from fairlead.core.requests import Caller, Status
from fairlead.errors import FairleadError
from fairlead.ports import ChannelAway, ChannelCapabilities, Gate, OutgoingMessage
from fairlead.render.errors import error_sentence
from fairlead.render.replies import reply_text


class PostOffice:
    name = "post"
    capabilities = ChannelCapabilities(text_limit=250, push=True)

    def __init__(self) -> None:
        self.boxes: defaultdict[str, list[str]] = defaultdict(list)
        self.questions: dict[str, str] = {}
        self.is_open = True
        self._stamps = count(1)
        self._delivered: dict[str, str] = {}

    async def send(self, outgoing: OutgoingMessage) -> str:
        if not self.is_open:
            raise ChannelAway(self.name)
        box = outgoing.destination.conversation_id
        self.boxes[box].append(outgoing.text)
        if outgoing.question is not None:
            self.questions[box] = outgoing.question.question_id
        return self._delivered.setdefault(outgoing.nonce, f"letter-{next(self._stamps)}")

    async def find(self, outgoing: OutgoingMessage) -> str | None:
        return self._delivered.get(outgoing.nonce)

    async def receive(self, gate: Gate, *, box: str, sender: str, letter: str) -> str:
        """What the clerk says to whoever brings a letter."""
        here = ConversationRef(self.name, "town", box)
        key = user_key(agent_id="fairlead", user_id=sender)
        try:
            if letter == "STATUS":
                caller = Caller(person=sender, conversation=here, session_key=key, pre_authorised=True)
                reply = await gate.command(Status(), caller)
                return reply_text(reply, "en")
            if letter in {"YES", "NO"} and box in self.questions:
                verdict = "allow" if letter == "YES" else "deny"
                return await gate.respond(
                    RespondToQuestion(
                        question_id=self.questions.pop(box), person=sender, verdict=verdict, pre_authorised=True
                    )
                )
            receipt = await gate.submit(
                Inbound(
                    conversation=here,
                    session_key=key,
                    message_id=f"in-{next(self._stamps)}",
                    person=sender,
                    text=letter,
                    pre_authorised=True,
                )
            )
        except FairleadError as refusal:
            return error_sentence(refusal)
        return f"queued as {receipt.job_id}"
