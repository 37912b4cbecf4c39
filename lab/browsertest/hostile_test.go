//go:build unix

package browsertest_test

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/testonly/sample"
	"github.com/gauze-mcp/gauze/internal/views/live"
	"github.com/gauze-mcp/gauze/lab/browsertest"
)

// hostileTexts do something in a page that does not escape them. canary is not defined, so that a
// call of it is an exception, and the content security policy reports what it blocks.
var hostileTexts = []string{
	`<script>canary()</script>`, `</title><script>canary()</script>`, `<img src=x onerror=canary()>`, `"><svg onload=canary()>`, `' onmouseover='canary()`,
	`" autofocus onfocus="canary()`, `javascript:canary()`, `<a href="javascript:canary()">click</a>`, `<iframe srcdoc="<script>canary()</script>">`,
	`<form action="http://attacker.invalid/"><button>Log in</button></form>`, `<meta http-equiv="refresh" content="0;url=http://attacker.invalid/">`,
	`<div hx-get="/tasks" hx-trigger="load" hx-target="body">`, `<div hx-on:htmx:load="canary()" hx-vals="js:{a: canary()}">`, `<b data-hx-post="/servers/1-1/restart" data-hx-trigger="load">`,
	`{{.Data}} {{template "layout.html"}} ${canary()} {% raw %}`, `--> <!-- ]]> <![CDATA[`, `</pre></table></section></main><h1>Gauze</h1>`, `<style>body{display:none}</style>`,
	"%3Cscript%3Ecanary()%3C/script%3E", `\u003cscript\u003ecanary()\u003c/script\u003e`, "line\r\nSet-Cookie: a=b\r\n\r\n<script>canary()</script>",
	"\x1b[2J\x1b[31mred\x1b]8;;http://attacker.invalid\x07link\x1b]8;;\x07", "\u202e\u2066gnp.exe\u2069\u200f\u0000\ufeff",
}

// longTexts break the layout of a page that does not shorten or wrap them.
var longTexts = []string{strings.Repeat("a", 10<<10), strings.Repeat("𒐫ﷺ", 600), "e" + strings.Repeat("\u0301", 3000)}

// numHostile returns how many events have hostile texts: enough for every text to be in every place.
func numHostile() int { return sample.Size(10_000) }

var hostileKinds = []event.Kind{event.Started, event.Died, event.Restored, event.Replayed, event.Repaired, event.Saved, event.Failed, event.Unknown, event.Corrected,
	event.Explained, event.Diagnosed, event.HealthChanged, event.Healed, event.Treating, event.Refused, event.GaveUp, event.Stray, event.Quarantined, "<script>canary()</script>"}

// hostileEvent returns an event whose texts are all hostile. Some events have a long one.
func hostileEvent(n int) event.Event {
	text := func(i int) string {
		if n%5 == 0 && n/5%21 == i {
			return longTexts[n%len(longTexts)]
		}
		return hostileTexts[(n+i)%len(hostileTexts)]
	}
	e := event.Event{Time: time.Now().Add(-time.Duration(numHostile()-n) * time.Millisecond), Kind: hostileKinds[n%len(hostileKinds)], Server: text(0), Method: text(1), Tool: text(2),
		From: text(3), To: text(4), Code: fault.Code(text(5)), Reason: text(6), Detail: text(7), Client: text(8), Told: text(9), Took: time.Millisecond, Generation: n,
		Call: event.CallID(n/3 + 1), Changes: []event.Change{{Path: text(10), Rule: text(11), Reason: text(12), Before: text(13), After: text(14)}}}
	e.Cause = fault.Cause{Code: text(15), Explanation: text(16), Remedy: text(17), Changes: []string{text(18)}}
	e.Model = &event.Consultation{Model: text(19), Reason: text(20)}
	return e
}

// writeHostile records the events, as many at a time as fit into the stream's buffer.
func writeHostile(t *testing.T, state string) {
	t.Helper()
	t.Setenv("GAUZE_JOURNAL", "values") // also what was changed
	const chunk = 250
	for first := 0; first < numHostile(); first += chunk {
		stream := event.New()
		r := journal.NewRecorder(filepath.Join(state, journal.FileName), stream, func(err error) { t.Error(err) })
		for n := range chunk {
			stream.Emit(hostileEvent(first + n))
		}
		<-r.Close()
		if lost := r.Lost(); lost > 0 {
			t.Fatalf("%d events were not recorded", lost)
		}
	}
}

// announceHostile announces a wrap whose texts are all hostile.
func announceHostile(t *testing.T, state string) *live.Announcement {
	t.Helper()
	d := live.Detail{Server: live.Server{Name: hostileTexts[0], Client: hostileTexts[1], State: hostileTexts[2], LastReason: hostileTexts[7], Via: hostileTexts[8], Since: time.Now(),
		Up: time.Now(), LastDeath: time.Now(), Counts: live.Counts{Closures: map[string]uint64{hostileTexts[3]: 1}, Rules: map[string]uint64{hostileTexts[4]: 1}}}, Command: strings.Join(hostileTexts, " "), Log: slices.Concat(hostileTexts, longTexts)}
	for i, text := range d.Log {
		d.Tools = append(d.Tools, live.Tool{Name: text, Class: text, Policy: text, Calls: 1})
		d.Recent = append(d.Recent, live.Call{ID: fmt.Sprint(i), Time: time.Now(), Client: text, Tool: text, Outcome: text, Healed: text, Told: text})
	}
	a, err := live.Announce(state, d.Server.Name, live.Source{Server: func() live.Server { return d.Server }, Detail: func() live.Detail { return d }, Restart: func() error { return nil }})
	must(t, err)
	t.Cleanup(a.Close)
	return a
}

// Thousands of events and a wrap with hostile texts: no script runs, no element comes from a text, and
// the pages keep their shape.
func (o *opened) showHostileTexts(t *testing.T) {
	own := o.Elsewhere("hostile")
	defer own.Close()
	writeHostile(t, own.State)
	wrap := announceHostile(t, own.State)
	h := &opened{Played: &browsertest.Played{Run: own}, Browser: o.Browser}
	must(t, h.logIn(t.Context()))
	for _, path := range []string{"/", "/timeline", "/timeline?period=all", "/servers/" + wrap.ID, "/servers?name=" + url.QueryEscape(hostileTexts[0])} {
		t.Run(path, func(t *testing.T) {
			p := h.page(t, path)
			must(t, p.Wait(`document.querySelector("h1") && document.querySelector("nav a[aria-current]")`))
			checkShape(t, p)
			for _, look := range []browsertest.Look{{Width: 390}, {Width: 1280, Dark: true}} {
				must(t, p.Look(look))
				if wide, err := p.Overflow(); err != nil || len(wide) > 0 {
					t.Errorf("%v: the page is wider than the window: %.600q %v", look, wide, err)
				}
			}
		})
	}
	t.Run("call", func(t *testing.T) {
		p := h.page(t, "/timeline?period=all")
		must(t, p.Wait(`document.querySelector("a.item")`))
		var links []string
		must(t, p.Eval(`[...document.querySelectorAll("a.item")].slice(0, 8).map(a => a.getAttribute("href"))`, &links))
		for _, link := range links {
			must(t, p.Go(link))
			must(t, p.Wait(`document.querySelector("#events")`))
			checkShape(t, p)
			must(t, p.Look(browsertest.Look{Width: 390}))
			if wide, err := p.Overflow(); err != nil || len(wide) > 0 {
				t.Errorf("%s is wider than the window: %.600q %v", link, wide, err)
			}
		}
	})
}

// checkShape looks for elements and attributes that come from a text.
func checkShape(t *testing.T, p *browsertest.Page) {
	t.Helper()
	var foreign []string
	must(t, p.Eval(`[...document.querySelectorAll("*")].filter(e =>
		e.matches("img, iframe, object, embed, base, style, meta[http-equiv]") ||
		e.matches("script") && !/^\/[a-z2-7]{26}\/static\//.test(e.getAttribute("src") || "") ||
		e.matches("form") && !e.getAttribute("action").startsWith("/") ||
		e.matches("a[href]") && !/^[/#]/.test(e.getAttribute("href")) ||
		[...e.attributes].some(a => /^on/i.test(a.name) || /hx-on/i.test(a.name) || /^(data-)?hx-(get|post)$/.test(a.name) && !e.matches("#page, form.filters"))
	).map(e => e.outerHTML.slice(0, 200))`, &foreign))
	for _, element := range foreign {
		t.Errorf("an element that is not the page's: %s", element)
	}
	var intact bool
	must(t, p.Eval(`document.querySelectorAll("h1").length === 1 && document.querySelector("main footer") === null && document.querySelector("header nav") !== null &&
		getComputedStyle(document.body).display !== "none" && document.querySelector("header").getBoundingClientRect().height < 200`, &intact))
	if !intact {
		t.Error("the page has lost its shape")
	}
}
