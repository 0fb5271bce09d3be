"""What a turn has brought so far (pictures, notices, costs, the last word of its agent), and its outcome."""

import math
from typing import Final

from fairlead.core import engine
from fairlead.core.decide.job_ends import Completed, Failure, Unknown
from fairlead.core.events import FileRef, Spent
from fairlead.core.ids import BlobName
from fairlead.core.inbound import clean_text
from fairlead.core.turn_reports import TurnReport
from fairlead.errors import Code, FairleadError
from fairlead.flow.intake.messages import INLINE_TEXT_BYTES
from fairlead.flow.turns.check_runs import CheckRuns
from fairlead.ports import Blobs

MAX_IMAGES: Final = 10
MAX_ERROR_CHARACTERS: Final = 4000
_EXTENSIONS: Final = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "image/gif": "gif"}


class TurnResults:
    """Gathered over both attempts of a turn; `ended` is how the agent's latest attempt ended."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._files: list[FileRef] = []
        self._notices: list[str] = []
        self.ended: engine.TurnEnded | engine.TurnFailed | None = None
        self.spent = Spent()
        self.point = ""
        self.checks = CheckRuns()
        self._context = (0, 0)
        self.tools_started = 0
        self.permission_granted = False

    @property
    def agent_may_have_acted(self) -> bool:
        return bool(self.tools_started or self.permission_granted)

    @property
    def report(self) -> TurnReport:
        used, size = self._context
        there = "" if self.ended is None else self.ended.machine_time
        return TurnReport(checks=self.checks.latest, context_used=used, context_size=size, machine_time=there)

    def add_usage(self, usage: engine.UsageReported) -> None:
        if usage.context_size:
            self._context = (usage.context_used, usage.context_size)
        spent = self.spent
        self.spent = Spent(
            spent.input_tokens + usage.input_tokens,
            spent.output_tokens + usage.output_tokens,
            spent.cached_tokens + usage.cached_tokens,
            # JSON can write neither infinity nor NaN: a journal with one of them could not be read back.
            spent.cost_usd + (usage.cost_usd if math.isfinite(usage.cost_usd) else 0.0),
        )

    def add_notice(self, text: str) -> bool:
        """False for a notice that was there before: a second attempt says what the first one said."""
        if text in self._notices:
            return False
        self._notices.append(text)
        return True

    async def add_image(self, image: engine.ImageProduced) -> None:
        """The same picture comes by several ways (stream, session log, result), so its content decides."""
        blob = await self._blobs.put(image.data)
        if len(self._files) < MAX_IMAGES and all(f.blob != blob for f in self._files):
            extension = _EXTENSIONS.get(image.media_type, "bin")
            self._files.append(FileRef(f"image-{len(self._files) + 1}.{extension}", blob, image.media_type))

    async def decide_outcome(self) -> Completed | Failure | Unknown:
        """The outcome of a turn that nobody has stopped: where somebody has, that stop is the outcome."""
        match self.ended:
            case engine.TurnEnded(text=text, stop_reason=engine.INTERRUPTED):
                return self.fail(Code.E_AGENT_INTERRUPTED, "", text)
            case engine.TurnEnded(text=text):
                text = clean_text(self._add_notices_to(text))
                return Completed(text, await self._store_if_long(text), tuple(self._files), self.spent)
            case engine.TurnFailed(code=Code.E_UNKNOWN_AFTER_CRASH):
                return Unknown()
            case engine.TurnFailed(code=code, message=message, text=text):
                return self.fail(code, message, text)
            case None:
                return self.fail(Code.E_ADAPTER_MISSING_RESULT, "The agent's stream ended without a result.")

    def fail(self, code: Code, message: str, text: str = "") -> Failure:
        """`text` is what the agent had said before it failed."""
        said = self._add_notices_to(text[:INLINE_TEXT_BYTES])
        return Failure(code, clean_text(message[:MAX_ERROR_CHARACTERS]), clean_text(said), self.spent)

    async def _store_if_long(self, text: str) -> BlobName:
        """The name of the blob that holds the text, empty where the journal itself holds it."""
        data = text.encode()
        if len(data) <= INLINE_TEXT_BYTES:
            return BlobName("")
        try:
            return await self._blobs.put(data)
        except FairleadError as full:
            if full.code is not Code.E_DISK_FULL:
                raise
            return BlobName("")  # a long line in the journal is better than an answer that is lost

    def _add_notices_to(self, text: str) -> str:
        """Notices stand at the foot of the answer: every channel shows the answer, whenever it is fetched."""
        return "\n\n".join(part for part in (text, *(f"⚠ {notice}" for notice in self._notices)) if part)
