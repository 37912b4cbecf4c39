(() => {
  "use strict";
  const index = JSON.parse(document.getElementById("index").textContent);
  const input = document.getElementById("q");
  const list = document.getElementById("found");
  const count = document.getElementById("count");
  const most = 40;
  for (const s of index) s.low = { head: ((s.h || s.t)).toLowerCase(), all: (s.t + " " + (s.h || "") + " " + s.x).toLowerCase() };

  // score ranks a section: every word must be in it, and headings count most.
  const score = (s, words, whole) => {
    if (!words.every((w) => s.low.all.includes(w))) return 0;
    let n = 1;
    if (s.low.head === whole) n += 100;
    else if (s.low.head.includes(whole)) n += 40;
    if (s.low.all.includes(whole)) n += 10;
    for (const w of words) if (s.low.head.includes(w)) n += 8;
    return n;
  };

  // excerpt returns the text around the first word.
  const excerpt = (s, words) => {
    const at = Math.max(0, ...words.map((w) => s.x.toLowerCase().indexOf(w)));
    const from = Math.max(0, at - 60);
    return (from > 0 ? "…" : "") + s.x.slice(from, from + 180) + (from + 180 < s.x.length ? "…" : "");
  };

  const item = (s, words) => {
    const li = document.createElement("li");
    const a = document.createElement("a");
    a.href = s.p + (s.a ? "#" + s.a : "");
    a.textContent = s.h || s.t;
    const where = document.createElement("span");
    where.textContent = s.h ? s.t : "";
    const text = document.createElement("p");
    text.textContent = excerpt(s, words);
    li.append(a, " ", where, text);
    return li;
  };

  const search = () => {
    const whole = input.value.trim().toLowerCase();
    const words = whole.split(/\s+/).filter(Boolean);
    const found = words.length === 0 ? [] : index.map((s) => [score(s, words, whole), s]).filter(([n]) => n > 0)
      .sort((a, b) => b[0] - a[0]);
    list.replaceChildren(...found.slice(0, most).map(([, s]) => item(s, words)));
    count.textContent = words.length === 0 ? "Type what you look for: a code, a command, a message."
      : found.length === 0 ? "Nothing found."
      : found.length > most ? `${found.length} places, the best ${most} below.`
      : found.length === 1 ? "1 place." : `${found.length} places.`;
  };

  input.value = new URLSearchParams(location.search).get("q") || "";
  input.addEventListener("input", search);
  input.form.addEventListener("submit", (e) => {
    e.preventDefault();
    const first = list.querySelector("a");
    if (first) first.click();
  });
  // The arrows move through what was found.
  addEventListener("keydown", (e) => {
    if (e.key !== "ArrowDown" && e.key !== "ArrowUp") return;
    const all = [input, ...list.querySelectorAll("a")];
    const at = all.indexOf(document.activeElement);
    if (at < 0) return;
    e.preventDefault();
    all[Math.min(Math.max(at + (e.key === "ArrowDown" ? 1 : -1), 0), all.length - 1)].focus();
  });
  search();
  input.focus();
})();
