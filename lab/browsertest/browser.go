package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Browser is a running Chromium.
type Browser struct {
	ctx   context.Context
	close func()
	axe   string // the text of axe-core
}

// waitTimeout limits how long a page may take to show what is expected.
const waitTimeout = 2 * time.Minute

// unseen are features of Chromium's own window. Without a screen it still draws them for each tab, which takes more
// time than the pages that are tested.
const unseen = "WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup"

// Open starts Chromium with a profile of its own. axe is the path of axe-core's script.
func Open(ctx context.Context, chromium, axe string) (*Browser, error) {
	script, err := os.ReadFile(axe)
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.CombinedOutput(io.Discard))
	// All tabs share one process. Otherwise each starts one for its first, empty page, one for the page of the
	// test, and one in reserve, which is more work than most tests are.
	options = append(options, chromedp.Flag("renderer-process-limit", "1"), chromedp.Flag("disable-site-isolation-trials", true),
		chromedp.Flag("disable-features", "Translate,BlinkGenPropertyTrees,SpareRendererForSitePerProcess,"+unseen))
	allocated, endAllocator := chromedp.NewExecAllocator(ctx, options...)
	first, endFirst := chromedp.NewContext(allocated)
	b := &Browser{ctx: first, axe: string(script), close: func() { endFirst(); endAllocator() }}
	if err := chromedp.Do(first); err != nil {
		b.close()
		return nil, fmt.Errorf("starting %s: %w", chromium, err)
	}
	return b, nil
}

// Close ends Chromium.
func (b *Browser) Close() { b.close() }

// Grant allows all pages something that a user would be asked about, such as notifications or
// clipboard-read.
func (b *Browser) Grant(permission string) error {
	_, err := cdp.Call(b.ctx, chromedp.FromContext(b.ctx).Browser, browser.SetPermission,
		browser.SetPermissionParams{Permission: &browser.PermissionDescriptor{Name: permission}, Setting: browser.PermissionSettingGranted})
	if err != nil {
		return fmt.Errorf("granting %s: %w", permission, err)
	}
	return nil
}

// Page is a tab.
type Page struct {
	browser *Browser
	ctx     context.Context
	close   context.CancelFunc
	origin  string // the only place that it may load from, as http://HOST/

	mu       sync.Mutex
	problems []string
}

// Look is how a page is looked at.
type Look struct {
	Width  int
	Dark   bool
	Motion bool // Motion means that the user wants to see animations.
}

// String names a look, as in the names of pictures.
func (l Look) String() string {
	if l.Dark {
		return fmt.Sprintf("%d-dark", l.Width)
	}
	return fmt.Sprintf("%d-light", l.Width)
}

// Looks are the ways in which every page is checked.
var Looks = []Look{{Width: 1280}, {Width: 1280, Dark: true}, {Width: 390}, {Width: 390, Dark: true}}

// NewPage opens an address in a tab. The tab may load nothing from elsewhere.
func (b *Browser) NewPage(url string, look Look) (*Page, error) {
	ctx, end := chromedp.NewContext(b.ctx)
	host, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	p := &Page{browser: b, ctx: ctx, close: end, origin: "http://" + host + "/"}
	err := chromedp.Do(ctx, enable, look.set)
	if err == nil {
		p.listen()
		err = p.Go(url)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close closes the tab.
func (p *Page) Close() { p.close() }

// Look changes how the page is looked at.
func (p *Page) Look(l Look) error { return p.do(l.set) }

func (l Look) set(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
	scheme, motion := "light", "reduce"
	if l.Dark {
		scheme = "dark"
	}
	if l.Motion {
		motion = "no-preference"
	}
	_, err := cdp.Call(ctx, t, emulation.SetDeviceMetricsOverride,
		emulation.SetDeviceMetricsOverrideParams{Width: int64(l.Width), Height: 900, DeviceScaleFactor: 1, Mobile: l.Width < 600})
	if err == nil {
		_, err = cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: motion}}})
	}
	return chromedp.Void{}, err
}

func enable(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
	_, err := cdp.Call(ctx, t, log.Enable, cdp.Empty{})
	if err == nil {
		_, err = cdp.Call(ctx, t, network.Enable, network.EnableParams{})
	}
	if err == nil {
		_, err = cdp.Call(ctx, t, runtime.Enable, cdp.Empty{})
	}
	return chromedp.Void{}, err
}

// listen notes what is wrong with the page until it is closed.
func (p *Page) listen() {
	hear(p, runtime.ExceptionThrown, func(e runtime.EventExceptionThrown) {
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		p.note("an exception: %s", text)
	})
	hear(p, runtime.ConsoleAPICalled, func(e runtime.EventConsoleAPICalled) {
		var words []string
		for _, a := range e.Args {
			words = append(words, string(a.Value)+a.Description)
		}
		said := strings.Join(words, " ")
		// htmx reports a refresh that the browser aborts because the user opens a different page.
		aborted := strings.Contains(said, "htmx:sendAbort") || strings.Contains(said, "htmx:afterRequest")
		if (e.Type == "error" || e.Type == "warning") && !aborted {
			p.note("the console says: %s", said)
		}
	})
	hear(p, log.EntryAdded, func(e log.EventEntryAdded) { // also violations of the content security policy
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			p.note("%s: %s (%s)", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	})
	hear(p, network.RequestWillBeSent, func(e network.EventRequestWillBeSent) {
		if url := e.Request.URL; !strings.HasPrefix(url, p.origin) && !strings.HasPrefix(url, "data:") && !strings.HasPrefix(url, "about:") {
			p.note("a request to %s", url)
		}
	})
	hear(p, page.JavascriptDialogOpening, func(e page.EventJavascriptDialogOpening) {
		p.note("a dialog: %s", e.Message)
		chromedp.Call(p.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{})
	})
}

// hear calls take with every event of a kind.
func hear[E any](p *Page, kind cdp.Event[E], take func(E)) {
	events := chromedp.Events(p.ctx, kind)
	go func() {
		for e, err := range events {
			if err != nil {
				return
			}
			take(e)
		}
	}()
}

func (p *Page) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, fmt.Sprintf(format, args...))
}

// Problems returns what was wrong so far: errors in the console, violations of the content security
// policy, requests to other places, dialogs.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.problems...)
}

func (p *Page) do(steps ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(p.ctx, waitTimeout)
	defer cancel()
	return chromedp.Do(ctx, steps...)
}

// Go opens an address, or a link of the page.
func (p *Page) Go(url string) error {
	if link, found := strings.CutPrefix(url, "/"); found {
		url = p.origin + link
	}
	if err := p.do(chromedp.Navigate(url)); err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	return nil
}

// LogIn opens the address that gauze dashboard prints, and returns where the pages are, without a slash at
// the end. The page that asks for the code has the status 401, which browsers report as an error of the
// page; nothing else may be wrong.
func (b *Browser) LogIn(address string) (home string, err error) {
	p, err := b.NewPage(address, Looks[0])
	if err != nil {
		return "", err
	}
	defer p.Close()
	if err := p.Wait(`document.querySelector("nav a[aria-current]") && !location.hash`); err != nil {
		return "", err
	}
	for _, problem := range p.Problems() {
		if !strings.Contains(problem, "401 (Unauthorized)") {
			return "", errors.New(problem)
		}
	}
	err = p.Eval("location.href", &home)
	return strings.TrimSuffix(home, "/"), err
}

// SetHidden makes the page believe that its tab is in the background, or in front again. In headless
// Chromium every tab is in front.
func (p *Page) SetHidden(hidden bool) error {
	return p.Eval(fmt.Sprintf(`Object.defineProperty(document, "hidden", {configurable: true, get: () => %v}); document.dispatchEvent(new Event("visibilitychange")); 0`, hidden), nil)
}

// Eval evaluates JavaScript, waits if it is a promise, and decodes its value into value unless that
// is nil.
func (p *Page) Eval(script string, value any) error {
	ctx, cancel := context.WithTimeout(p.ctx, waitTimeout)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[[]byte](script, chromedp.EvalAwaitPromise))
	if err == nil && value != nil {
		err = json.Unmarshal(text, value)
	}
	if err != nil {
		return fmt.Errorf("%.200s: %w", script, err)
	}
	return nil
}

// Wait waits until the JavaScript expression is true, in this page or the next.
func (p *Page) Wait(condition string) error {
	for begin := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		var holds bool
		err := p.Eval("Boolean("+condition+")", &holds) // fails while the next page is loaded
		if holds {
			return nil
		}
		if time.Since(begin) > waitTimeout || p.ctx.Err() != nil {
			text, _ := p.Text()
			return fmt.Errorf("not shown: %s (%v)\nThe page:\n%s", condition, err, text)
		}
	}
}

// WaitText waits until the page has a text.
func (p *Page) WaitText(text string) error {
	quoted, err := json.Marshal(text)
	if err != nil {
		return err
	}
	return p.Wait("document.body && document.body.innerText.includes(" + string(quoted) + ")")
}

// Text returns the text that the page shows.
func (p *Page) Text() (text string, err error) {
	err = p.Eval("document.body.innerText", &text)
	return text, err
}

// Click clicks on the first element that the CSS selector finds, as with a mouse. A page that refreshes
// itself may replace the element before the mouse is there: then Click looks for it again.
func (p *Page) Click(selector string) error {
	for begin := time.Now(); ; {
		err := p.do(chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
		if err == nil {
			return nil
		}
		if !strings.Contains(err.Error(), "Could not find node") || time.Since(begin) > waitTimeout {
			return fmt.Errorf("clicking on %s: %w", selector, err)
		}
	}
}

// Press types keys where the focus is.
func (p *Page) Press(keys string) error { return p.do(chromedp.KeyEvent(keys)) }

// maxTabs is how many times Tab is pressed to reach an element.
const maxTabs = 400

// TabTo presses Tab until the element that the CSS selector finds has the focus, which must be
// visible.
func (p *Page) TabTo(selector string) error {
	quoted, err := json.Marshal(selector)
	if err != nil {
		return err
	}
	for range maxTabs {
		if err := p.Press("\t"); err != nil {
			return err
		}
		var there string
		if err := p.Eval(`(() => {
			const e = document.activeElement;
			if (!e || !e.matches(`+string(quoted)+`)) return "";
			const s = getComputedStyle(e);
			return s.outlineStyle !== "none" && s.outlineWidth !== "0px" || s.boxShadow !== "none" ? "shown" : "hidden";
		})()`, &there); err != nil {
			return err
		}
		switch there {
		case "shown":
			return nil
		case "hidden":
			return fmt.Errorf("%s has the focus, which is not visible", selector)
		}
	}
	return fmt.Errorf("%s cannot be reached with Tab", selector)
}

// Violations returns what axe-core reports as serious or critical.
func (p *Page) Violations() (all []string, err error) {
	var loaded bool
	if err := p.Eval(`typeof axe === "object"`, &loaded); err != nil {
		return nil, err
	}
	if !loaded {
		if err := p.Eval(p.browser.axe+"; 0", nil); err != nil {
			return nil, fmt.Errorf("axe-core cannot be loaded: %w", err)
		}
	}
	var text string
	const script = `axe.run(document, {resultTypes: ["violations"]}).then(r => JSON.stringify(r.violations
		.filter(v => v.impact === "serious" || v.impact === "critical")
		.map(v => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + " " + n.failureSummary).join("; "))))`
	if err := p.Eval(script, &text); err != nil {
		return nil, err
	}
	return all, json.Unmarshal([]byte(text), &all)
}

// Overflow returns the elements that make the page wider than the window.
func (p *Page) Overflow() (elements []string, err error) {
	err = p.Eval(`(() => {
		const root = document.documentElement;
		if (root.scrollWidth <= root.clientWidth) return [];
		const wide = [...document.body.querySelectorAll("*")].filter(e => e.getBoundingClientRect().right > root.clientWidth + 1);
		return [root.scrollWidth + " pixels", ...wide.slice(-3).map(e => e.outerHTML.slice(0, 300))];
	})()`, &elements)
	return elements, err
}

// Picture returns the top of the page as a PNG, at most this many pixels high.
func (p *Page) Picture(maxHeight int) (png []byte, err error) {
	var size struct{ Width, Height float64 }
	if err := p.Eval("({width: document.documentElement.clientWidth, height: document.documentElement.scrollHeight})", &size); err != nil {
		return nil, err
	}
	whole := true
	r, err := chromedp.Call(p.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: &whole,
		Clip: &page.Viewport{Width: size.Width, Height: min(size.Height, float64(maxHeight)), Scale: 1}})
	return r.Data, err
}
