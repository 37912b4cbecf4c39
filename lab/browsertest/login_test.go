//go:build unix

package browsertest_test

import (
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/lab/browsertest"
)

// An address logs in once. Opened again, as from the history of the browser, it says what to do, and a page
// of a dashboard that has ended does too. The cookie is not sent to a path that others may know.
func (o *opened) logInOnce(t *testing.T) {
	own := o.Elsewhere("login")
	defer own.Close()
	address, err := own.Dashboard(t.Context())
	must(t, err)
	home, err := o.LogIn(address)
	must(t, err)
	plain, _, _ := strings.Cut(address, "#")
	for path, says := range map[string]string{address: "This address has already been used", plain: "Run this command", plain + "old/timeline": "Run this command"} {
		p, err := o.NewPage(path, browsertest.Looks[0])
		must(t, err)
		must(t, p.WaitText(says))
		must(t, p.WaitText("gauze dashboard --at "+plain))
		if text, err := p.Text(); err != nil || strings.Contains(text, "This week") {
			t.Errorf("%s shows %s, %v", path, text, err)
		}
		violations, err := p.Violations()
		must(t, err)
		for _, v := range violations {
			t.Error(v)
		}
		p.Close()
	}
	out, err := own.Output(t.Context(), "dashboard", "--at", plain)
	must(t, err)
	again, err := o.LogIn(strings.TrimSpace(strings.SplitN(out, "\n", 2)[0]))
	must(t, err)
	if again != home || !strings.HasPrefix(home, plain) || len(home) < len(plain)+16 {
		t.Errorf("the pages are at %s, then at %s", home, again)
	}
}
