// What all pages do: they follow the model's events, fetch what has changed, say since when they show old data, plan and run
// commands in a dialog, and show times as their reader's clock does.
(() => {
  "use strict";
  const part = { headers: { "Juju-Part": "1" }, redirect: "error" };
  const dialog = document.getElementById("dialog");

  // Times come in UTC.
  function localize(root) {
    for (const t of root.querySelectorAll("time[datetime]")) {
      const at = new Date(t.dateTime), today = at.toDateString() === new Date().toDateString();
      t.title = at.toLocaleString();
      t.textContent = today ? at.toLocaleTimeString() : at.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
    }
  }

  // merge replaces what an element has by a page's part, and flashes the rows that differ. What a user has opened, or
  // has begun to fill in, stays.
  function merge(element, html) {
    const fresh = document.createElement("template");
    fresh.innerHTML = html;
    localize(fresh.content);
    const was = new Map([...element.querySelectorAll("tr[id]")].map((r) => [r.id, r.textContent]));
    Idiomorph.morph(element, fresh.content, {
      morphStyle: "innerHTML", ignoreActiveValue: true,
      callbacks: {
        beforeNodeMorphed: (old) => !(old.id === "log" || old.dataset?.dirty),
        beforeAttributeUpdated: (name, node) => !(name === "open" && node.tagName === "DETAILS"),
      },
    });
    for (const row of element.querySelectorAll("tr[id]")) {
      if (was.size === 0 || was.get(row.id) === row.textContent) continue;
      row.classList.remove("flash");
      void row.offsetWidth; // restarts the animation
      row.classList.add("flash");
    }
  }

  // The page follows its events.
  const state = document.getElementById("live");
  let last = new Date(), waiting = false, behind = false, retry;
  const juju = window.juju = { refresh, draw: async () => {} }; // draw is another script's, and fails if it must be tried again
  function show(ok) {
    if (!state) return;
    const text = ok ? "live" : `not connected; this is how it was at ${last.toLocaleTimeString()}`;
    if (state.textContent === text) return;
    state.className = ok ? "live" : "stale";
    state.textContent = text;
  }

  // refresh fetches what the page shows; at most one request is on its way, and one follows if more has changed meanwhile.
  async function refresh() {
    if (waiting) {
      behind = true;
      return;
    }
    waiting = true;
    clearTimeout(retry);
    try {
      do {
        behind = false;
        const element = document.querySelector("[data-live]");
        if (element) {
          const reply = await fetch(location.href, part);
          const text = await reply.text();
          if (!reply.ok && reply.status !== 404) throw new Error(reply.statusText);
          merge(element, text);
        }
        await juju.draw();
        last = new Date();
        show(true);
      } while (behind);
    } catch {
      show(false);
      retry = setTimeout(refresh, 2000);
    } finally {
      waiting = false;
    }
  }
  function follow(url, handlers) {
    const events = new EventSource(url); // reconnects by itself, unless the server refuses
    for (const [name, handle] of Object.entries(handlers)) events.addEventListener(name, handle);
    events.addEventListener("end", () => { events.close(); setTimeout(() => follow(url, handlers), 2000); });
    events.addEventListener("error", async () => {
      if (events.readyState !== EventSource.CLOSED) return;
      const reply = await fetch(location.href, part).catch(() => null); // a session that has ended redirects
      if (reply === null && navigator.onLine && await loggedOut()) return location.assign("/dashboard/login");
      setTimeout(() => follow(url, handlers), 2000);
    });
    return events;
  }
  async function loggedOut() {
    const reply = await fetch("/dashboard/", { redirect: "manual" }).catch(() => null);
    return reply?.type === "opaqueredirect";
  }
  if (document.body.dataset.events) {
    follow(document.body.dataset.events, { changed: refresh, open: () => show(true), error: () => show(false) });
  }

  // The log of an agent grows at its end.
  const log = document.getElementById("log"), linesKept = 1000;
  if (log) {
    follow(log.dataset.log, {
      open: () => log.replaceChildren(),
      line: (e) => {
        const line = JSON.parse(e.data), atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 8;
        const row = document.createElement("div");
        row.className = line.severity.toLowerCase();
        row.textContent = `${new Date(line.time).toLocaleTimeString()} ${line.severity} ${line.module} ${line.message}`;
        log.append(row);
        while (log.childElementCount > linesKept) log.firstElementChild.remove();
        if (atEnd) log.scrollTop = log.scrollHeight;
      },
    });
  }

  // Commands are planned and run in a dialog; without it they are pages of their own.
  async function inDialog(url, init) {
    dialog.innerHTML = '<p class="soft" role="status">Planning…</p>';
    if (init) dialog.firstElementChild.textContent = "Running…";
    if (!dialog.open) dialog.showModal();
    try {
      const reply = await fetch(url, Object.assign({}, part, init));
      merge(dialog, await reply.text());
    } catch {
      dialog.innerHTML = '<p class="health failing" role="alert">The controller does not answer.</p>';
    }
    dialog.querySelector("h1")?.setAttribute("tabindex", "-1");
    dialog.querySelector("h1")?.focus();
  }
  addEventListener("input", (e) => { if (e.target.form && !dialog.contains(e.target)) e.target.form.dataset.dirty = "1"; });
  addEventListener("click", (e) => {
    const link = e.target.closest?.("a[data-command], a[data-close], button[data-copy]");
    if (!link || e.ctrlKey || e.metaKey) return;
    if (link.dataset.copy !== undefined) {
      navigator.clipboard?.writeText(link.dataset.copy).then(() => { link.textContent = "Copied"; });
      return;
    }
    if (link.dataset.close !== undefined) {
      if (!dialog.open) return;
      dialog.close();
    } else {
      inDialog(link.href);
    }
    e.preventDefault();
  });
  addEventListener("submit", (e) => {
    const form = e.target, button = e.submitter;
    if (form.dataset.command === undefined && form.dataset.run === undefined) return;
    if (form.dataset.run !== undefined && !dialog.open) return; // on a page of its own
    e.preventDefault();
    delete form.dataset.dirty;
    const query = new URLSearchParams(new FormData(form));
    if ((button?.getAttribute("formmethod") ?? form.getAttribute("method")) === "get") inDialog(form.getAttribute("action") + "?" + query);
    else inDialog(form.getAttribute("action"), { method: "POST", body: query });
  });
  dialog?.addEventListener("close", () => { dialog.replaceChildren(); refresh(); });

  const login = document.getElementById("login");
  if (login && location.hash.length > 1) {
    login.elements.code.value = location.hash.slice(1);
    history.replaceState(null, "", location.pathname); // the log-in stays out of the history
    login.submit();
  }
  localize(document);
})();
