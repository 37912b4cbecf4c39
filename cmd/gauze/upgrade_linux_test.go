package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/testonly/releasetest"
)

// onTerminal runs a program on a terminal of its own, types an answer, and returns what it showed.
func onTerminal(t *testing.T, cmd *exec.Cmd, answer string) string {
	t.Helper()
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "CI=") })
	pty := startOnTerminal(t, cmd)
	if _, err := io.WriteString(pty, answer); err != nil {
		t.Fatal(err)
	}
	shown, _ := io.ReadAll(pty) // it ends with EIO when the program has closed the terminal
	cmd.Wait()
	return string(shown)
}

func TestUpgradeAsks(t *testing.T) {
	t.Parallel()
	u := newUpgrading(t)
	before := u.disk()
	if out := onTerminal(t, u.command("upgrade"), "n\n"); !strings.Contains(out, "Replace "+u.path+"? [y/N]") || !strings.Contains(out, "Nothing was changed.") {
		t.Errorf("after no:\n%s", out)
	}
	if after := u.disk(); after != before {
		t.Errorf("after no, the disk was\n%sand is\n%s", before, after)
	}
	if out := onTerminal(t, u.command("upgrade"), "y\n"); !strings.Contains(out, "gauze 1.3.0 is installed") {
		t.Errorf("after yes:\n%s", out)
	}
	u.wantVersion("1.3.0")
}

// An interrupted upgrade removes what it has begun.
func TestUpgradeIsInterrupted(t *testing.T) {
	t.Parallel()
	u := newUpgrading(t)
	before, asked := u.disk(), make(chan struct{})
	u.Handle(releasetest.Latest+"/"+releasetest.Archive("1.3.0"), func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	})
	cmd := u.command("upgrade", "--yes")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || u.disk() != before {
		t.Errorf("%v; the disk was\n%sand is\n%s", err, before, u.disk())
	}
}

func TestUpgradeOfAReadOnlyDirectory(t *testing.T) {
	t.Parallel()
	u := newUpgrading(t)
	dir := filepath.Dir(u.path)
	cmd := u.command("upgrade", "--yes")
	if os.Getuid() == 0 { // who may write everywhere
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		for above := filepath.Dir(dir); above != filepath.Clean(os.TempDir()) && above != "/"; above = filepath.Dir(above) {
			if err := os.Chmod(above, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o755) })
	before := u.disk()
	out, err := cmd.CombinedOutput()
	want := "gauze upgrade: cannot create a file in " + dir + ": permission denied; nothing was changed\nnext: sudo " + u.path + " upgrade\n"
	if err == nil || string(out) != want {
		t.Errorf("%v\n%s\nwant:\n%s", err, out, want)
	}
	if u.disk() != before || slices.Contains(u.Asked(), releasetest.Latest+"/"+releasetest.Archive("1.3.0")) {
		t.Error("the disk has changed, or the archive was downloaded before the directory was checked")
	}
}

const noticeText = "gauze 1.3.0 is available (installed: 1.2.0). To upgrade: gauze upgrade"

// The commands that are read at a terminal report a newer release once a day. No other command does, and
// none connects to the release address without that.
func TestNoticeOfANewerRelease(t *testing.T) {
	t.Parallel()
	u := newUpgrading(t)
	for _, args := range [][]string{{"version"}, {"explain"}, {"test", "--help"}, {"list", "--json"}, {"run", "--", "true"}, {"list", "--help"}} {
		onTerminal(t, u.command(args...), "\x04") // the end of stdin
	}
	off := u.command("list")
	off.Env = append(off.Env, "GAUZE_NO_UPDATE_NOTICE=1")
	onTerminal(t, off, "")
	u.gauze("list") // not on a terminal
	if asked := u.Asked(); len(asked) > 0 {
		t.Fatalf("requested: %q", asked)
	}

	// A command that ends long before its check abandons it until tomorrow.
	state := filepath.Join(filepath.Dir(filepath.Dir(u.path)), "state", "latest-release.json")
	for deadline := time.Now().Add(patience.Limit()); ; {
		if out := onTerminal(t, u.command("list"), ""); strings.Contains(out, noticeText) {
			t.Fatalf("reported before the check was known:\n%s", out)
		}
		if kept, err := os.ReadFile(state); err == nil && strings.Contains(string(kept), "1.3.0") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no check was finished")
		}
		os.Remove(state) // it is tomorrow
	}
	asked := len(u.Asked())
	for i, c := range []struct {
		args  []string
		times int
	}{{[]string{"list", "--json"}, 0}, {[]string{"version"}, 0}, {[]string{"status"}, 1}, {[]string{"status"}, 0}, {[]string{"list"}, 0}, {[]string{"history"}, 0}} {
		if out := onTerminal(t, u.command(c.args...), ""); strings.Count(out, noticeText) != c.times {
			t.Errorf("%d: gauze %q shows the notice %d times, not %d:\n%s", i, c.args, strings.Count(out, noticeText), c.times, out)
		}
	}
	if again := len(u.Asked()); again != asked {
		t.Errorf("%d more files requested on the same day", again-asked)
	}
}

// CI is a variable that all CI systems set.
func TestNoNoticeInCI(t *testing.T) {
	t.Parallel()
	u := newUpgrading(t)
	cmd := u.command("list")
	cmd.Env = append(cmd.Env, "CI=true")
	io.ReadAll(startOnTerminal(t, cmd))
	cmd.Wait()
	if asked := u.Asked(); len(asked) > 0 {
		t.Errorf("requested: %q", asked)
	}
}
