// The page reloads its content when the server reports a change, without moving focus or scroll.
"use strict";
(() => {
  // What the user typed, opened or marks with data-keep stays as it is.
  Object.assign(Idiomorph.defaults, { ignoreActiveValue: true });
  Object.assign(Idiomorph.defaults.callbacks, {
    beforeNodeMorphed: (old) => !(old instanceof Element && old.hasAttribute("data-keep")),
    beforeAttributeUpdated: (name, node) => !(name === "open" && node.tagName === "DETAILS"),
  });
  document.documentElement.classList.add("js");
  const said = document.getElementById("said");

  const refresh = () => {
    if (!document.hidden && document.querySelector("#page[hx-get]")) htmx.trigger("#page", "refresh");
  };

  // A log shows its end, and goes on doing so unless the user scrolled up: then it stays where it is. Between
  // these two events the user cannot scroll; htmx:afterSettle comes later.
  const atEnd = (log) => log.scrollTop + log.clientHeight > log.scrollHeight - 5;
  const logs = () => document.querySelectorAll("[data-follow]");
  logs().forEach((log) => { log.scrollTop = log.scrollHeight; });
  let places = {};
  document.addEventListener("htmx:beforeSwap", () => {
    places = Object.fromEntries([...logs()].map((log) => [log.id, atEnd(log) ? Infinity : log.scrollTop]));
  });
  document.addEventListener("htmx:afterSwap", () => {
    logs().forEach((log) => { log.scrollTop = Math.min(places[log.id] ?? Infinity, log.scrollHeight); });
  });

  // Notifications: one for each server that died permanently, if the user turned them on. What happened
  // before that is not reported.
  const button = document.getElementById("notify");
  const possible = "Notification" in window && "locks" in navigator;
  const wanted = () => possible && localStorage.getItem("gauze-notify") === "on" && Notification.permission === "granted";
  const showSwitch = () => {
    button.hidden = !possible;
    button.setAttribute("aria-pressed", String(wanted()));
  };
  button.addEventListener("click", async () => {
    const on = !wanted() && await Notification.requestPermission() === "granted";
    localStorage.setItem("gauze-notify", on ? "on" : "off");
    said.textContent = on ? "Notifications are on." : Notification.permission === "denied" ? "The browser blocks notifications from this page." : "Notifications are off.";
    button.title = said.textContent;
    showSwitch();
  });
  addEventListener("storage", showSwitch); // another tab
  const maxKnown = 200;
  const died = (e) => {
    if (!possible) return;
    const death = JSON.parse(e.data);
    navigator.locks.request("gauze-deaths", () => { // several tabs hear of it at the same time
      const known = JSON.parse(localStorage.getItem("gauze-deaths") || "[]");
      if (known.includes(death.id)) return;
      localStorage.setItem("gauze-deaths", JSON.stringify([...known, death.id].slice(-maxKnown)));
      if (wanted()) new Notification(death.title, { body: death.text, tag: death.id });
    });
  };
  showSwitch();

  // The stream is open while the page is visible: a browser allows six connections to one address. For
  // notifications, one of the pages that are not visible keeps it open.
  const status = document.getElementById("connection");
  let source = null;
  const connect = () => {
    if (source) return;
    source = new EventSource(document.body.dataset.live);
    source.onopen = () => {
      status.textContent = "live";
      refresh(); // something may have changed since the page was made
    };
    source.addEventListener("change", refresh);
    source.addEventListener("death", died);
    source.onerror = () => {
      status.textContent = "not connected";
      if (source && source.readyState === EventSource.CLOSED) { // logged out, or gauze ended
        source = null;
        setTimeout(() => { if (!document.hidden || watching) connect(); }, 5000);
      }
    };
  };
  const disconnect = () => {
    if (source) source.close();
    source = null;
  };
  let watching = null; // ends what this page does in the background
  const watch = () => {
    const turn = new AbortController();
    watching = () => turn.abort();
    navigator.locks.request("gauze-background", { signal: turn.signal }, () => new Promise((end) => {
      if (turn.signal.aborted) return end();
      connect();
      watching = end;
    })).catch(() => {}); // the page became visible before its turn
  };
  const look = () => {
    if (watching) watching();
    watching = null;
    if (!document.hidden) {
      refresh();
      connect();
      return;
    }
    disconnect();
    if (wanted()) watch();
  };
  document.addEventListener("visibilitychange", look);
  addEventListener("pagehide", disconnect);
  addEventListener("pageshow", look);
  look();
  setInterval(() => { if (source) refresh(); }, 30000); // "2 min ago"
  setInterval(() => { if (source && logs().length) refresh(); }, 1000); // a server that prints a line is no change

  document.addEventListener("click", async (e) => {
    const copy = e.target.closest("[data-copy]");
    if (!copy) return;
    await navigator.clipboard.writeText(copy.parentElement.querySelector("code").textContent);
    copy.classList.add("done");
    said.textContent = "Copied.";
    setTimeout(() => { copy.classList.remove("done"); said.textContent = ""; }, 2000);
  });

  // The key / moves to the filter.
  document.addEventListener("keydown", (e) => {
    const filter = document.querySelector("[data-filter]");
    if (e.key !== "/" || !filter || e.ctrlKey || e.metaKey || e.altKey || e.target.matches("input, select, textarea")) return;
    e.preventDefault();
    filter.focus();
  });
})();
