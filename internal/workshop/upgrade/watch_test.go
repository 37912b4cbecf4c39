package upgrade

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/testonly/releasetest"
)

// start is when a test begins.
var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// watched returns a server with the release 1.3.0, and what checks for it, with a state directory that
// does not exist yet.
func watched(t *testing.T) (*releasetest.Server, Watch) {
	t.Helper()
	s := releasetest.Serve(t)
	s.Publish("1.3.0", []byte("program"))
	return s, Watch{Releases: from(s), Installed: "1.2.0", File: filepath.Join(t.TempDir(), "state", "latest.json"), timeout: patience.Limit()}
}

// command is a command, so long after start, that ends after its check.
func command(w Watch, after time.Duration) (newer string) {
	w.Now = start.Add(after)
	c := w.Begin()
	<-c.ended
	return c.End()
}

// A check is made once a day, and its result is reported by the commands after it, once a day.
func TestANewReleaseIsReportedOnceADay(t *testing.T) {
	s, w := watched(t)
	const hour = time.Hour
	for _, c := range []struct {
		after time.Duration
		newer string
		asked int // files, in total
	}{
		{0, "", 2},
		{time.Second, "1.3.0", 2},
		{2 * time.Second, "", 2},
		{23 * hour, "", 2},
		{24 * hour, "", 4}, // the check is due, and the user was told less than a day ago
		{25 * hour, "1.3.0", 4},
		{26 * hour, "", 4},
		{-100 * hour, "1.3.0", 6}, // the clock was set back
	} {
		if newer := command(w, c.after); newer != c.newer || len(s.Asked()) != c.asked {
			t.Errorf("after %v: reported %q, not %q; %d files requested, not %d", c.after, newer, c.newer, len(s.Asked()), c.asked)
		}
	}
	w.Installed = "1.3.0"
	if newer := command(w, 1000*hour); newer != "" {
		t.Errorf("after the upgrade: reported %q", newer)
	}
}

func TestAReleaseThatIsNotSignedIsNotReported(t *testing.T) {
	s, w := watched(t)
	s.Put(releasetest.Latest+"/"+signatureFile, releasetest.NewKey().Sign(s.File(releasetest.Latest+"/"+sumsFile)))
	for i := range 3 {
		if newer := command(w, time.Duration(i)*time.Minute); newer != "" {
			t.Errorf("reported %q", newer)
		}
	}
	if n := len(s.Asked()); n != 2 {
		t.Errorf("%d files requested in a day, not 2", n)
	}
}

// A command does not wait long for its check. One that was abandoned counts: the next command of the day
// does not connect.
func TestAnAbandonedCheckCounts(t *testing.T) {
	s, w := watched(t)
	w.Now, w.patience = start, 1
	asked, name := make(chan struct{}), releasetest.Latest+"/"+sumsFile
	s.Handle(name, func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done() // the command has ended
	})
	c := w.Begin()
	<-asked
	if newer := c.End(); newer != "" {
		t.Errorf("reported %q", newer)
	}
	s.Handle(name, nil)
	before := len(s.Asked())
	if newer := command(w, time.Second); newer != "" || len(s.Asked()) != before {
		t.Errorf("reported %q, with %d more files requested on the same day", newer, len(s.Asked())-before)
	}
	command(w, 24*time.Hour)
	if newer := command(w, 25*time.Hour); newer != "1.3.0" {
		t.Errorf("the day after: reported %q", newer)
	}
}

// A command that ends before its check waits for it, so that quick commands find a release too.
func TestAQuickCommandWaitsForItsCheck(t *testing.T) {
	_, w := watched(t)
	w.Now, w.patience = start, patience.Limit()
	w.Begin().End()
	w.Now = start.Add(time.Second)
	if newer := w.Begin().End(); newer != "1.3.0" {
		t.Errorf("reported %q", newer)
	}
}

// Without a place to keep it, a release would be reported by every command.
func TestNothingIsReportedIfItCannotBeKept(t *testing.T) {
	_, w := watched(t)
	command(w, 0)
	content := read(t, w.File)
	if err := os.RemoveAll(filepath.Dir(w.File)); err != nil {
		t.Fatal(err)
	}
	w.File = filepath.Join(filepath.Dir(filepath.Dir(w.File)), "a-file", "latest.json")
	if err := os.WriteFile(filepath.Dir(w.File), content, 0o600); err != nil {
		t.Fatal(err)
	}
	w.Now = start
	c := w.Begin()
	<-c.ended
	c.before.Latest = "1.3.0"
	if newer := c.End(); newer != "" {
		t.Errorf("reported %q", newer)
	}
}

func TestADamagedStateIsIgnored(t *testing.T) {
	for _, content := range []string{"", "{", `{"latest": "9.9.9\u001b[31m", "checked": "2026-05-01T12:00:00Z"}`, `{"latest": 7}`, `[]`} {
		s, w := watched(t)
		if err := os.Mkdir(filepath.Dir(w.File), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(w.File, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if newer := command(w, time.Second); newer != "" {
			t.Errorf("%s: reported %q", content, newer)
		}
		if newer := command(w, 25*time.Hour) + command(w, 26*time.Hour); newer != "1.3.0" || len(s.Asked()) == 0 {
			t.Errorf("%s: then reported %q, with %d files requested", content, newer, len(s.Asked()))
		}
	}
}
