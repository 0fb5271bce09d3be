"""`python -m tests.support.scripted_acp bare=true usage=none -- --acp`: switches, then the arguments of the caller."""

import os
import signal
import sys
from typing import NoReturn

from .agent import ScriptedAgent
from .faults import LIFETIME, ignore_signals, leave_grandchild
from .notes import Notes
from .switches import Switches
from .wire import BareWire, wait_forever


def main(words: list[str]) -> None:
    place = words.index("--") if "--" in words else len(words)
    switches = Switches.from_words(words[:place])
    arguments = words[place + 1 :]
    notes = Notes(switches.notes)
    notes.start(arguments)
    if "--version" in arguments:
        print(switches.version, flush=True)
        return
    ignore_signals(switches.items_of("ignore"))
    if switches.stderr:
        os.write(2, f"{switches.stderr}\n".encode())
    if switches.grandchild:
        os.write(2, f"grandchild {leave_grandchild(switches.grandchild)}\n".encode())
    if switches.on.get("start") == "exits":
        os._exit(switches.exit_code)
    if switches.on.get("start") == "hangs":
        stay()
    wire = make_wire(switches, notes)
    agent = ScriptedAgent(switches, wire)
    wire.serve(agent.handle)
    notes.end("end of stdin")
    if switches.has("ignore", "EOF"):
        stay()
    agent.store.save_all()
    os._exit(0)  # threads of turns that hang are no reason to stay


def stay() -> NoReturn:
    signal.alarm(LIFETIME)
    wait_forever()


def make_wire(switches: Switches, notes: Notes) -> BareWire:
    if switches.bare:
        return BareWire(notes, garbage=switches.garbage)
    from .sdk_wire import SdkWire  # the SDK takes a second to import

    return SdkWire(notes, garbage=switches.garbage)


main(sys.argv[1:])
