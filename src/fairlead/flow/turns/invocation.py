"""The invocation of a job's agent: its prompt, directory, files and permissions. Starts no agent."""

from fairlead.core.decide.messages import StoreAttachments, has_foreign_text
from fairlead.core.engine import InputFile, Invocation, Steer
from fairlead.core.read_models import job_view
from fairlead.core.state import Job, Project
from fairlead.core.undo_notes import describe_undo
from fairlead.errors import Code, error
from fairlead.flow.ledger import Ledger
from fairlead.kit.file_names import clean_name
from fairlead.ports import AttachmentFetcher, Blobs, Directories, SessionInboxes, Worktrees


class InvocationMaker:
    """`workspaces` is the directory that holds each project's workspace."""

    def __init__(
        self,
        ledger: Ledger,
        *,
        blobs: Blobs,
        inboxes: SessionInboxes,
        directories: Directories,
        worktrees: Worktrees,
        fetcher: AttachmentFetcher | None,
        workspaces: str,
    ) -> None:
        self._ledger = ledger
        self._blobs = blobs
        self._inboxes = inboxes
        self._directories = directories
        self._worktrees = worktrees
        self._fetcher = fetcher
        self._workspaces = workspaces

    async def make(self, job: Job, started_seq: int) -> Invocation:
        """`started_seq` numbers the start of the turn. Raises the FairleadError that forbids the turn."""
        self._check_directory(job)
        prompt = (await self._blobs.get(job.prompt_blob)).decode() if job.prompt_blob else job.prompt
        await self._fetch_attachments(job, started_seq)
        files = await self._inboxes.lay_out(job.session_key, job.job_id, job.attachments)
        # The project is looked at last: an administrator may have changed it while the files were fetched.
        project = self._ledger.state.projects.get(job.project)
        if project is not None and project.removed:
            raise error(Code.E_PROJECT_NOT_FOUND, f"Project {job.project} was removed.")
        if project is not None and job.runtime not in project.enabled_runtimes:
            raise error(Code.E_TOOL_NOT_ENABLED, f"{job.runtime} is no longer enabled in project {job.project}.")
        told = [describe_undo(undo) for undo_id in job.told_undos if (undo := self._ledger.state.undos.get(undo_id))]
        return self._fill_in(job, project, "\n\n".join([prompt + _list_unfetched(job), *told]), files)

    def _check_directory(self, job: Job) -> None:
        """A worktree lies in the state directory, where agents work nowhere else: the journal says which one is the
        session's, and nothing but that is let through."""
        worktree = self._ledger.state.worktree_of(job.session_key, job.project)
        if worktree is None or job.project_path != (worktree.directory or worktree.path):
            problem = self._directories.problem_at(job.project_path)
            if problem:
                raise error(Code.E_INVALID_PATH, f"Project {job.project}: {problem}")
        elif worktree.status == "failed":
            raise error(Code(worktree.error_code), worktree.error_message)
        else:
            problem = self._worktrees.problem_at(worktree)
            if problem:
                raise error(Code.E_WORKTREE_GONE, f"{worktree.branch}: {problem}")

    async def make_steer(self, job: Job, *, foreign: bool) -> Steer:
        """The text of a message that goes into a turn which runs, and its files."""
        prompt = (await self._blobs.get(job.prompt_blob)).decode() if job.prompt_blob else job.prompt
        await self._fetch_attachments(job, self._ledger.state.seq)
        files = await self._inboxes.lay_out(job.session_key, job.job_id, job.attachments)
        return Steer(job_id=job.job_id, text=prompt + _list_unfetched(job), files=files, foreign=foreign)

    async def _fetch_attachments(self, job: Job, started_seq: int) -> None:
        if self._fetcher is None or all(a.blob or a.path for a in job.attachments):
            return
        await self._ledger.until_durable(started_seq)  # nobody sees anything of a turn before its start is durable
        fetched = await self._fetcher.fetch(job_view(self._ledger.state, job))
        await self._ledger.record_durably(StoreAttachments(job.job_id, fetched))

    def _fill_in(self, job: Job, project: Project | None, prompt: str, files: tuple[InputFile, ...]) -> Invocation:
        state = self._ledger.state
        session = state.sessions[job.session_key]
        return Invocation(
            job_id=job.job_id,
            session_key=job.session_key,
            generation=job.generation,
            project_name=job.project,
            project_path=job.project_path,
            workspace_path=workspace_path(self._workspaces, project.workspace_name if project else job.project),
            prompt=prompt,
            mark=f"{state.state_id}:{job.job_id}",
            attempt=job.attempt,
            resume_key=job.resume_key or None,
            fork=job.fork,
            model=session.models.get(job.runtime or ""),
            args=project.default_args.get(job.runtime or "", ()) if project is not None else (),
            files=files,
            allowed=() if has_foreign_text(job) else tuple(session.rules),
        )


def workspace_path(workspaces: str, project: str) -> str:
    """The directory of a project's PERMISSIONS.json and context files: outside of the project itself."""
    return f"{workspaces}/{project}"


def _list_unfetched(job: Job) -> str:
    """For files that were refused, the agent is given their addresses instead."""
    left = [f"- {clean_name(a.name)}: {a.url}" for a in job.attachments if a.url and not (a.blob or a.path)]
    return "\n".join(["\n\nAttached, but not fetched:", *left]) if left else ""
