// Parts that change by themselves. An element with data-poll gets the event "poll" every so many seconds, which htmx
// answers by a request. Tabs that nobody sees don't ask; when they are seen again, they ask at once. After a failure
// the time doubles, up to a minute.
const last = new WeakMap(); // element: {at, failures, waits}

function due(e, now) {
  const s = last.get(e);
  const seconds = Math.min(60, (Number(e.dataset.poll) || 2) * 2 ** (s?.failures ?? 0));
  return !s?.waits && now - (s?.at ?? 0) >= seconds * 1000;
}

function look(now = Date.now()) {
  if (document.hidden) return;
  for (const e of document.querySelectorAll("[data-poll]")) {
    if (!last.has(e)) {
      last.set(e, { at: now, failures: 0, waits: false }); // it has just come from the server
    } else if (due(e, now)) {
      const s = last.get(e);
      s.at = now;
      e.dispatchEvent(new CustomEvent("poll"));
    }
  }
}

function finished(event, failed) {
  const s = last.get(event.target);
  if (!s) return;
  s.waits = false;
  s.failures = failed ? s.failures + 1 : 0;
}

document.addEventListener("htmx:before:request", (event) => {
  const s = last.get(event.target);
  if (s) s.waits = true;
});
document.addEventListener("htmx:finally:request", (event) => {
  const s = last.get(event.target);
  if (s) s.waits = false;
});
document.addEventListener("htmx:after:request", (event) => {
  finished(event, event.detail?.ctx?.response?.status >= 500);
});
document.addEventListener("htmx:error", (event) => finished(event, true));

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  for (const e of document.querySelectorAll("[data-poll]")) {
    const s = last.get(e);
    if (s) s.at = 0;
  }
  look();
});
setInterval(look, 500);
look();
