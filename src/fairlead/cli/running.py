"""What `fairlead runner run` does. Parses no options, so that a runner holds no library for command lines."""

import asyncio
import signal
from importlib.util import find_spec

from fairlead.cli.interpreter import set_up_interpreter
from fairlead.cli.output import tell
from fairlead.errors import Code, error
from fairlead.kit.process_hiding import hide_process
from fairlead.kit.process_memory import return_free_memory
from fairlead.settings import Settings, load_settings


def run_runner() -> None:
    """Until it is stopped. Raises the FairleadError that ended it."""
    need_extra()
    set_up_interpreter()
    hide_process()  # an agent of the same user finds neither the key nor open files of this process
    asyncio.run(_run(load_settings()))


def need_extra() -> None:
    if find_spec("nats") is None or find_spec("nkeys") is None:
        raise error(
            Code.E_CONFIG,
            "What other machines need is not installed.",
            next_step="Install Fairlead with its extra `machines`: `uv tool install '.[machines]'` in a checkout.",
        )


async def _run(settings: Settings) -> None:
    from fairlead.real_runner import open_runner

    me = asyncio.current_task()
    assert me is not None
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, me.cancel)
    try:
        async with open_runner(settings) as runner:
            tell(f"Runner {runner.machine} is up.")
            return_free_memory()
            await runner.run()
    except asyncio.CancelledError:
        tell("Stopped.")
