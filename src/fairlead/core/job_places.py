"""Which machine a job runs on. Asks the state alone: whether that machine is there is nobody's fact."""

from fairlead.core.machines.places import machine_of
from fairlead.core.state import Job, State


def machine_of_job(state: State, job: Job) -> str:
    """Where the job runs or ran; for one that waits, where it will. Empty for this machine."""
    if job.project_path:
        return machine_of(job.project_path)
    session = state.sessions.get(job.session_key)
    project = state.projects.get(job.project or ("" if session is None else session.project))
    return "" if project is None else machine_of(project.path)
