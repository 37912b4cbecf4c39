//go:build unix

package browsertest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/lab/browsertest"
)

// Rows that repeat each other are one row, which can be opened and stays open while the page changes.
func (o *opened) openRepeatedRows(t *testing.T) {
	const times = `document.querySelector("details.times")`
	for range 3 { // the server rejects each in the same way
		if _, err := o.Weather.Call(t.Context(), "forecast", `{"city":"Oslo","days":"many"}`); err != nil {
			t.Fatal(err)
		}
	}
	p := o.page(t, "/timeline?server=weather")
	must(t, p.Wait(times+` && /×\d+, last \d\d:\d\d|×\d+\d+ times, last \d\d:\d\d/.test(`+times+`.querySelector("summary").innerText.replace(/\n/g, ""))`))
	press(t, p, "details.times summary", enter)
	must(t, p.Wait(times+`.open && `+times+`.querySelector("ul a").offsetParent`))
	must(t, p.Eval(`window.marker = document.querySelectorAll("ol.line > li").length`, nil))
	if _, err := o.Weather.Call(t.Context(), "forecast", `{"city":"Oslo","days":"4"}`); err != nil {
		t.Fatal(err)
	}
	must(t, p.Wait(`document.querySelectorAll("ol.line > li").length > window.marker && `+times+`.open`))
	for _, look := range browsertest.Looks {
		check(t, p, look)
	}
}

// The log follows what the server prints, and stays where the user scrolled to, also if that was while the
// page changed.
func (o *opened) followTheLog(t *testing.T) {
	s, err := o.Notes.Server(t.Context())
	must(t, err)
	p := o.page(t, "/servers/"+s.ID)
	must(t, p.Click(`a.button[href*="/log?server=notes"]`))
	must(t, p.WaitText("notes: cache is cold"))
	must(t, p.WaitText("session restored"))
	must(t, p.Eval("window.marker = 1", nil))
	say := func(text string) {
		t.Helper()
		if _, err := o.Notes.Call(t.Context(), "stderr", fmt.Sprintf(`{"message":%q}`, text+"\n")); err != nil {
			t.Fatal(err)
		}
		must(t, p.WaitText(text))
	}
	// Far more than fits: a log that ends just below its frame counts as followed.
	for n := range 80 {
		if _, err := o.Notes.Call(t.Context(), "stderr", fmt.Sprintf(`{"message":"notes: line %d\n"}`, n)); err != nil {
			t.Fatal(err)
		}
	}
	const log = `document.getElementById("log")`
	say("notes: <b>cache is warm</b>")
	must(t, p.Wait(log+`.scrollHeight > `+log+`.clientHeight && `+log+`.scrollTop + `+log+`.clientHeight > `+log+`.scrollHeight - 5`))
	must(t, p.Eval(`document.addEventListener("htmx:afterSwap", () => {
		`+log+`.scrollTop = 0;
		document.addEventListener("htmx:afterSettle", () => { window.marker = 2; }, { once: true });
	}, { once: true })`, nil))
	say("notes: cache is hot")
	must(t, p.Wait(`window.marker === 2 && `+log+`.scrollTop === 0`))
	must(t, p.Eval(log+`.scrollTop = 30`, nil))
	say("notes: cache is full")
	must(t, p.Wait(`window.marker === 2 && `+log+`.scrollTop === 30 && !`+log+`.querySelector("b:not(.good)")`))
	for _, look := range browsertest.Looks {
		check(t, p, look)
	}
}

// noted replaces the browser's Notification, which headless Chromium does not show, by one that notes.
const noted = `window.noted = []; window.Notification = class extends Notification {
	constructor(title, options) { super(title, options); window.noted.push(title + "|" + options.body); }
}`

// A server that dies permanently is a notification: only if the user turned them on, once, and also in the
// background. What was dead before is none.
func (o *opened) notifyOfADeath(t *testing.T) {
	must(t, o.Grant("notifications"))
	p := o.page(t, "/")
	must(t, p.Eval(noted, nil))
	must(t, p.Wait(`JSON.parse(localStorage.getItem("gauze-deaths") || "[]").length > 0`)) // search
	must(t, p.Wait(`document.getElementById("notify").getAttribute("aria-pressed") === "false"`))
	press(t, p, "#notify", enter)
	must(t, p.Wait(`document.getElementById("notify").getAttribute("aria-pressed") === "true"`))
	other := o.page(t, "/timeline") // in front: the first page is in the background
	must(t, other.Eval(noted, nil))
	must(t, other.Wait(`document.getElementById("notify").getAttribute("aria-pressed") === "true"`))
	must(t, p.SetHidden(true))
	must(t, other.SetHidden(true))
	w, err := o.Wrap(t.Context(), browsertest.WrapOptions{Name: "archive", Client: "Cursor",
		Gauze: []string{"--patience", "1s", "--restart-backoff", "10ms"}, Server: []string{"-exit-at-start=skip=1,code=1,stderr=Error: Cannot find module 'express'"}})
	must(t, err)
	defer w.Close()
	if _, err := w.Call(t.Context(), "die_read", `{"times":9}`); err != nil {
		t.Fatal(err)
	}
	var first, second []string
	for _, page := range []*browsertest.Page{p, other} {
		must(t, page.Wait(`JSON.parse(localStorage.getItem("gauze-deaths")).length > 1`))
	}
	must(t, p.SetHidden(false)) // both have heard of it when they are visible again
	must(t, other.SetHidden(false))
	const heard = `document.getElementById("connection").innerText === "live"`
	must(t, p.Wait(heard))
	must(t, other.Wait(heard))
	must(t, p.Eval("window.noted", &first))
	must(t, other.Eval("window.noted", &second))
	all := append(first, second...)
	if len(all) != 1 || !strings.HasPrefix(all[0], "archive is not running|") || !strings.Contains(all[0], "express") {
		t.Errorf("the notifications are %q", all)
	}
	must(t, p.Click("#notify"))
	must(t, other.Wait(`document.getElementById("notify").getAttribute("aria-pressed") === "false"`))
}

// Results of a check appear one by one, with how many there are.
func (o *opened) checkAllServers(t *testing.T) {
	p := o.page(t, "/configs")
	must(t, p.WaitText("not checked"))
	must(t, p.Click("form[action$='/configs/check'] button"))
	must(t, p.Wait(`/Checked \d of 3…/.test(document.body.innerText) && document.querySelector("progress[max='3']") || !document.body.innerText.includes("not checked")`))
	must(t, p.Wait(`!document.querySelector("progress") && document.querySelectorAll("td[data-label=State] time").length === 3`))
	for _, look := range browsertest.Looks {
		check(t, p, look)
	}
}

// A command is copied with a button, also by keyboard.
func (o *opened) copyACommand(t *testing.T) {
	must(t, o.Grant("clipboard-read"))
	must(t, o.Grant("clipboard-write"))
	empty := o.Elsewhere("empty")
	defer empty.Close()
	address, err := empty.Dashboard(t.Context())
	must(t, err)
	home, err := o.LogIn(address)
	must(t, err)
	p, err := o.NewPage(home+"/", browsertest.Looks[0])
	must(t, err)
	defer p.Close()
	must(t, p.WaitText("Start here"))
	press(t, p, "[data-copy]", enter)
	must(t, p.Wait(`document.querySelector("[data-copy].done") && document.getElementById("said").textContent === "Copied."`))
	var copied string
	must(t, p.Eval("navigator.clipboard.readText()", &copied))
	if copied != "gauze wrap --all" {
		t.Errorf("copied %q", copied)
	}
	for _, look := range browsertest.Looks {
		check(t, p, look)
	}
	for _, problem := range p.Problems() {
		t.Error(problem)
	}
}
