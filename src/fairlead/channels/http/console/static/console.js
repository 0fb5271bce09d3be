// The console's script: live changes, forms without a reload, times in the reader's own zone. Every page works without
// it, as far as reading and pressing buttons goes. No library; the server renders all HTML.

const $ = (id) => document.getElementById(id);
// Without storage a draft lives as long as its page, and there are no notifications.
const stored = (name, where = "localStorage") => { try { return window[where].getItem(name); } catch { return null; } };
const store = (name, value, where = "localStorage") => { try { window[where].setItem(name, value); } catch { /* see above */ } };
const set = (one, name, value) => { if (one[name] !== value) one[name] = value; };
const words = {};
for (const one of $("words")?.content.children ?? []) words[one.dataset.key] = one.textContent;

// --- putting new HTML into the page
// An element stays the same node wherever it can: focus, selection, scroll, an open <details> and a half-written
// prompt survive. Children are matched by their id, else by their place.

function morph(old, fresh) {
  if (old.isEqualNode(fresh)) return old;
  if (old.nodeName !== fresh.nodeName || (old.id || "") !== (fresh.id || "")) {
    old.replaceWith(fresh);
    return fresh;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return old;
  }
  if (old.dataset.n && fresh.dataset.n && Number(old.dataset.n) > Number(fresh.dataset.n)) return old; // has grown on
  if (old.nodeName === "SELECT" && isChosen(old)) return old;
  morphAttributes(old, fresh);
  if (old.nodeName !== "TEXTAREA") morphChildren(old, fresh);
  return old;
}

// Something else is chosen than the page said, and not sent yet. (A field that was written in keeps its text by itself.)
const isChosen = (select) => [...select.options].some((one) => one.selected !== one.defaultSelected);
// The reader unfolds; and the message that is being written keeps its id, so that it is never sent twice.
const isKept = (old, name) => (old.nodeName === "DETAILS" && name === "open") || (old.name === "key" && name === "value");

function morphAttributes(old, fresh) {
  for (const { name, value } of [...fresh.attributes])
    if (!isKept(old, name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const { name } of [...old.attributes]) if (!isKept(old, name) && !fresh.hasAttribute(name)) old.removeAttribute(name);
}

function morphChildren(old, fresh) {
  const byId = new Map([...old.children].filter((c) => c.id).map((c) => [c.id, c]));
  let at = old.firstChild;
  for (const wanted of [...fresh.childNodes]) {
    const known = wanted.id ? byId.get(wanted.id) : at && !at.id && at.nodeName === wanted.nodeName ? at : null;
    if (!known) {
      old.insertBefore(wanted, at);
    } else {
      if (known === at) at = at.nextSibling;
      else old.insertBefore(known, at);
      morph(known, wanted);
    }
  }
  for (let next; at; at = next) {
    next = at.nextSibling;
    at.remove();
  }
}

function parse(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  return holder.content.firstElementChild;
}

// --- staying where the reader is

const scroller = () => document.scrollingElement;
const toEnd = () => (scroller().scrollTop = scroller().scrollHeight);
const isAtEnd = () => scroller().scrollHeight - scroller().scrollTop - innerHeight < 80;

function keepPlace(change) {
  // At the end of a talk the page follows it; anywhere else nothing moves under the reader's eyes.
  const follows = $("main")?.querySelector("[data-follow]") && isAtEnd();
  const anchor = follows ? null : firstInView();
  const before = anchor?.getBoundingClientRect().top;
  change();
  if (follows) toEnd();
  else if (anchor?.isConnected) {
    const moved = anchor.getBoundingClientRect().top - before;
    if (Math.abs(moved) > 1) scroller().scrollTop += moved;
  }
}

function firstInView() {
  const isSeen = ({ height, top }) => height > 0 && height < innerHeight * 2 && top >= 0 && top < innerHeight;
  if (scroller().scrollTop < 8) return null;
  return [...document.querySelectorAll("#page [id]")].find((one) => isSeen(one.getBoundingClientRect()));
}

function swap(list) {
  keepPlace(() => {
    for (const html of list) {
      const fresh = parse(html);
      const old = fresh && $(fresh.id);
      if (old) morph(old, fresh);
      else if (fresh?.dataset.in) $(fresh.dataset.in)?.append(fresh);
    }
    refreshTimes();
  });
}

function grow({ id, at, n, text }) {
  const part = $(id);
  if (!part) return false;
  const have = Number(part.dataset.n);
  if (have < at) return false; // something is missing: the page is fetched again
  if (have >= at + n) return true;
  const rest = have === at ? text : [...text].slice(have - at).join("");
  keepPlace(() => {
    const last = part.lastChild; // texts of some size: neither one that is copied each time, nor a node for each word
    if (last?.length < 4096) last.appendData(rest);
    else part.append(rest);
    part.dataset.n = at + n;
  });
  return true;
}

// --- the stream

const SILENCE_MS = 40000; // two heartbeats and a bit
const REST_MS = 20000;
let source = null;
let place = "";
let [resting, timer, failures, heardAt] = [0, 0, 0, 0];
let fetching = false;
let unfetched = false; // the page should have been fetched, and was not

const streamPath = () => $("main")?.dataset.stream ?? "";

function say(text, kind) {
  const state = $("stream-state");
  set(state, "textContent", text);
  state.dataset.kind = kind;
}

function connect() {
  rest();
  if (!streamPath()) return;
  const address = new URL(streamPath(), location.origin);
  if (place) address.searchParams.set("since", place);
  source = new EventSource(address);
  const mine = source;
  const on = (name, act) =>
    mine.addEventListener(name, (event) => {
      if (mine !== source) return;
      heardAt = Date.now();
      if (act(event) === false) return refetch();
      unfetched = false;
      heard();
      if (event.lastEventId) place = event.lastEventId;
    });
  mine.onopen = heard;
  on("beat", () => {});
  on("swap", (event) => swap(JSON.parse(event.data)));
  on("text", (event) => grow(JSON.parse(event.data)));
  on("attention", (event) => notify(JSON.parse(event.data)));
  on("gap", () => false);
  on("gone", () => location.reload());
  mine.onerror = () => mine === source && reconnect();
  // The first may be put on a connection that died while the tab slept; each next one is given more time.
  const again = () => mine === source && mine.readyState !== EventSource.OPEN && reconnect();
  timer = setTimeout(again, Math.min(15000, 500 * 4 ** failures));
}

function heard() {
  heardAt = Date.now();
  if (unfetched) return;
  if (failures) say(words.back, "back");
  failures = 0;
}

function reconnect() {
  // The first try is at once, the next ones after 1, 2, 4 and then 5 seconds. A stream does not say why it was refused:
  // every second time the page is fetched instead, and says it.
  rest();
  failures += 1;
  if (failures > 1) say(words.away, "away");
  timer = setTimeout(failures % 2 ? connect : refetch, failures === 1 ? 0 : Math.min(5000, 500 * 2 ** (failures - 1)));
}

async function refetch() {
  if (fetching) return;
  fetching = true;
  rest();
  try {
    const reply = await fetch(location.href, { headers: { Accept: "text/html" } });
    const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
    const page = fresh.getElementById("page");
    if (reply.status >= 500) throw new Error("try again");
    if (reply.status === 401 || !page) return location.reload();
    const stream = fresh.getElementById("main").dataset.stream ?? ""; // none: it says that it is gone
    keepPlace(() => {
      morph($("page"), document.adoptNode(page));
      const badge = fresh.getElementById("nav-badge");
      if (badge && $("nav-badge")) morph($("nav-badge"), document.adoptNode(badge));
      refreshTimes();
    });
    $("main").dataset.stream = stream;
    place = "";
    unfetched = fetching = false;
    connect();
  } catch {
    unfetched = true;
    fetching = false;
    reconnect();
  }
}

function rest() {
  // Browsers open six connections to one server: tabs that nobody looks at must not take them all.
  clearTimeout(timer);
  source?.close();
  source = null;
}

function lookAgain() {
  clearTimeout(resting);
  if (document.visibilityState !== "visible") {
    if (!notifies()) resting = setTimeout(rest, REST_MS);
    return;
  }
  // A tab that was in the background may hold a connection that is long dead without knowing it.
  if (!streamPath() || fetching || (source?.readyState === EventSource.OPEN && Date.now() - heardAt < 5000)) return;
  failures = Math.max(0, failures - 1);
  connect();
}

document.addEventListener("visibilitychange", lookAgain);
addEventListener("online", lookAgain);
addEventListener("pageshow", (event) => event.persisted && refetch());
setInterval(() => source && Date.now() - heardAt > SILENCE_MS && reconnect(), 5000);

// --- forms

const sending = new WeakSet();
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.method !== "post" || form.classList.contains("plain-post") || !$("page")) return;
  event.preventDefault();
  if (sending.has(form)) return;
  sending.add(form);
  const buttons = [...form.querySelectorAll("button")];
  const body = new FormData(form, event.submitter);
  for (const one of buttons) one.setAttribute("aria-disabled", "true");
  notice("");
  try {
    const reply = await fetch(form.action, { method: "POST", body, headers: { "X-Fairlead-Script": "1" } });
    if (reply.status === 401) location.reload();
    else if (!reply.ok) notice(reply.headers.get("Content-Type")?.startsWith("text/html") ? await reply.text() : null);
    else accepted(form, reply.headers.get("X-Fairlead-Next"));
  } catch {
    notice(null);
  } finally {
    sending.delete(form);
    for (const one of buttons) one.removeAttribute("aria-disabled");
  }
});

function accepted(form, next) {
  if (form.id === "composer") {
    form.reset();
    form.elements.namedItem("key").value = crypto.getRandomValues(new Uint32Array(4)).join("-");
    draft("");
    fit(form.querySelector("textarea"));
    toEnd();
  }
  if (next?.startsWith("/") && form.classList.contains("goes-on")) location.assign(next);
}

function notice(html, text = words.failed) {
  const box = $("notice");
  if (!box) return;
  box.replaceChildren();
  if (html === "") return;
  box.append((html && parse(html)) || text);
  box.scrollIntoView({ block: "nearest" });
}

// --- the composer: Ctrl-Enter sends, the text grows with its content, and a draft survives a reload

const draftKey = () => `draft:${location.pathname}`;
const draft = (text) => store(draftKey(), text, "sessionStorage");

function fit(area) {
  if (!CSS.supports("field-sizing", "content")) area.rows = Math.min(12, Math.max(2, area.value.split("\n").length));
}

document.addEventListener("input", (event) => {
  if (event.target.form?.id !== "composer" || event.target.name !== "message") return;
  draft(event.target.value);
  fit(event.target);
});

document.addEventListener("paste", (event) => {
  const input = $("composer")?.querySelector("input[type=file]");
  if (input && event.clipboardData?.files.length && event.target.form === $("composer")) input.files = event.clipboardData.files;
});

// --- changes: a line is quoted in the composer, and the arrows go from line to line

document.addEventListener("click", (event) => {
  const line = event.target.closest?.(".hunk .line");
  const field = $("composer")?.elements.namedItem("message");
  if (!line || !field || event.ctrlKey || event.metaKey || String(getSelection())) return;
  event.preventDefault();
  const sign = line.matches(".added") ? "+" : line.matches(".removed") ? "-" : " ";
  const [number, code] = line.children;
  const quoted = `> ${line.closest(".file").dataset.path}:${number.textContent}\n> ${sign}${code.textContent}\n\n`;
  if (!field.value.endsWith(quoted)) field.value += (field.value && !field.value.endsWith("\n") ? "\n\n" : "") + quoted;
  field.form.classList.add("quoting");
  draft(field.value);
  fit(field);
  field.focus({ preventScroll: true });
  field.setSelectionRange(field.value.length, field.value.length);
  field.scrollTop = field.scrollHeight;
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.form?.id === "composer")
    event.target.form.requestSubmit();
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || !event.target.matches?.("a.n")) return;
  const all = [...document.querySelectorAll("a.n")].filter((one) => one.offsetParent);
  event.preventDefault();
  all[all.indexOf(event.target) + step]?.focus();
});

// --- notifications, where the person allowed them and looks at no page of ours

const canNotify = () => "Notification" in window && Notification.permission !== "denied";
const notifies = () => canNotify() && Notification.permission === "granted" && stored("notify") === "on";
const isLookedAt = () => document.visibilityState === "visible" || Date.now() - Number(stored("looked")) < 3000;

function notify({ title, body, path }) {
  if (!notifies() || isLookedAt()) return;
  const shown = new Notification(title, { body, tag: `${path} ${body}` });
  shown.onclick = () => (shown.close(), focus(), location.assign(path));
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-notify]");
  if (!button || !canNotify()) return;
  const wanted = button.dataset.notify === "on" && (await Notification.requestPermission()) === "granted";
  store("notify", wanted ? "on" : "off");
  try {
    if (wanted) new Notification("Fairlead", { body: words.notify, tag: "on" });
  } catch {
    store("notify", "off"); // some phones show them for installed apps alone
    notice(null, words.cannot);
  }
  showNotifyState();
});

function showNotifyState() {
  for (const one of document.querySelectorAll("[data-notify]")) one.hidden = !canNotify() || (one.dataset.notify === "on") === notifies();
}

// --- times

const lang = document.documentElement.lang || "en";
const ago = new Intl.RelativeTimeFormat(lang, { numeric: "auto", style: "short" });
const whole = new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "medium" });
const two = "2-digit";
const clock = new Intl.DateTimeFormat(lang, { hourCycle: "h23", hour: two, minute: two, second: two, fractionalSecondDigits: 3 });
const STEPS = [[60, "second", 1], [3600, "minute", 60], [86400, "hour", 3600], [604800, "day", 86400]];

function spell(seconds) {
  const pad = (n) => String(n % 60).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  if (!minutes) return `${seconds}s`;
  return minutes < 60 ? `${minutes}m${pad(seconds)}s` : `${Math.floor(minutes / 60)}h${pad(minutes)}m`;
}

function refreshTimes() {
  const now = Date.now();
  for (const one of document.querySelectorAll("time[datetime]")) {
    const then = Date.parse(one.dateTime);
    if (Number.isNaN(then)) continue;
    const past = Math.max(0, (now - then) / 1000);
    const step = STEPS.find(([limit]) => past < limit);
    const told = () => (one.dataset.whole !== undefined || !step ? whole.format(then) : ago.format(-Math.floor(past / step[2]), step[1]));
    set(one, "textContent", one.dataset.clock !== undefined ? clock.format(then) : told());
    set(one, "title", whole.format(then));
  }
  for (const one of document.querySelectorAll(".elapsed[data-since]")) {
    const since = Date.parse(one.dataset.since);
    if (since) set(one, "textContent", spell(Math.max(0, Math.floor((now - since) / 1000))));
  }
}

// --- the start

$("enter")?.requestSubmit();
const current = $("nav")?.querySelector("[aria-current]"); // a phone's menu scrolls; scrollIntoView would move the keyboard too
if (current) current.closest("ul").scrollLeft = current.offsetLeft - (innerWidth - current.offsetWidth) / 2;
const area = $("composer")?.querySelector("textarea");
if (area && !area.value) area.value = stored(draftKey(), "sessionStorage") ?? "";
if (area) fit(area);
refreshTimes();
setInterval(() => {
  if (document.visibilityState !== "visible") return;
  refreshTimes();
  if (notifies()) store("looked", Date.now());
}, 1000);
showNotifyState();
if ($("main")?.querySelector("[data-follow]") && !location.hash) toEnd();
connect();
