//go:build unix

package browsertest_test

import (
	"context"
	"testing"

	"github.com/gauze-mcp/gauze/lab/browsertest"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// opened is a run, in which something of everything has happened, and a browser.
type opened struct {
	*browsertest.Played
	*browsertest.Browser
	home string // where the dashboard's pages are
}

// The order matters: the flows change what the pages show.
func TestDashboard(t *testing.T) {
	chromium, axe := realparts.NeedBrowser(t)
	o, err := begin(chromium, axe)
	must(t, err)
	defer o.Run.Close()
	defer o.Browser.Close()
	t.Run("login", o.logInOnce)
	t.Run("pages", o.showPages)
	t.Run("live", o.updateThemselves)
	t.Run("repeated", o.openRepeatedRows)
	t.Run("log", o.followTheLog)
	t.Run("death", o.notifyOfADeath)
	t.Run("copy", o.copyACommand)
	t.Run("filter", o.filterTheTimeline)
	t.Run("call", o.openACall)
	t.Run("checks", o.checkAllServers)
	t.Run("fix", o.confirmAFix)
	t.Run("task", o.resumeATask)
	t.Run("hostile", o.showHostileTexts)
	t.Run("reload", o.reloadTheFile)
}

func begin(chromium, axe string) (*opened, error) {
	ctx := context.Background()
	r, err := browsertest.NewRun(ctx)
	if err != nil {
		return nil, err
	}
	o := &opened{}
	if o.Played, err = browsertest.Play(ctx, r); err == nil {
		o.Browser, err = browsertest.Open(ctx, chromium, axe)
	}
	if err == nil {
		err = o.logIn(ctx)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return o, nil
}

// logIn starts gauze dashboard and opens the address that it prints.
func (o *opened) logIn(ctx context.Context) error {
	address, err := o.Dashboard(ctx)
	if err == nil {
		o.home, err = o.LogIn(address)
	}
	return err
}

// page opens a page of the dashboard, after the login. At the end of the test nothing may have been
// wrong with it.
func (o *opened) page(t *testing.T, path string) *browsertest.Page {
	t.Helper()
	p, err := o.NewPage(o.home+path, browsertest.Looks[0])
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
