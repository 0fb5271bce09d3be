"""The console as a person uses it, in a real Chromium: on a phone and on a desk, light and dark."""

import re
import signal
import time

import pytest

from tests.browser.stage import Stage

pytestmark = pytest.mark.browser
ME = "/console/session/me"
EVIL = "<script>window.pwned=1</script><img src=x onerror='window.pwned=1'><style>*{display:none!important}</style>"
axe_module = pytest.importorskip("axe_playwright_python.sync_playwright")


def serious_faults(stage: Stage) -> list[str]:
    results = axe_module.Axe().run(stage.page)
    return [
        f"{found['id']}: {found['nodes'][0]['html'][:120]}"
        for found in results.response["violations"]
        if found["impact"] in {"serious", "critical"}
    ]


def overflow(stage: Stage) -> int:
    """By how many pixels the page is wider than the window."""
    return stage.page.evaluate("document.documentElement.scrollWidth - innerWidth")


@pytest.mark.req("G7", "G1")
def test_a_permission_is_asked_and_given_on_the_page_now(stage: Stage):
    page = stage.page
    stage.daemon.say("alice", "/ask rm -rf build", wait=0)
    page.wait_for_selector("#q-q_1")
    stage.take_picture("now")
    assert serious_faults(stage) == []
    assert overflow(stage) <= 0
    page.click("#q-q_1 button[value=allow]")
    page.wait_for_selector("#q-q_1", state="detached")
    page.wait_for_selector("text=Nothing needs you.")


@pytest.mark.req("G7", "G2", "G5")
def test_an_answer_grows_while_a_prompt_is_half_written(stage: Stage):
    page = stage.page
    stage.open(ME)
    stage.send("/todo +look | >fix it | test it\n/tool Bash ls -la\n/slow 2\n/long 3000")
    page.wait_for_selector(".turn.is-running")
    page.fill("#message", "half a prompt")
    page.focus("#message")
    page.wait_for_selector(".turn.is-success")
    assert page.input_value("#message") == "half a prompt"
    assert page.evaluate("document.activeElement.id") == "message"
    assert page.locator(".turn .md").inner_text().strip() != ""
    stage.take_picture("session")
    assert serious_faults(stage) == []
    assert overflow(stage) <= 0


@pytest.mark.req("G7", "G1")
def test_a_question_with_several_lists_is_answered_by_keyboard_alone(stage: Stage):
    page = stage.page
    stage.daemon.say("alice", "/question Which colour? | red | blue || How many? | one | two", wait=0)
    page.wait_for_selector("#q-q_1")
    stage.take_picture("question")
    page.focus("#q-q_1-0-0")
    page.keyboard.press("ArrowDown")
    for _ in range(2):
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    for _ in range(2):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Send the answer"
    page.keyboard.press("Enter")
    page.wait_for_selector("#q-q_1", state="detached")
    question = stage.daemon.ask("GET", "/v1/why?subject=1")
    assert "blue; one" in str(question)


@pytest.mark.req("G7", "G1")
def test_a_refusal_takes_words_along(stage: Stage):
    page = stage.page
    stage.daemon.say("alice", "/ask rm -rf build", wait=0)
    page.wait_for_selector("#q-q_1")
    page.click("#q-q_1-refusal summary")
    page.fill("#q-q_1-message", "not before the release")
    page.click("#q-q_1 button[value=deny-words]")
    page.wait_for_selector("#q-q_1", state="detached")
    assert "not before the release" in str(stage.daemon.ask("GET", "/v1/why?subject=1"))


@pytest.mark.req("G7", "G2")
def test_a_turn_is_cancelled_and_a_failed_one_is_tried_again(stage: Stage):
    page = stage.page
    stage.open(ME)
    stage.send("/hang")
    page.click(".turn.is-running button:has-text('Cancel')")
    page.wait_for_selector(".turn.is-cancelled")
    stage.send("/fail E_RUNTIME_HUNG")
    page.click(".turn.is-failed button:has-text('Retry')")
    page.wait_for_selector("text=(another attempt)")


@pytest.mark.req("G7", "G5")
def test_the_daemon_is_killed_and_back_while_the_page_is_open(stage: Stage):
    page = stage.page
    stage.open(ME)
    stage.send("before")
    page.wait_for_selector(".turn.is-success")
    page.fill("#message", "half a prompt")
    stage.daemon.stop(signal.SIGKILL)
    page.wait_for_selector("#stream-state[data-kind=away]")
    stage.daemon.start()
    page.wait_for_selector("#stream-state[data-kind=back]")
    assert page.input_value("#message") == "half a prompt"
    page.press("#message", "Control+Enter")
    page.wait_for_selector(".turn.is-success:has-text('half a prompt')")
    assert page.locator(".turn").count() == 2


@pytest.mark.req("G7", "G5")
def test_a_stream_that_is_cut_in_the_middle_loses_no_word(stage: Stage):
    """The network goes away while the agent speaks, and comes back."""
    page = stage.page
    stage.open(ME)
    stage.send("/slow 1\n/long 400\n/slow 1\n/tool Bash ls\n/slow 1\n/long 500")
    page.wait_for_selector(".turn.is-running")
    for _ in range(3):
        stage.context.set_offline(True)
        time.sleep(0.4)
        stage.context.set_offline(False)
        time.sleep(0.4)
    page.wait_for_selector(".turn.is-success")
    answer = stage.daemon.ask("GET", "/v1/why?subject=1")
    assert answer["steps"]
    assert len(page.locator(".turn .md").inner_text()) > 300


@pytest.mark.req("G7", "G5")
@pytest.mark.parametrize("look", ["desk-dark"], indirect=True)
def test_a_tab_in_the_background_is_right_when_it_is_looked_at(stage: Stage):
    page = stage.page
    stage.open(ME)
    other = stage.new_page()
    other.goto(stage.daemon.url + ME)
    other.bring_to_front()
    other.fill("#message", "from the other tab")
    other.press("#message", "Control+Enter")
    other.wait_for_selector(".turn.is-success")
    page.bring_to_front()
    page.wait_for_selector(".turn.is-success:has-text('from the other tab')", timeout=1_500)


@pytest.mark.req("G7", "G3")
def test_hostile_words_are_words(stage: Stage):
    page = stage.page
    table = "| " + " | ".join("abcdefghij" for _ in range(40)) + " |\n|" + "---|" * 40 + "\n"
    stage.daemon.say(
        "alice", f"{EVIL} \u202eevil\n\n{table}\n[x](javascript:alert(1)) ![p](https://evil.example/p.png)"
    )
    stage.daemon.say("alice", f"/tool Bash {EVIL}\n/ask {EVIL}", wait=0)
    stage.open("/console/session/agent%3Afairlead%3Auser%3Aalice")
    page.wait_for_selector(".card.question")
    assert page.evaluate("window.pwned") is None
    assert page.locator("main img, main script, main style").count() == 0
    assert overflow(stage) <= 0
    assert serious_faults(stage) == []
    stage.take_picture("hostile")


@pytest.mark.req("G7", "G2")
def test_an_answer_of_a_megabyte_opens(stage: Stage):
    stage.daemon.say("alice", "/long 1000000")
    stage.open("/console/session/agent%3Afairlead%3Auser%3Aalice")
    stage.page.wait_for_selector("text=The whole answer")
    assert overflow(stage) <= 0


@pytest.mark.req("G7", "G6")
def test_the_story_of_a_message_and_the_account_are_readable(stage: Stage):
    stage.daemon.say("alice", "hello")
    stage.open("/console/why")
    stage.take_picture("why")
    assert serious_faults(stage) == []
    stage.page.click("text=Answered")
    stage.page.click("#list a:has-text('#1')")
    stage.page.wait_for_selector(".story")
    stage.take_picture("story")
    assert serious_faults(stage) == []
    assert overflow(stage) <= 0


@pytest.mark.req("G7", "G4")
def test_logins_are_listed_and_ending_ones_own_leads_out(stage: Stage):
    page = stage.page
    stage.open("/console/logins")
    stage.take_picture("logins")
    assert serious_faults(stage) == []
    page.click("text=Log out")
    page.wait_for_selector("text=fairlead chat")
    stage.open("/console/logins")
    assert page.locator("text=You are not logged in").count() == 1
    assert serious_faults(stage) == []


@pytest.mark.req("G7")
@pytest.mark.parametrize("look", ["desk-light"], indirect=True)
def test_the_menu_is_reached_and_passed_by_keyboard(stage: Stage):
    page = stage.page
    with page.expect_response(lambda response: "/console/events" in response.url):
        page.reload()  # the script has run by then
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Shift+Tab")
    focused = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert focused == "solid"


@pytest.mark.req("G8")
@pytest.mark.parametrize("look", ["phone-light"], indirect=True)
def test_the_first_page_is_small_and_asks_for_little(stage: Stage):
    sizes: dict[str, int] = {}
    page = stage.new_page()
    tools = stage.context.new_cdp_session(page)
    tools.send("Network.enable")
    tools.send("Network.setCacheDisabled", {"cacheDisabled": True})
    names: dict[str, str] = {}
    tools.on("Network.requestWillBeSent", lambda e: names.update({e["requestId"]: e["request"]["url"]}))
    tools.on("Network.loadingFinished", lambda e: sizes.update({names[e["requestId"]]: int(e["encodedDataLength"])}))
    page.goto(stage.daemon.url + "/")
    page.wait_for_selector("#summary")
    page.wait_for_timeout(500)
    asked = [url for url in names.values() if not url.startswith("data:")]
    assert len(asked) <= 4, asked
    assert sum(sizes.values()) <= 60_000, sizes


@pytest.mark.req("G7", "G2")
@pytest.mark.parametrize("look", ["phone-dark", "desk-light"], indirect=True)
def test_very_many_sessions_are_paged_and_found(stage: Stage):
    for number in range(60):
        stage.daemon.say(f"user{number:03}", "hello", wait=0)
    stage.open("/console/sessions")
    page = stage.page
    page.wait_for_selector("#sessions")
    assert page.locator("#sessions li").count() == 50
    stage.take_picture("sessions")
    page.click("text=More sessions")
    page.wait_for_url(re.compile("after="))
    page.fill("#find", "user007")
    page.press("#find", "Enter")
    page.wait_for_url(re.compile("q=user007"))
    assert page.locator("#sessions li").count() == 1
    assert overflow(stage) <= 0
    assert serious_faults(stage) == []
