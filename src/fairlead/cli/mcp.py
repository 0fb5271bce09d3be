"""`fairlead mcp`: Fairlead's own tools for the agent that starts it, over standard input and output.

It only passes on: the daemon knows who may do what. Nothing else of Fairlead imports the SDK, which takes a second.
"""

import click


@click.command("mcp")
def command() -> None:
    """Offer Fairlead's tools to the agent that starts this command. The agent's environment names its capability."""
    from fairlead.cli.output import tell
    from fairlead.kit.process_hiding import hide_process

    hide_process()  # other agents of this account cannot read the capability out of our memory
    from fairlead.cli.mcp_server import CapabilityMissing, run_server

    try:
        run_server()
    except CapabilityMissing as missing:
        tell(f"fairlead mcp: {missing}", err=True)
        raise SystemExit(1) from None
