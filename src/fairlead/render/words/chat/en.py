"""What chat channels say, in English."""

from typing import Final

CHAT: Final = {
    "tokens": "{count} tokens",
    "retry_button": "Retry",
    "retried_by": "Tried again by {person} as {job}",
    "one_before": "1 before you",
    "some_before": "{count} before you",
    "handed_off": "Waiting: this session was handed off to a terminal. /handoff back goes on here.",
    "machine_away": "Waiting: {machine} is not connected[[, since {since}]]. /cancel withdraws the message.",
    "machine_lost": "{machine} is not connected, since {since}. The turn goes on there;"
    " its answer comes when {machine} is back.",
    "machine_back": "{machine} is connected again.",
    "one_step": "1 step",
    "steps": "{count} steps",
    "todo_more": "{count} more",
    "reminder": "A question has been waiting for your answer for {elapsed}: {title}\n{link}",
    "choose_project": "Choose a project. Your message is then sent to it.",
    "project_chosen": "Working in {project}. Your message was sent to it.",
    "message_gone": "Working in {project}. Your message can no longer be read: send it again.",
    "somebody_elses": "Only the person who wrote the message can choose for it.",
    "steer_button": "Send into the turn",
}
