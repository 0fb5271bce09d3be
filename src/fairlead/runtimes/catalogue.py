"""Which runtimes there are on this machine, the preferred one first. The built-in echo is always there, and last."""

from fairlead.observe import JobLogs
from fairlead.ports import Runtime
from fairlead.runtimes.echo import EchoRuntime
from fairlead.settings import Settings


def available_runtimes(_settings: Settings, _job_logs: JobLogs) -> dict[str, Runtime]:
    runtimes: list[Runtime] = [EchoRuntime()]
    return {runtime.name: runtime for runtime in runtimes}
