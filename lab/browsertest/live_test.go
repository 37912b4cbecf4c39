//go:build unix

package browsertest_test

import (
	"fmt"
	"testing"
)

// A page that is open shows what happens meanwhile, without being loaded again.
func (o *opened) updateThemselves(t *testing.T) {
	before, err := o.Notes.Server(t.Context())
	must(t, err)
	overview, server, timeline := o.page(t, "/"), o.page(t, "/servers/"+before.ID), o.page(t, "/timeline?server=notes") // another server may go on failing
	// Chromium hides a page that is behind another, and a hidden page does not update itself.
	number := `document.querySelector("#server-` + before.ID + ` [data-label=Restarts]").innerText`
	newest := `document.querySelector("ol.line li .item").href`
	var last string
	must(t, timeline.Eval(newest, &last))
	must(t, overview.Wait(fmt.Sprintf(`%s.startsWith("%d")`, number, before.Restarts)))
	marked := []interface{ Wait(string) error }{overview, server, timeline}
	must(t, overview.Eval("window.marker = 1", nil))
	must(t, server.Eval("window.marker = 1", nil))
	must(t, timeline.Eval("window.marker = 1", nil))

	must(t, o.Notes.Kill(t.Context()))
	if _, err := o.Notes.Call(t.Context(), "echo", `{"text":"after the kill"}`); err != nil {
		t.Fatal(err)
	}
	must(t, overview.Wait(fmt.Sprintf(`%s.startsWith("%d")`, number, before.Restarts+1)))
	must(t, server.Wait(fmt.Sprintf(`[...document.querySelectorAll(".numbers div")].some(d => d.innerText.replace(/\s+/g, " ") === "Restarts %d")`, before.Restarts+1)))
	must(t, timeline.Wait(newest+` !== "`+last+`"`))
	for _, p := range marked {
		must(t, p.Wait("window.marker === 1"))
	}
}
