// The page reloads its content when the server reports a change, without moving focus or scroll.
"use strict";
(() => {
  // What the user typed, opened or marks with data-keep stays as it is.
  Object.assign(Idiomorph.defaults, { ignoreActiveValue: true });
  Object.assign(Idiomorph.defaults.callbacks, {
    beforeNodeMorphed: (old) => !(old instanceof Element && old.hasAttribute("data-keep")),
    beforeAttributeUpdated: (name, node) => !(name === "open" && node.tagName === "DETAILS"),
  });

  const refresh = () => {
    if (document.querySelector("#page[hx-get]")) htmx.trigger("#page", "refresh");
  };

  // The stream is open only while the page is visible: a browser allows six connections to one
  // address.
  const status = document.getElementById("connection");
  let source = null;
  const connect = () => {
    if (source || document.hidden) return;
    source = new EventSource(document.body.dataset.live);
    source.onopen = () => {
      status.textContent = "live";
      refresh(); // something may have changed since the page was made
    };
    source.addEventListener("change", refresh);
    source.onerror = () => {
      status.textContent = "not connected";
      if (source && source.readyState === EventSource.CLOSED) { // logged out, or gauze ended
        source = null;
        setTimeout(connect, 5000);
      }
    };
  };
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) {
      refresh();
      connect();
    } else if (source) {
      source.close();
      source = null;
    }
  });
  addEventListener("pagehide", () => { if (source) source.close(); source = null; });
  addEventListener("pageshow", connect);
  connect();
  setInterval(() => { if (!document.hidden && source) refresh(); }, 30000); // "2 min ago"

  // The key / moves to the filter.
  document.addEventListener("keydown", (e) => {
    const filter = document.querySelector("[data-filter]");
    if (e.key !== "/" || !filter || e.ctrlKey || e.metaKey || e.altKey || e.target.matches("input, select, textarea")) return;
    e.preventDefault();
    filter.focus();
  });
})();
