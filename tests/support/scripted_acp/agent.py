"""Answers the client's requests: initialize, the life of a session, its settings, prompts. Turns are in turn.py."""

import os
import threading
from collections.abc import Callable

from .endings import wait_for_file
from .sessions import Session, SessionStore
from .settings import METHOD_NOT_FOUND, SessionSettings
from .switches import Switches
from .turn import Turn
from .wire import BareWire, NoReply, Payload, Refused, Reply, fault_of_the_script, refusal_in

AUTH_REQUIRED = -32000
TERMINAL_LOGIN = {"id": "login", "name": "Log in", "type": "terminal", "args": ["login"]}
TERMINAL_LOGIN |= {"description": "Run `scripted login` in a terminal"}


class ScriptedAgent:
    """`handle` runs on the one thread that reads; each turn has a thread of its own."""

    def __init__(self, switches: Switches, wire: BareWire) -> None:
        self.switches = switches
        self.wire = wire
        self.store = SessionStore(switches)
        self.settings = SessionSettings(switches)
        self.lock = threading.RLock()  # over the queues of turns
        self._told = {"initialize": switches.initialize, "session/new": switches.new, **switches.on}
        self._is_logged_in = switches.auth != "required"
        self._methods: dict[str, Callable[[Payload], Payload | None]] = {
            "initialize": self._initialize,
            "authenticate": self._authenticate,
            "session/list": self._list,
            "session/close": self._close,
            "session/set_mode": self._set_mode,
            "session/set_model": self._set_model,
            "session/set_config_option": self._set_option,
            "_session/steering": self._steer,
        }

    def handle(self, method: str, params: Payload, reply: Reply | None) -> None:
        if reply is None:
            if method == "session/cancel":
                self._cancel(params["sessionId"])
            return
        told = str(self._told.get(method, "answers"))
        match told.partition(" ")[0]:
            case "hangs":
                return
            case "exits":
                os._exit(self.switches.exit_code)
            case "error":
                reply.error(refusal_in(told))
            case "restarts":
                self._refuse_for_now(method, int(told.partition(" ")[2]), reply)
            case "hold":
                wait_for_file(told.partition(" ")[2], lambda: self._try_to_answer(method, params, reply))
            case _:
                self._try_to_answer(method, params, reply)

    def _refuse_for_now(self, method: str, times: int, reply: Reply) -> None:
        self._told[method] = f"restarts {times - 1}" if times > 1 else "answers"
        reply.error(Refused(-32603, "Codex process has exited with code 1", {"exitCode": 1, "restartable": True}))

    def _try_to_answer(self, method: str, params: Payload, reply: Reply) -> None:
        try:
            self._answer(method, params, reply)
        except Refused as refused:
            reply.error(refused)
        except KeyError as missing:
            reply.error(Refused(-32602, f"Invalid params: no {missing}"))
        except Exception:  # a fault of the script must be seen by the test that used it
            reply.error(fault_of_the_script())

    def _answer(self, method: str, params: Payload, reply: Reply) -> None:
        match method:
            case "session/new" | "session/load" | "session/resume" | "session/fork":
                self._enter(method, params, reply)
            case "session/prompt":
                self._prompt(params, reply)
            case _:
                if method not in self._methods:
                    raise Refused(METHOD_NOT_FOUND, f'"Method not found": {method}', {"method": method})
                result = self._methods[method](params)
                self.wire.check_result(method, result)
                reply.result(result)

    def _initialize(self, _params: Payload) -> Payload:
        can = {item: self.switches.has("capabilities", item) for item in ("load", "image", "audio", "embedded")}
        offered = ("list", "resume", "fork", "close")
        capabilities: Payload = {
            "loadSession": can["load"],
            "promptCapabilities": {"image": can["image"], "audio": can["audio"], "embeddedContext": can["embedded"]},
            "mcpCapabilities": {"http": True, "sse": False},
        }
        if sessions := {name: {} for name in offered if self.switches.has("capabilities", name)}:
            capabilities["sessionCapabilities"] = sessions
        return {
            "protocolVersion": self.switches.protocol,
            "agentCapabilities": capabilities,
            "agentInfo": {"name": self.switches.name, "title": "Scripted", "version": self.switches.version},
            "authMethods": [] if self.switches.auth == "none" else [TERMINAL_LOGIN],
            "_meta": {"steering": {"supported": self.switches.has("capabilities", "steering")}},
        }

    def _authenticate(self, _params: Payload) -> Payload:
        self._is_logged_in = True
        return {}

    def _enter(self, method: str, params: Payload, reply: Reply) -> None:
        """session/new, load, resume and fork: the four ways into a session."""
        what = method.removeprefix("session/")
        if what != "new" and not self.switches.has("capabilities", what):
            raise Refused(METHOD_NOT_FOUND, f'"Method not found": {method}', {"method": method})
        if not (self._is_logged_in or (self.switches.login and os.path.exists(self.switches.login))):
            raise Refused(AUTH_REQUIRED, "Authentication required")
        session = self._session_for(what, params)
        result = self.settings.offer(session)
        if what in {"new", "fork"}:
            result = {"sessionId": session.session_id, **result}
        self.wire.check_result(method, result)
        self._respond_and_replay(what, session, lambda then: reply.result(result, then))

    def _session_for(self, what: str, params: Payload) -> Session:
        match what:
            case "new":
                return self.store.begin(params["cwd"])
            case "fork":
                return self.store.fork(params["sessionId"], params["cwd"])
            case _:
                return self.store.to_load(params["sessionId"])

    def _respond_and_replay(self, what: str, session: Session, respond: Callable[[Callable[[], None]], None]) -> None:
        history = {"load": session.history, "resume": session.history[: self.switches.resume_replays]}.get(what, [])
        replays_late = what == "load" and self.switches.replay == "after"
        if not replays_late and self.switches.replay != "none":
            self._replay(session, history)
        if self.switches.auth_status:
            status = {"kind": "api_key", "label": "API key", "detail": "SCRIPTED_API_KEY"}
            self.wire.notify("_auth/status_update", {"authStatus": status})
        if self.switches.has("commands_when", "before"):
            self.announce_commands(session.session_id, self.switches.items_of("commands"))

        def after_the_response() -> None:
            if replays_late:
                self._replay(session, history)
            if self.switches.has("commands_when", "after"):
                self.announce_commands(session.session_id, self.switches.items_of("commands"))

        respond(after_the_response)

    def _replay(self, session: Session, history: list[Payload]) -> None:
        for update in history:
            self.wire.update(session.session_id, update)

    def announce_commands(self, session_id: str, names: list[str]) -> None:
        padding = "x" * self.switches.commands_bytes
        about = [f"The command {name}{padding}" for name in names]
        commands = [
            {"name": name, "description": text, "input": {"hint": "what"}}
            for name, text in zip(names, about, strict=True)
        ]
        if commands:
            self.wire.update(session_id, {"sessionUpdate": "available_commands_update", "availableCommands": commands})

    def _list(self, params: Payload) -> Payload:
        self._require("list", "session/list")
        cwd = params.get("cwd")
        return {"sessions": [session.info() for session in self.store.all() if cwd in {None, session.cwd}]}

    def _close(self, params: Payload) -> Payload:
        self._require("close", "session/close")
        self._cancel(params["sessionId"])
        self.store.close(params["sessionId"])
        return {}

    def _set_mode(self, params: Payload) -> Payload:
        session = self.store.get(params["sessionId"])
        self.settings.set_mode(session, params["modeId"], self.announcer(session))
        self.store.save(session)
        return {}

    def _set_model(self, params: Payload) -> Payload:
        session = self.store.get(params["sessionId"])
        self.settings.set_model(session, params["modelId"], self.announcer(session))
        self.store.save(session)
        return {}

    def _set_option(self, params: Payload) -> Payload:
        session = self.store.get(params["sessionId"])
        result = self.settings.set_option(session, params["configId"], params["value"], self.announcer(session))
        self.store.save(session)
        return result

    def announcer(self, session: Session) -> Callable[[Payload], None]:
        return lambda update: self.wire.update(session.session_id, update)

    def _require(self, capability: str, method: str) -> None:
        if not self.switches.has("capabilities", capability):
            raise Refused(METHOD_NOT_FOUND, f'"Method not found": {method}', {"method": method})

    def _steer(self, params: Payload) -> Payload:
        self._require("steering", "_session/steering")
        session = self.store.get(params["sessionId"])
        with self.lock:
            if session.turns and not session.turns[0].is_over:
                session.turns[0].steer(params["prompt"])
                return {"outcome": "injected"}
        wish = (params.get("_meta") or {}).get("steering") or {}
        if wish.get("idleBehavior") == "promptRequired":
            return {"outcome": "promptRequired", "reason": "noRunningTurn"}
        self._queue(session, Turn(self, session, params["prompt"], NoReply()))
        return {"outcome": "startedNewTurn"}

    def _prompt(self, params: Payload, reply: Reply) -> None:
        session = self.store.get(params["sessionId"])
        self._queue(session, Turn(self, session, params["prompt"], reply))

    def _queue(self, session: Session, turn: Turn) -> None:
        with self.lock:
            if session.turns and self.switches.second_prompt == "error":
                raise Refused(-32600, "Invalid request: a prompt is already running in this session")
            if session.turns and self.switches.second_prompt == "cancel":
                session.turns[0].cancel()
            if session.turns and self.switches.second_prompt == "fails first":
                session.turns[0].fail(Refused(-32603, "Internal error", {}))
            session.turns.append(turn)
            if len(session.turns) == 1:
                turn.start()

    def is_waited_for(self, turn: Turn) -> bool:
        with self.lock:
            return turn.session.turns[-1] is not turn

    def end_turn(self, session: Session, turn: Turn) -> None:
        with self.lock:
            session.turns.remove(turn)
            if session.turns:
                session.turns[0].start()

    def _cancel(self, session_id: str) -> None:
        with self.lock:
            turns = list(self.store.open[session_id].turns) if session_id in self.store.open else []
        for turn in turns:
            turn.cancel()
