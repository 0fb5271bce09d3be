"""The updates of one ACP session to engine events: message, thought, tools, plan, offers, usage. Pure."""

import difflib
import re
from typing import Any, Final, cast

import msgspec

from fairlead.core.engine import (
    AgentOption,
    CommandsOffered,
    Diagnostic,
    EngineEvent,
    ImageProduced,
    ModelsOffered,
    ModesOffered,
    Noticed,
    OptionsOffered,
    SlashCommand,
    TextDelta,
    ThinkingDelta,
    TitleFound,
    TodoItem,
    TodosChanged,
    ToolEnded,
    ToolProgressed,
    ToolStarted,
)
from fairlead.runtimes.acp import wire
from fairlead.runtimes.images import NewImages

SUMMARY: Final = 2000
DIFF: Final = 20_000
# Tools have Claude's names in Fairlead's policies and rules.
_NAME_OF_KIND: Final = {
    "execute": "Bash",
    "read": "Read",
    "edit": "Edit",
    "delete": "Delete",
    "move": "Move",
    "search": "Grep",
    "fetch": "WebFetch",
    "think": "think",
    "switch_mode": "switch_mode",
}
_ENDS: Final = {"completed": True, "failed": False}
_TODO_STATUS: Final = frozenset({"pending", "in_progress", "completed"})


class SessionFacts(msgspec.Struct):
    """What the agent has said about its session, for `/agent status` and for choosing a model or a mode."""

    model: str = ""
    models: tuple[str, ...] = ()
    mode: str = ""
    modes: tuple[str, ...] = ()
    options: tuple[AgentOption, ...] = ()
    commands: tuple[SlashCommand, ...] = ()
    title: str = ""
    context_used: int = 0
    context_size: int = 0
    cost_usd: float = 0.0
    model_option: str = ""
    """The id of the config option that chooses the model; empty for an agent that has set_model, or no choice."""
    mode_option: str = ""
    ids: dict[str, str] = {}
    """The agent's own ids of models and modes, by the shorter names that people read."""


class UpdateTranslator:
    """`facts` outlive the turn; `begin_turn` forgets the rest."""

    def __init__(self, facts: SessionFacts | None = None) -> None:
        self.facts = facts or SessionFacts()
        self.error_mark: tuple[str, ...] = ()
        """See `Quirks.error_mark`."""
        self._plans: dict[str, tuple[TodoItem, ...]] = {}
        self.begin_turn()

    def begin_turn(self) -> None:
        self._messages: list[list[str]] = []
        self._message_id: str | None = None
        self._is_new_message = True
        self._tools: dict[str, str] = {}
        self._ended_tools: set[str] = set()
        self._printed: dict[str, str] = {}
        self._images = NewImages()
        self._diffs: dict[str, tuple[wire.ToolContent, ...]] = {}
        self._texts: dict[str, tuple[wire.ToolContent, ...]] = {}
        self._has_failed = False
        self.counted: wire.Usage | None = None
        """The tokens that updates have counted; None if none did."""

    @property
    def text(self) -> str:
        """All that the agent has said in this turn; a tool call between two messages makes a new paragraph."""
        return "\n\n".join(text for parts in self._messages if (text := "".join(parts).strip()))

    @property
    def failure(self) -> str:
        """What the agent has said since its model failed; empty if its model did not fail."""
        return "".join(self._messages[-1]).strip() if self._has_failed and self._messages else ""

    @property
    def last_message_id(self) -> str:
        """The agent's own name of what it has said last in this turn; empty where it gives none."""
        return self._message_id or ""

    @property
    def is_in_tool(self) -> bool:
        return bool(self._tools)

    def translate(self, update: wire.Update) -> list[EngineEvent]:
        if type(update) is wire.AgentText:  # nearly every update is one, and `match` would take longer
            return self._hear_message(update)
        match update:
            case wire.AgentThought():
                return [ThinkingDelta(update.content.text)] if update.content.text else []
            case wire.ToolCall():  # its updates are of the same kind
                return self._follow_tool(update)
            case wire.Plan() | wire.PlanUpdate() | wire.PlanRemoved():
                return self._follow_plan(update)
            case wire.ContextUsage():
                self._note_context(update)
                return []
            case _:
                return self._note_offer(update)

    # --- what the agent says ---------------------------------------------------------------------------------------

    def _hear_message(self, update: wire.AgentText) -> list[EngineEvent]:
        content = update.content
        if content.type == "text":
            if not content.text:
                self._count(update.meta)
                return []
            return [*self._separate(update.message_id), self._add_text(content.text)]
        if content.type == "image":
            image = self._images.take({"mimeType": content.mime_type, "data": content.data})
            return [] if image is None else [image]
        return [Diagnostic(f"The agent sent content of the type {content.type!r}: {content.uri or content.name or ''}")]

    def _separate(self, message_id: str | None) -> list[EngineEvent]:
        """People see a new paragraph where a new message begins. A chunk without an id goes on with the message."""
        known = None if self._is_new_message else self._message_id
        is_new = self._is_new_message or (known is not None and message_id not in {None, known})
        self._message_id, self._is_new_message = message_id or known, False
        if not is_new:
            return []
        self._messages.append([])
        return [TextDelta("\n\n")] if len(self._messages) > 1 else []

    def _count(self, meta: Any) -> None:
        said = as_dict(as_dict(meta).get("usage"))
        if said:
            self.counted = _sum(self.counted or wire.Usage(), said)

    def _add_text(self, text: str) -> TextDelta:
        self._messages[-1].append(text)
        return TextDelta(text)

    def end_message(self) -> None:
        """The agent acts or asks: the next words are a message of their own."""
        self._is_new_message = True

    # --- tools -----------------------------------------------------------------------------------------------------

    def _follow_tool(self, call: wire.ToolCall) -> list[EngineEvent]:
        self.end_message()
        events: list[EngineEvent] = []
        tool_id = call.tool_call_id
        ended = _ENDS.get(call.status or "")
        if tool_id in self._ended_tools and isinstance(call, wire.ToolCallUpdate):
            return [*self._pictures(call)]  # agents say more about a tool that has ended, or say its end twice
        output = self._output_so_far(call)
        self._keep_shown(call)
        if tool_id not in self._tools:
            if ended is not None and call.title is None and call.kind is None:
                return []  # nobody could say which tool it was
            self._tools[tool_id] = tool_name(call.kind, call.meta)
            events.append(ToolStarted(tool_id, self._tools[tool_id], tool_input(call)))
        else:
            events.extend(_describe_change(call, output))
        events.extend(self._pictures(call))
        if ended is not None:
            del self._tools[tool_id]
            self._texts.pop(tool_id, None)
            self._ended_tools.add(tool_id)
            events.append(ToolEnded(tool_id, ended, output or self._printed.get(tool_id, "")))
        return events

    def _output_so_far(self, call: wire.ToolCall) -> str:
        """Codex shows a terminal that only a client with terminals would have, and tells what is new in it."""
        new = as_dict(as_dict(call.meta).get("terminal_output_delta")).get("data")
        if isinstance(new, str) and new:
            printed = self._printed.get(call.tool_call_id, "") + new
            self._printed[call.tool_call_id] = printed[-SUMMARY:]
            return printed[-SUMMARY:]
        return output_of(call)[-SUMMARY:]

    def _keep_shown(self, call: wire.ToolCall) -> None:
        diffs = tuple(part for part in call.content or () if part.type == "diff")
        texts = tuple(part for part in call.content or () if part.content is not None and part.content.text)
        if diffs:
            self._diffs[call.tool_call_id] = diffs
        if texts:
            self._texts[call.tool_call_id] = texts

    def find_shown(self, tool_id: str) -> tuple[wire.ToolContent, ...]:
        """What the agent has shown of this call so far: Codex does not repeat its diffs when it asks, nor Claude its
        plan."""
        return (*self._diffs.get(tool_id, ()), *self._texts.get(tool_id, ()))

    def _pictures(self, call: wire.ToolCall) -> list[ImageProduced | Noticed]:
        blocks = [part.content for part in call.content or () if part.content is not None]
        shown = [{"mimeType": block.mime_type, "data": block.data} for block in blocks if block.type == "image"]
        return [image for block in shown if (image := self._images.take(block)) is not None]

    # --- plans and offers ------------------------------------------------------------------------------------------

    def _follow_plan(self, update: wire.Plan | wire.PlanUpdate | wire.PlanRemoved) -> list[EngineEvent]:
        match update:
            case wire.Plan():
                self._plans[""] = _todos(update.entries)
            case wire.PlanUpdate():
                self._plans[update.plan.plan_id] = _todos_of_plan(update.plan)
            case wire.PlanRemoved():
                self._plans.pop(update.plan_id, None)
        return [TodosChanged(tuple(item for items in self._plans.values() for item in items))]

    def _note_offer(self, update: wire.Update) -> list[EngineEvent]:
        facts = self.facts
        match update:
            case wire.AvailableCommands():
                facts.commands = tuple(_command(one) for one in update.available_commands if one.name)
                return [CommandsOffered(facts.commands)]
            case wire.CurrentMode():
                facts.mode = shorten_id(update.current_mode_id)
                return [ModesOffered(facts.mode, facts.modes)]
            case wire.ConfigOptions():
                return self.note_options(update.config_options)
            case wire.SessionInfo():
                self._look_for_failure(update.meta)
                if not update.title or update.title == facts.title:
                    return []
                facts.title = update.title
                return [TitleFound(update.title)]
            case _:
                return []  # the person's own words, repeated

    def _look_for_failure(self, meta: Any) -> None:
        if not self.error_mark or meta is None:
            return
        *way, word = self.error_mark
        for step in way:
            meta = as_dict(meta).get(step)
        if meta == word:
            self._has_failed = True
            self.end_message()

    def note_session(self, opened: wire.SessionOpened) -> list[EngineEvent]:
        """The offers in the response that opened the session; config options say more than the older two fields."""
        facts = self.facts
        if opened.modes is not None:
            facts.modes = self._shorten([mode.id for mode in opened.modes.available_modes or () if mode.id])
            facts.mode = shorten_id(opened.modes.current_mode_id or "")
        if opened.models is not None:
            facts.model = opened.models.current_model_id or ""
            facts.models = tuple(model.model_id for model in opened.models.available_models or () if model.model_id)
        newer = self.note_options(opened.config_options or ())
        offers: list[EngineEvent] = []
        if facts.models and not facts.model_option:
            offers.append(ModelsOffered(facts.model, facts.models))
        if facts.modes and not facts.mode_option:
            offers.append(ModesOffered(facts.mode, facts.modes))
        return offers + newer

    def note_options(self, options: tuple[wire.ConfigOption, ...]) -> list[EngineEvent]:
        facts = self.facts
        offers: list[EngineEvent] = []
        others: list[AgentOption] = []
        for option in options:
            values = self._shorten(_values(option.options or ()))
            match option.category:
                case "model" if option.type == "select":
                    facts.model_option, facts.model, facts.models = option.id, _current(option), values
                    offers.append(ModelsOffered(facts.model, facts.models))
                case "mode" if option.type == "select":
                    facts.mode_option, facts.mode, facts.modes = option.id, _current(option), values
                    offers.append(ModesOffered(facts.mode, facts.modes))
                case _:
                    others.append(AgentOption(option.id, option.name or option.id, _current(option), values))
        if others:
            facts.options = tuple(others)
            offers.append(OptionsOffered(facts.options))
        return offers

    def _shorten(self, ids: list[str]) -> tuple[str, ...]:
        """Some agents name a mode by an address: people read and type what stands behind its last `#`."""
        self.facts.ids.update({shorten_id(one): one for one in ids if shorten_id(one) != one})
        return tuple(shorten_id(one) for one in ids)

    def _note_context(self, update: wire.ContextUsage) -> None:
        facts = self.facts
        facts.context_used = facts.context_used if update.used is None else update.used
        facts.context_size = facts.context_size if update.size is None else update.size
        if update.cost is not None and (update.cost.currency or "USD") == "USD":
            facts.cost_usd = update.cost.amount


def without_mode_message(update: wire.Update, pattern: str) -> wire.Update:
    """See `Quirks.mode_message`: such a chunk as the update that the protocol has for it."""
    if type(update) is not wire.AgentText:
        return update
    found = re.fullmatch(pattern, update.content.text)
    return update if found is None else wire.CurrentMode(found[1])


# --- one tool call, in words ---------------------------------------------------------------------------------------


def tool_name(kind: str | None, meta: Any) -> str:
    """Claude's own name for the tool where the agent tells it, else the name of its kind."""
    own = as_dict(as_dict(meta).get("claudeCode")).get("toolName")
    return own if isinstance(own, str) and own else _NAME_OF_KIND.get(kind or "", kind or "other")


def tool_input(call: wire.ToolCall | wire.RequestedCall) -> dict[str, Any]:
    """The tool's own arguments, and the title and the places that the agent names beside them."""
    given = dict(as_dict(call.raw_input))
    if call.title and "title" not in given:
        given["title"] = call.title
    paths = [{"path": place.path} for place in call.locations or () if place.path]
    if paths and "locations" not in given:
        given["locations"] = paths
    return given


def diff_of(content: tuple[wire.ToolContent, ...] | None) -> str:
    shown = "\n".join(_one_diff(part) for part in content or () if part.type == "diff")
    return shown if len(shown) <= DIFF else f"{shown[:DIFF]}\n[cut here: {len(shown)} characters in all]"


def _one_diff(part: wire.ToolContent) -> str:
    old, new = (part.old_text or "").splitlines(), part.new_text.splitlines()
    return "\n".join(difflib.unified_diff(old, new, part.path, part.path, lineterm=""))


def output_of(call: wire.ToolCall) -> str:
    """The text that a tool has shown; without any, what it returned."""
    parts = [part.content.text for part in call.content or () if part.content is not None and part.content.text]
    if parts:
        return "\n".join(parts)
    raw = call.raw_output
    if isinstance(raw, str):
        return raw
    output = as_dict(raw).get("output")
    return output if isinstance(output, str) else ""


def _describe_change(call: wire.ToolCall, output: str) -> list[EngineEvent]:
    change = ToolProgressed(
        tool_id=call.tool_call_id,
        title=call.title or "",
        locations=tuple(place.path for place in call.locations or () if place.path),
        diff=diff_of(call.content),
        output=output,
    )
    return [change] if change != ToolProgressed(tool_id=call.tool_call_id) else []


def as_dict(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _sum(before: wire.Usage, said: dict[str, Any]) -> wire.Usage:
    def add(count: int | None, name: str) -> int:
        more = said.get(name)
        return (count or 0) + (more if isinstance(more, int) else 0)

    return wire.Usage(
        input_tokens=add(before.input_tokens, "inputTokens"),
        output_tokens=add(before.output_tokens, "outputTokens"),
        cached_read_tokens=add(before.cached_read_tokens, "cachedReadTokens"),
    )


# --- plans, commands, options --------------------------------------------------------------------------------------


def _todos(entries: tuple[wire.PlanItem, ...]) -> tuple[TodoItem, ...]:
    return tuple(TodoItem(entry.content, _status(entry.status)) for entry in entries if entry.content)


def _todos_of_plan(plan: wire.PlanContent) -> tuple[TodoItem, ...]:
    """A plan that is a text or a file is one item: its words, or where it stands."""
    if plan.entries is not None:
        return _todos(plan.entries)
    words = plan.content or plan.uri
    return (TodoItem(words),) if words else ()


def _status(status: str) -> Any:
    return status if status in _TODO_STATUS else "pending"


def _command(offered: wire.OfferedCommand) -> SlashCommand:
    hint = offered.input.hint if offered.input is not None else None
    return SlashCommand(offered.name, offered.description or "", hint or "")


def _values(options: tuple[wire.ConfigValue, ...]) -> list[str]:
    """The values to choose from, those of groups too."""
    found: list[str] = []
    for option in options:
        found += [option.value] if option.options is None else _values(option.options)
    return found


def _current(option: wire.ConfigOption) -> str:
    match option.current_value:
        case bool() as switch:
            return "on" if switch else "off"
        case str() as value:
            return shorten_id(value)
        case None:
            return ""
        case other:
            return str(other)


def shorten_id(one: str) -> str:
    return one.rpartition("#")[2] if "://" in one else one
