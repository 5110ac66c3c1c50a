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
  let last = new Date(), waiting = false, behind = false, over = false, retry;
  const juju = window.juju = { refresh, draw: async () => {} }; // draw is another script's, and fails if it must be tried again
  function show(ok, why = "not connected") {
    if (!state || over) return;
    const text = ok ? "live" : `${why}; this is how it was at ${last.toLocaleTimeString()}`;
    if (state.textContent === text) return;
    state.className = ok ? "live" : "stale";
    state.textContent = text;
  }

  // refresh fetches what the page shows; at most one request is on its way, and one follows if more has changed meanwhile.
  async function refresh() {
    if (over) return;
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
  // follow hears events while its page is visible: of all tabs together, browsers open six connections to a host.
  function follow(url, handlers) {
    let events = null, timer;
    function close() {
      clearTimeout(timer);
      events?.close();
      events = null;
    }
    function later() {
      close();
      if (!over) timer = setTimeout(open, 2000);
    }
    async function refused(e) { // EventSource reconnects by itself, unless the server refuses
      if (e.target.readyState !== EventSource.CLOSED) return;
      const reply = await fetch(location.href, part).catch(() => null); // a session that has ended redirects
      if (reply?.status === 403 || reply?.status === 404) end(await reply.text());
      else if (reply === null && navigator.onLine && await loggedOut()) logIn();
      if (e.target === events) later();
    }
    function open() {
      if (events || document.hidden) return;
      events = new EventSource(url);
      for (const [name, handle] of Object.entries(handlers)) events.addEventListener(name, handle);
      events.addEventListener("end", later);
      events.addEventListener("error", refused);
    }
    document.addEventListener("visibilitychange", () => { document.hidden ? close() : open(); });
    open();
  }

  // end shows why there is nothing to follow any more: the model was removed, or its user may no longer read it.
  function end(html) {
    if (over) return;
    over = true;
    state.textContent = state.className = "";
    merge(document.getElementById("main"), html);
  }

  // logIn leaves the page of a session that has ended, unless its user would lose something.
  function logIn() {
    if (!dialog.open && !document.querySelector("[data-dirty]")) return location.assign("/dashboard/login");
    show(false, "your session has ended; log in again in another tab");
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
  let asked = 0, origin = null; // how often the dialog was filled, and the form that it is about
  const closer = '<p class="buttons"><a class="button" data-close href="">Close</a></p>';
  async function inDialog(url, init, doing = "Planning…") {
    const mine = ++asked;
    dialog.innerHTML = `<p class="soft" role="status">${doing}</p>${closer}`;
    if (!dialog.open) dialog.showModal();
    let html;
    try {
      html = await (await fetch(url, Object.assign({}, part, init))).text();
    } catch {
      const why = await loggedOut() ? "Your session has ended. Log in again in another tab, and go on here." : "The controller does not answer.";
      html = `<p class="health failing" role="alert">${why}</p>`;
    }
    if (mine !== asked) return; // it was closed meanwhile
    merge(dialog, html);
    if (!dialog.querySelector("[data-close]")) dialog.insertAdjacentHTML("beforeend", closer);
    if (origin && dialog.querySelector("[data-done]")) delete origin.dataset.dirty;
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
      origin = null;
      inDialog(link.href);
    }
    e.preventDefault();
  });
  addEventListener("submit", (e) => {
    const form = e.target, button = e.submitter;
    if (form.dataset.command === undefined && form.dataset.run === undefined) return;
    if (form.dataset.run !== undefined && !dialog.open) return; // on a page of its own
    e.preventDefault();
    const query = new URLSearchParams(new FormData(form, button)), runs = form.dataset.run !== undefined && button?.name !== "plan";
    if (!runs && !dialog.contains(form)) origin = form;
    if (form.getAttribute("method") === "get") inDialog(form.getAttribute("action") + "?" + query);
    else inDialog(form.getAttribute("action"), { method: "POST", body: query }, runs ? "Running…" : undefined);
  });
  dialog?.addEventListener("close", () => {
    if (!dialog.open) { // the event may come after the dialog has been opened again
      asked++;
      dialog.replaceChildren();
    }
    refresh();
  });

  const login = document.getElementById("login");
  if (login && location.hash.length > 1) {
    login.elements.code.value = location.hash.slice(1);
    history.replaceState(null, "", location.pathname); // the log-in stays out of the history
    login.submit();
  }
  localize(document);
})();
