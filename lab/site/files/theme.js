(() => {
  "use strict";
  const root = document.documentElement;
  const stored = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const isDark = () => (stored() || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  // Pictures with a dark version follow the choice of the user.
  const apply = () => {
    const chosen = stored();
    if (chosen) root.dataset.theme = chosen;
    for (const source of document.querySelectorAll("picture source[media*=dark]")) {
      if (chosen) source.media = chosen === "dark" ? "all" : "not all";
    }
  };
  apply();
  addEventListener("DOMContentLoaded", () => {
    apply();
    document.getElementById("theme").addEventListener("click", () => {
      const next = isDark() ? "light" : "dark";
      try { localStorage.setItem("theme", next); } catch { root.dataset.theme = next; }
      apply();
    });
    const here = document.querySelector(".side [aria-current]");
    if (here) here.scrollIntoView({ block: "nearest" });
  });
  addEventListener("keydown", (e) => {
    if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA)$/.test(e.target.tagName)) return;
    e.preventDefault();
    document.getElementById("q").focus();
  });
})();
