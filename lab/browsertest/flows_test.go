//go:build unix

package browsertest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/lab/browsertest"
)

const (
	enter = "\r"
	space = " "
)

// servers are the names on the timeline, without repetition.
const servers = `[...new Set([...document.querySelectorAll("ol.line .meta a")].map(a => a.innerText))].join()`

func (o *opened) filterTheTimeline(t *testing.T) {
	t.Run("mouse", func(t *testing.T) {
		p := o.page(t, "/timeline")
		must(t, p.Click(`input[name=healed]`))
		must(t, p.Wait(`location.search.includes("healed=1") && [...document.querySelectorAll("ol.line li")].every(li => li.querySelector(".tag.good"))`))
		must(t, p.Click(`input[name=healed]`))
		must(t, p.WaitText("answered with outcome-unknown"))
	})
	t.Run("keyboard", func(t *testing.T) {
		p := o.page(t, "/timeline")
		must(t, p.Press("/"))
		must(t, p.Wait(`document.activeElement.matches("select[name=server]")`))
		chooseByArrows(t, p, "weather")
		must(t, p.Wait(servers+` === "weather"`))
		must(t, p.Wait(`document.activeElement.matches("select[name=server]") && document.activeElement.value === "weather"`)) // the focus stays
		must(t, p.TabTo("select[name=tool]"))
		chooseByArrows(t, p, "forecast")
		must(t, p.Wait(`location.search.includes("tool=forecast") && [...document.querySelectorAll("a.item code")].every(c => c.innerText === "forecast")`))
	})
}

func (o *opened) openACall(t *testing.T) {
	diff := `document.querySelector("del") && document.querySelector("del").innerText.includes("['wind', 'rain']") && document.querySelector("ins").innerText.includes('["wind","rain"]')`
	t.Run("mouse", func(t *testing.T) {
		p := o.page(t, "/timeline?server=weather")
		must(t, p.Click(linkOf(t, p, browsertest.RepairedItem)))
		must(t, p.Wait(diff))
	})
	t.Run("keyboard", func(t *testing.T) {
		p := o.page(t, "/timeline?server=weather")
		press(t, p, linkOf(t, p, browsertest.RepairedItem), enter)
		must(t, p.Wait(diff))
	})
}

// A fix is proposed, shown as a diff, and written only after the user has confirmed exactly that.
func (o *opened) confirmAFix(t *testing.T) {
	t.Run("mouse", func(t *testing.T) {
		file := filepath.Join(o.Home, ".claude.json")
		p := o.page(t, "/configs")
		openFix(t, p, "far")
		must(t, p.Wait(`[...document.querySelectorAll("ins, .diff, pre")].some(e => e.innerText.includes('"type": "http"'))`))
		must(t, p.Click("button.primary")) // without the confirmation the browser does not send it
		must(t, p.Wait(`location.pathname.endsWith("/fix") && document.querySelector("input[name=read]:invalid")`))
		if contains(t, file, `"type": "http"`) {
			t.Fatal("the file was changed before the user confirmed it")
		}
		must(t, p.Click("input[name=read]"))
		must(t, p.Click("button.primary"))
		must(t, p.WaitText("The file was changed."))
		if !contains(t, file, `"type": "http"`) {
			t.Error("the file was not changed")
		}
	})
	t.Run("keyboard", func(t *testing.T) {
		p := o.page(t, "/configs")
		press(t, p, linkOf(t, p, browsertest.EntryLink("hidden")), enter)
		must(t, p.WaitText("hidden-server"))
		must(t, p.Eval("window.marker = 1", nil))
		press(t, p, "form[action$='/check'] button", enter)
		must(t, p.Wait(`!window.marker && document.querySelector("button[value=heal]")`)) // the page before may have that button too
		press(t, p, "button[value=heal]", enter)
		must(t, p.Wait(`document.querySelector("a.button[href$='/fix']")`))
		press(t, p, "a.button[href$='/fix']", enter)
		must(t, p.WaitText("Make exactly this change"))
		press(t, p, "input[name=read]", space)
		press(t, p, "button.primary", enter)
		must(t, p.WaitText("The file was changed."))
		if !contains(t, filepath.Join(o.Home, ".cursor", "mcp.json"), filepath.Join(o.Home, ".local", "bin", "hidden-server")) {
			t.Error("the file was not changed")
		}
	})
}

// A task that stopped continues where it was, and no step is repeated.
func (o *opened) resumeATask(t *testing.T) {
	t.Run("mouse", func(t *testing.T) {
		must(t, o.RepairTask(0))
		p := o.page(t, "/tasks")
		must(t, p.Click(`a[href$="`+o.Tasks[0]+`"]`))
		must(t, p.WaitText("Calls whose results are known are not sent again."))
		must(t, p.Click("form[action$='/resume'] button.primary"))
		must(t, p.WaitText("4 of 4"))
	})
	t.Run("keyboard", func(t *testing.T) {
		must(t, o.RepairTask(1))
		p := o.page(t, "/tasks")
		press(t, p, `a[href$="`+o.Tasks[1]+`"]`, enter)
		must(t, p.WaitText("Calls whose results are known are not sent again."))
		press(t, p, "form[action$='/resume'] button.primary", enter)
		must(t, p.WaitText("4 of 4"))
	})
	entries, _, err := faultyserver.ReadLedger(filepath.Join(o.Dir, "task.ledger"))
	must(t, err)
	count := map[string]int{}
	for _, e := range entries {
		count[e.Key]++
	}
	for _, key := range []string{"draft", "review", "publish"} {
		if count[key] != len(o.Tasks) {
			t.Errorf("%s took effect %d times in %d tasks", key, count[key], len(o.Tasks))
		}
	}
}

// chooseByArrows chooses an option of the list that has the focus.
func chooseByArrows(t *testing.T, p *browsertest.Page, option string) {
	t.Helper()
	for range 20 {
		var value string
		must(t, p.Eval("document.activeElement.value", &value))
		if value == option {
			return
		}
		must(t, p.Press(kb.ArrowDown))
		must(t, p.Wait(`document.activeElement.value !== "`+value+`" && new URLSearchParams(location.search).get(document.activeElement.name) === document.activeElement.value`))
	}
	t.Fatalf("%s cannot be chosen with the arrow keys", option)
}

// linkOf returns a selector of the link that the JavaScript expression finds.
func linkOf(t *testing.T, p *browsertest.Page, expression string) (selector string) {
	t.Helper()
	must(t, p.Wait(expression))
	must(t, p.Eval(expression+`.getAttribute("href")`, &selector))
	return `a.item[href="` + selector + `"], td.title a[href="` + selector + `"]`
}

// press moves the focus to an element with Tab and presses a key.
func press(t *testing.T, p *browsertest.Page, selector, key string) {
	t.Helper()
	must(t, p.TabTo(selector))
	must(t, p.Press(key))
}

func contains(t *testing.T, file, text string) bool {
	t.Helper()
	b, err := os.ReadFile(file)
	must(t, err)
	return strings.Contains(string(b), text)
}

// The file of gauze up is reloaded by a button. One with an error is not used, and the overview says so.
func (o *opened) reloadTheFile(t *testing.T) {
	file := filepath.Join(o.Dir, "up.yaml")
	write := func(text string) { must(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("servers:\n  first: {command: [first]}\n")
	_, err := o.Up(t.Context(), file)
	must(t, err)
	const button = "form[action$='/reload'] button"
	t.Run("mouse", func(t *testing.T) {
		p := o.page(t, "/")
		must(t, p.Wait(`document.querySelector("`+button+`")`))
		must(t, p.Click(button))
		must(t, p.WaitText("1 server; nothing changed"))
		write("servers:\n  first: {comand: [first]}\n")
		must(t, p.Click(button))
		must(t, p.WaitText("The last reload failed, so gauze up keeps using the previous version of its file"))
		must(t, p.WaitText("up.yaml:2: servers.first.comand: unknown key"))
	})
	t.Run("keyboard", func(t *testing.T) {
		p := o.page(t, "/")
		must(t, p.WaitText("The last reload failed"))
		write("servers:\n  first: {command: [first]}\n  second: {command: [second]}\n")
		press(t, p, button, enter)
		must(t, p.Wait(`!document.querySelector("[role=alert]") && document.querySelector("[id^=file-]").innerText.includes("2 servers")`))
	})
}
