"""Every page, form and file of the console, as three tables. `render/console/__init__.py` says how a page is added."""

from typing import Final

from fairlead.channels.http.console.agents import build_agents, change_agents
from fairlead.channels.http.console.changes import build_changes, changes_of_files, get_diff
from fairlead.channels.http.console.health import build_health
from fairlead.channels.http.console.jobs import change_job, get_answer, get_file
from fairlead.channels.http.console.logins_page import build_logins, end_login
from fairlead.channels.http.console.machines import build_machines, change_machine, is_machine_touched
from fairlead.channels.http.console.now import build_now, get_whole_question, is_board_touched, respond_to_question
from fairlead.channels.http.console.projects import (
    add_project,
    build_projects,
    change_project,
    is_project_touched,
)
from fairlead.channels.http.console.schedules import build_schedules, change_schedule, is_schedule_touched
from fairlead.channels.http.console.search import build_search
from fairlead.channels.http.console.session import build_session, change_session, send_message, session_changes
from fairlead.channels.http.console.sessions import build_sessions, is_list_touched
from fairlead.channels.http.console.spend import build_spend, clear_budget, is_spending_touched, set_budget
from fairlead.channels.http.console.visit import Action, Download, Page
from fairlead.channels.http.console.why import build_story, build_why, is_account_touched

PAGES: Final[tuple[Page, ...]] = (
    Page(path="/", name="now", build=build_now, is_touched=is_board_touched),
    Page(path="/console/sessions", name="sessions", build=build_sessions, is_touched=is_list_touched),
    Page(path="/console/session/{session}", name="sessions", build=build_session, changes=session_changes),
    Page(path="/console/job/{job_id}/changes", name="sessions", build=build_changes, changes=changes_of_files),
    Page(path="/console/search", name="search", build=build_search),
    Page(path="/console/why", name="why", build=build_why, is_touched=is_account_touched),
    Page(path="/console/why/{subject}", name="why", build=build_story, is_touched=is_account_touched),
    Page(path="/console/spend", name="spend", build=build_spend, is_touched=is_spending_touched),
    Page(path="/console/schedules", name="schedules", build=build_schedules, is_touched=is_schedule_touched),
    Page(path="/console/projects", name="projects", build=build_projects, is_touched=is_project_touched),
    Page(
        path="/console/machines", name="machines", build=build_machines, is_touched=is_machine_touched, for_owner=True
    ),
    Page(path="/console/agents", name="agents", build=build_agents, every_sec=5.0, for_owner=True),
    Page(path="/console/health", name="health", build=build_health, every_sec=5.0, for_owner=True),
    Page(path="/console/logins", name="logins", build=build_logins),
)

ACTIONS: Final[tuple[Action, ...]] = (
    Action(path="/console/question/{question_id}", act=respond_to_question),
    Action(path="/console/session/{session}/send", act=send_message),
    Action(path="/console/session/{session}/{action}", act=change_session),
    Action(path="/console/job/{job_id}/{action}", act=change_job),
    Action(path="/console/spend/budget", act=set_budget, for_owner=True),
    Action(path="/console/spend/budget/clear", act=clear_budget, for_owner=True),
    Action(path="/console/schedules/{number}/{action}", act=change_schedule),
    Action(path="/console/projects/add", act=add_project, for_owner=True),
    Action(path="/console/projects/{action}", act=change_project),
    Action(path="/console/machines/{action}", act=change_machine, for_owner=True),
    Action(path="/console/agents/{action}", act=change_agents, for_owner=True),
    Action(path="/console/logins/{number}/end", act=end_login),
)

DOWNLOADS: Final[tuple[Download, ...]] = (
    Download(path="/console/question/{question_id}/whole.txt", respond=get_whole_question),
    Download(path="/console/job/{job_id}/changes.diff", respond=get_diff),
    Download(path="/console/job/{job_id}/answer.txt", respond=get_answer),
    Download(path="/console/job/{job_id}/files/{number}", respond=get_file),
)
