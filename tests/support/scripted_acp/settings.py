"""Models, modes and config options of a session: how they are offered, set and announced. Knows both styles.

The old style are `models` and `modes` beside the session id, set with session/set_model and session/set_mode; the new
style are config options, set with session/set_config_option. Several agents offer both at once.
"""

from collections.abc import Callable

from .sessions import LEVELS, Session
from .switches import Switches
from .wire import Payload, Refused

INVALID_PARAMS = -32602
METHOD_NOT_FOUND = -32601
Announce = Callable[[Payload], None]


class SessionSettings:
    def __init__(self, switches: Switches) -> None:
        self._switches = switches
        self._models = tuple(switches.items_of("models"))
        self._modes = tuple(switches.items_of("modes"))

    def offer(self, session: Session) -> Payload:
        """What stands beside the session id in the response to session/new, load, resume and fork."""
        offered: Payload = {}
        if self._offers("models"):
            models = [{"modelId": model, "name": model.title()} for model in self._models]
            offered["models"] = {"availableModels": models, "currentModelId": session.model}
        if self._offers("modes"):
            modes = [{"id": mode, "name": mode.title(), "description": f"The mode {mode}"} for mode in self._modes]
            offered["modes"] = {"availableModes": modes, "currentModeId": session.mode}
        if self._offers("config"):
            offered["configOptions"] = self._options(session)
        return offered

    def set_model(self, session: Session, model: str, announce: Announce) -> None:
        self._require("models", "session/set_model")
        session.model = _one_of(self._models, model, "model")
        self._announce_options(session, announce)

    def set_mode(self, session: Session, mode: str, announce: Announce) -> None:
        self._require("modes", "session/set_mode")
        session.mode = _one_of(self._modes, mode, "mode")
        if self._switches.says_mode:
            announce({"sessionUpdate": "agent_message_chunk", "content": text_block(f"[MODE_UPDATE] {mode}")})
        self._announce_options(session, announce)

    def set_option(self, session: Session, option: str, value: object, announce: Announce) -> Payload:
        self._require("config", "session/set_config_option")
        match option:
            case "model":
                session.model = _one_of(self._models, value, "model")
            case "mode":
                session.mode = _one_of(self._modes, value, "mode")
                if self._offers("modes"):
                    announce({"sessionUpdate": "current_mode_update", "currentModeId": session.mode})
            case "effort":
                session.thought_level = _one_of(LEVELS, value, "effort")
            case "fast" if isinstance(value, bool):
                session.is_fast = value
            case "allow_all":
                session.allows_all = _one_of(("on", "off"), value, "allow_all")
            case _:
                raise Refused(INVALID_PARAMS, f"Invalid params: no option {option} with the value {value}")
        return {"configOptions": self._options(session)}

    def change_mode(self, session: Session, mode: str, announce: Announce) -> None:
        """The agent changes its mode by itself, as Claude does when a plan is approved."""
        session.mode = mode
        if self._offers("modes"):
            announce({"sessionUpdate": "current_mode_update", "currentModeId": mode})
        self._announce_options(session, announce)

    def change_model(self, session: Session, model: str, announce: Announce) -> None:
        session.model = model
        self._announce_options(session, announce)

    def _announce_options(self, session: Session, announce: Announce) -> None:
        if self._offers("config"):
            announce({"sessionUpdate": "config_option_update", "configOptions": self._options(session)})

    def _options(self, session: Session) -> list[Payload]:
        fast: Payload = {"id": "fast", "name": "Fast", "category": "model_config", "type": "boolean"}
        options = [
            _select("mode", "Mode", "mode", session.mode, self._modes),
            _select("model", "Model", "model", session.model, self._models),
            _select("effort", "Effort", "thought_level", session.thought_level, LEVELS),
            fast | {"currentValue": session.is_fast},
            _select("allow_all", "Allow all", "permissions", session.allows_all, ("on", "off")),
        ]
        return [option for option in options if self._switches.has("options_offered", option["id"])]

    def _offers(self, style: str) -> bool:
        return self._switches.has("settings", style)

    def _require(self, style: str, method: str) -> None:
        if not self._offers(style):
            raise Refused(METHOD_NOT_FOUND, f'"Method not found": {method}', {"method": method})


def text_block(text: str) -> Payload:
    return {"type": "text", "text": text}


def _select(option: str, name: str, category: str, value: str, values: tuple[str, ...]) -> Payload:
    choices = [{"value": choice, "name": choice.title(), "description": f"The {option} {choice}"} for choice in values]
    about: Payload = {"id": option, "name": name, "category": category, "type": "select"}
    return about | {"currentValue": value, "options": choices}


def _one_of(values: tuple[str, ...], value: object, what: str) -> str:
    if value not in values:
        raise Refused(INVALID_PARAMS, f"Invalid params: Invalid {what}: {value}")
    return str(value)
