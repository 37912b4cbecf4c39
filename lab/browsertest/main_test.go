//go:build unix

package browsertest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/lab/browsertest"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// opened is a run, in which something of everything has happened, and a browser.
type opened struct {
	*browsertest.Played
	*browsertest.Browser
	url string // the dashboard's, with the token
}

// The order matters: the flows change what the pages show.
func TestDashboard(t *testing.T) {
	chromium, axe := realparts.NeedBrowser(t)
	o, err := begin(chromium, axe)
	must(t, err)
	defer o.Run.Close()
	defer o.Browser.Close()
	t.Run("pages", o.showPages)
	t.Run("live", o.updateThemselves)
	t.Run("filter", o.filterTheTimeline)
	t.Run("call", o.openACall)
	t.Run("fix", o.confirmAFix)
	t.Run("task", o.resumeATask)
	t.Run("hostile", o.showHostileTexts)
}

func begin(chromium, axe string) (*opened, error) {
	ctx := context.Background()
	r, err := browsertest.NewRun(ctx)
	if err != nil {
		return nil, err
	}
	o := &opened{}
	if o.Played, err = browsertest.Play(ctx, r); err == nil {
		o.url, err = r.Dashboard(ctx)
	}
	if err == nil {
		o.Browser, err = browsertest.Open(ctx, chromium, axe)
	}
	if err == nil {
		err = o.logIn()
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return o, nil
}

// logIn opens the address that gauze dashboard prints. The page that asks for the token has the
// status 401, which browsers report as an error of the page.
func (o *opened) logIn() error {
	p, err := o.NewPage(o.url, browsertest.Looks[0])
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.Wait(`document.querySelector("nav a[aria-current]") && !location.href.includes("token")`); err != nil {
		return err
	}
	for _, problem := range p.Problems() {
		if !strings.Contains(problem, "401 (Unauthorized)") {
			return errors.New(problem)
		}
	}
	return nil
}

// page opens a page of the dashboard, after the login. At the end of the test nothing may have been
// wrong with it.
func (o *opened) page(t *testing.T, path string) *browsertest.Page {
	t.Helper()
	home, _, _ := strings.Cut(o.url, "/#")
	p, err := o.NewPage(home+path, browsertest.Looks[0])
	must(t, err)
	t.Cleanup(func() {
		for _, problem := range p.Problems() {
			t.Error(problem)
		}
		p.Close()
	})
	return p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
