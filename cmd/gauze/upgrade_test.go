package main

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/executable"
	"github.com/gauze-mcp/gauze/internal/testonly/releasetest"
	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
	"github.com/gauze-mcp/gauze/internal/workshop/installed"
)

// released is gauze as a release has it.
type released struct {
	path    string
	program []byte
	files   map[string][]byte // the release's, by name
}

// testKey signs the releases of these tests.
var testKey = sync.OnceValue(releasetest.NewKey)

// testReleases builds gauze in two versions that know the key.
var testReleases = sync.OnceValues(func() (map[string]released, error) {
	made := map[string]released{}
	for _, version := range []string{"1.2.0", "1.3.0"} {
		file := filepath.Join(filepath.Dir(os.Getenv("GAUZE_STATE_DIR")), "gauze-"+version+exe()) // removed after the tests
		stamp := "-s -w -X main.version=" + version + " -X main.releaseKey=" + testKey().Public()
		if out, err := exec.Command("go", "build", "-ldflags", stamp, "-o", file, ".").CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, out)
		}
		program, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		made[version] = released{file, program, releasetest.Files(version, program)}
	}
	return made, nil
})

// releaseOf returns a release of gauze.
func releaseOf(t *testing.T, version string) released {
	t.Helper()
	windowstest.Skip(t)
	made, err := testReleases()
	if err != nil {
		t.Fatal(err)
	}
	return made[version]
}

// upgrading is gauze 1.2.0 as it was downloaded, and a server whose latest release is 1.3.0.
type upgrading struct {
	*releasetest.Server
	t    *testing.T
	path string // of gauze
	home string
}

func newUpgrading(t *testing.T) *upgrading {
	t.Helper()
	old := releaseOf(t, "1.2.0")
	home := t.TempDir()
	u := &upgrading{releasetest.Serve(t), t, filepath.Join(home, "bin", "gauze"+exe()), home}
	u.Key = testKey()
	if err := os.Mkdir(filepath.Dir(u.path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := old.put(u.path); err != nil {
		t.Fatal(err)
	}
	u.PublishFiles(releasetest.Dir("1.2.0"), old.files)
	u.publish("1.3.0")
	return u
}

// put installs the program at a path. An upgrade replaces the file and never writes into it, so that all tests can have
// the same one.
func (r released) put(path string) error {
	if runtime.GOOS != "windows" && os.Link(r.path, path) == nil {
		return nil
	}
	return executable.Write(path, r.program)
}

// publish makes a version the latest release.
func (u *upgrading) publish(version string) {
	files := releaseOf(u.t, version).files
	u.PublishFiles(releasetest.Dir(version), files)
	u.PublishFiles(releasetest.Latest, files)
}

// command returns a command line of the installed gauze.
func (u *upgrading) command(args ...string) *exec.Cmd {
	cmd := exec.Command(u.path, args...)
	cmd.Dir = u.home
	cmd.Env = append(os.Environ(), "GAUZE_RELEASES="+u.URL, "GAUZE_STATE_DIR="+filepath.Join(u.home, "state"), "HOME="+u.home, "USERPROFILE="+u.home, "NO_COLOR=yes",
		"XDG_DATA_HOME="+filepath.Join(u.home, "data"), "LOCALAPPDATA="+filepath.Join(u.home, "data"))
	return cmd
}

// putCopy puts a version where gauze keeps its copy, and returns that path.
func (u *upgrading) putCopy(version string) string {
	u.t.Helper()
	path := installed.System{OS: runtime.GOOS, Env: func(string) string { return filepath.Join(u.home, "data") }}.CopyPath(u.home)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = executable.Write(path, releaseOf(u.t, version).program)
	}
	if err != nil {
		u.t.Fatal(err)
	}
	return path
}

// wantCopy checks which version the copy of gauze is.
func (u *upgrading) wantCopy(path, version string) {
	u.t.Helper()
	got, err := os.ReadFile(path)
	if want := releaseOf(u.t, version).program; err != nil || !bytes.Equal(got, want) {
		u.t.Errorf("the copy is not gauze %s (%v)", version, err)
	}
}

// Clients may start the copy of gauze, so an upgrade replaces it too.
func TestUpgradeReplacesAnOlderCopy(t *testing.T) {
	t.Parallel()
	u := newUpgrading(t)
	copied := u.putCopy("1.2.0")
	u.want(0, []string{"upgrade", "--yes"}, "gauze 1.3.0 is installed", "The copy of gauze that clients start is now version 1.3.0: "+copied)
	u.wantCopy(copied, "1.3.0")
	u.putCopy("1.2.0") // what an older gauze left
	u.want(0, []string{"upgrade"}, "gauze 1.3.0 is up to date", "The copy of gauze that clients start is now version 1.3.0")
	u.wantCopy(copied, "1.3.0")
	u.want(0, []string{"upgrade", "--yes", "--version", "1.2.0"}, "gauze 1.2.0 is installed", "is now version 1.2.0")
	u.wantCopy(copied, "1.2.0")
	if err := os.Remove(copied); err != nil {
		t.Fatal(err)
	}
	u.want(0, []string{"upgrade", "--yes"}, "gauze 1.3.0 is installed")
	if _, err := os.Stat(copied); err == nil {
		t.Error("a copy was made that no one needs")
	}
}

// In a cache, the command that is shown runs a newer gauze, which replaces the copy.
func TestUpgradeInACacheReplacesAnOlderCopy(t *testing.T) {
	t.Parallel()
	u := newUpgrading(t)
	cache := filepath.Join(u.home, "_npx", "ee51")
	cached := filepath.Join(cache, "node_modules", "gauze-mcp", "bin", "gauze"+exe())
	err := errors.Join(os.MkdirAll(filepath.Dir(cached), 0o755), os.Rename(u.path, cached),
		os.WriteFile(filepath.Join(cache, "package.json"), []byte(`{"_npx":{"packages":["gauze-mcp"]}}`), 0o644),
		os.WriteFile(filepath.Join(cache, "node_modules", "gauze-mcp", "package.json"), []byte(`{"name":"gauze-mcp"}`), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	u.path = cached
	u.want(0, []string{"upgrade"}, "(channel: npx, ", "To upgrade it:\n\n    npx -y gauze-mcp@latest upgrade\n")
	copied := u.putCopy("1.2.0")
	u.want(0, []string{"upgrade"}, "    npx -y gauze-mcp@latest upgrade\n")
	u.want(0, []string{"upgrade", "--version", "1.1.0"}, "To install gauze 1.1.0:\n\n    npx -y gauze-mcp@1.1.0 upgrade --version 1.1.0\n")
	u.wantCopy(copied, "1.2.0")

	u.putCopy("1.3.0")
	u.want(0, []string{"upgrade"}, "    npx -y gauze-mcp@latest upgrade\n")
	u.wantCopy(copied, "1.3.0")
	u.want(0, []string{"upgrade", "--version", "1.2.0"}, "The copy of gauze that clients start is now version 1.2.0: "+copied)
	u.wantCopy(copied, "1.2.0")

	if err := errors.Join(os.Remove(cached), releaseOf(t, "1.3.0").put(cached)); err != nil {
		t.Fatal(err)
	}
	u.want(0, []string{"upgrade"}, "The copy of gauze that clients start is now version 1.3.0: "+copied)
	u.wantCopy(copied, "1.3.0")
}

// gauze runs the installed gauze and returns its output and status.
func (u *upgrading) gauze(args ...string) (out string, status int) {
	u.t.Helper()
	output, err := u.command(args...).CombinedOutput()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		u.t.Fatal(err)
	}
	if exited != nil {
		status = exited.ExitCode()
	}
	return string(output), status
}

// want runs the installed gauze and compares its status and parts of its output.
func (u *upgrading) want(status int, args []string, parts ...string) {
	u.t.Helper()
	out, got := u.gauze(args...)
	if got != status {
		u.t.Errorf("gauze %s: status %d, not %d\n%s", strings.Join(args, " "), got, status, out)
	}
	for _, part := range parts {
		if !strings.Contains(out, part) {
			u.t.Errorf("gauze %s: the output lacks %q:\n%s", strings.Join(args, " "), part, out)
		}
	}
}

// wantVersion checks that gauze works and has a version.
func (u *upgrading) wantVersion(version string) {
	u.t.Helper()
	if out, status := u.gauze("version"); status != 0 || !strings.HasPrefix(out, "gauze "+version+"\n") {
		u.t.Errorf("gauze version: not %s: %s (status %d)", version, out, status)
	}
}

// diskSeed is of the hashes in what disk returns, which are compared in one process.
var diskSeed = maphash.MakeSeed()

// disk describes all files beside gauze.
func (u *upgrading) disk() (all string) {
	u.t.Helper()
	entries, err := os.ReadDir(filepath.Dir(u.path))
	for _, e := range entries {
		var info os.FileInfo
		var content []byte
		if info, err = e.Info(); err == nil {
			content, err = os.ReadFile(filepath.Join(filepath.Dir(u.path), e.Name()))
		}
		if err != nil {
			break
		}
		all += fmt.Sprintf("%s %v %x\n", e.Name(), info.Mode(), maphash.Bytes(diskSeed, content))
	}
	if err != nil {
		u.t.Fatal(err)
	}
	return all
}

func TestUpgradeAndTheOtherWay(t *testing.T) {
	t.Parallel()
	u := newUpgrading(t)
	u.want(1, []string{"upgrade", "--check"}, "gauze 1.3.0 is available (installed: 1.2.0). To upgrade:\n\n    gauze upgrade\n")
	u.want(1, []string{"upgrade"}, "installed: gauze 1.2.0", "new:       gauze 1.3.0", "nothing was changed: confirmation requires a terminal", "gauze upgrade --yes")
	u.wantVersion("1.2.0")
	u.want(0, []string{"upgrade", "--yes"}, "installed: gauze 1.2.0", "new:       gauze 1.3.0", "gauze 1.3.0 is installed", "gauze upgrade --version 1.2.0")
	u.wantVersion("1.3.0")
	u.want(0, []string{"upgrade", "--check"}, "gauze 1.3.0 is up to date")
	u.want(0, []string{"upgrade", "--yes"}, "gauze 1.3.0 is up to date")
	u.want(0, []string{"upgrade", "--yes", "--version", "v1.2.0"}, "gauze 1.2.0 is installed")
	u.wantVersion("1.2.0")
	if files := strings.Count(u.disk(), "\n"); files != 1 && runtime.GOOS != "windows" {
		t.Errorf("files are left:\n%s", u.disk())
	}
}

// Each of these is refused with a message that says what is wrong, and nothing changes on the disk.
func TestUpgradeRefuses(t *testing.T) {
	t.Parallel()
	const latest = releasetest.Latest + "/"
	archive := latest + releasetest.Archive("1.3.0")
	change := func(name string) func(*upgrading) {
		return func(u *upgrading) {
			changed := bytes.Clone(u.File(name))
			changed[len(changed)/2] ^= 1
			u.Put(name, changed)
		}
	}
	for name, c := range map[string]struct {
		prepare func(*upgrading)
		args    []string
		want    string
	}{
		"a changed list":      {change(latest + "SHA256SUMS"), nil, "SHA256SUMS.sig does not match SHA256SUMS"},
		"a changed signature": {change(latest + "SHA256SUMS.sig"), nil, "SHA256SUMS.sig"},
		"a changed archive":   {change(archive), nil, "was modified or is incomplete: its SHA-256 is"},
		"a changed program": {func(u *upgrading) {
			program := bytes.Clone(releaseOf(u.t, "1.3.0").program)
			program[len(program)/2] ^= 1
			u.Put(archive, releasetest.Pack(archive, program))
		}, nil, "was modified or is incomplete"},
		"a different key": {func(u *upgrading) {
			u.Key = releasetest.NewKey()
			u.publish("1.3.0")
		}, nil, "made with a different key from the one in this build of gauze"},
		"another version in the names": {func(u *upgrading) {
			u.PublishFiles(releasetest.Dir("1.3.0"), releasetest.Files("1.2.5", []byte("program")))
		}, []string{"--version", "1.3.0"}, "is release 1.2.5, not 1.3.0"},
		"an older release again": {func(u *upgrading) { u.Publish("1.1.0", []byte("with a known hole")) }, nil, "is 1.1.0, but gauze 1.2.0 is installed"},
		"a truncated download": {func(u *upgrading) {
			whole := u.File(archive)
			u.Handle(archive, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", fmt.Sprint(len(whole)))
				w.Write(whole[:len(whole)/2])
			})
		}, nil, "the connection was closed before the end of the file"},
		"a redirect to plain HTTP": {func(u *upgrading) {
			u.Handle(archive, http.RedirectHandler("http://releases.example.com/gauze", http.StatusFound).ServeHTTP)
		}, nil, "it redirects to http://releases.example.com, which is not encrypted"},
		"a huge file": {func(u *upgrading) {
			u.Handle(archive, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "1000000000000")
				w.Write(nil)
			})
		}, nil, "is larger than"},
		"a program that does not start": {func(u *upgrading) { u.Publish("1.3.0", []byte("not a program")) }, nil, "gauze 1.3.0 does not run on this machine"},
		"a program of another version": {func(u *upgrading) {
			u.Publish("1.3.0", releaseOf(u.t, "1.2.0").program)
		}, nil, `should report version 1.3.0, but reports "gauze 1.2.0"`},
		"an archive without a program": {func(u *upgrading) {
			u.PublishFiles(releasetest.Latest, map[string][]byte{releasetest.Archive("1.3.0"): releasetest.Pack("x.tar.gz", nil)[:0]})
		}, nil, "the archive cannot be read"},
		"a release that does not exist": {func(*upgrading) {}, []string{"--version", "9.9.9"}, "status 404"},
		"no release":                    {func(u *upgrading) { u.Handle(latest+"SHA256SUMS", http.NotFound) }, nil, "status 404"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUpgrading(t)
			c.prepare(u)
			before := u.disk()
			u.want(2, append([]string{"upgrade", "--yes"}, c.args...), c.want, "nothing was changed", "\nnext: ")
			if after := u.disk(); after != before {
				t.Errorf("the disk was\n%sand is\n%s", before, after)
			}
			u.wantVersion("1.2.0")
		})
	}
}

// A gauze that is killed during the download leaves the installed one as it is; the next upgrade removes
// what is left.
func TestAKilledUpgradeLeavesAWorkingGauze(t *testing.T) {
	t.Parallel()
	u := newUpgrading(t)
	name := releasetest.Latest + "/" + releasetest.Archive("1.3.0")
	half, whole := make(chan struct{}), u.File(name)
	u.Handle(name, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(whole)))
		w.Write(whole[:len(whole)/2])
		w.(http.Flusher).Flush()
		close(half)
		<-r.Context().Done()
	})
	cmd := u.command("upgrade", "--yes")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-half
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	u.wantVersion("1.2.0")
	if !strings.Contains(u.disk(), ".gauze-upgrade-") {
		t.Errorf("it was not killed in the middle:\n%s", u.disk())
	}
	u.Handle(name, nil)
	u.want(0, []string{"upgrade", "--yes"}, "gauze 1.3.0 is installed")
	u.wantVersion("1.3.0")
	if files := strings.Count(u.disk(), "\n"); files != 1 && runtime.GOOS != "windows" {
		t.Errorf("files are left:\n%s", u.disk())
	}
}

// What a package manager installed is upgraded by its command. Gauze shows it and changes nothing.
func TestUpgradeShowsTheCommandOfTheChannel(t *testing.T) {
	t.Parallel()
	u := newUpgrading(t)
	root := filepath.Dir(filepath.Dir(u.path))
	move := func(to string) {
		t.Helper()
		to = filepath.Join(root, filepath.FromSlash(to))
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.Rename(u.path, to)); err != nil {
			t.Fatal(err)
		}
		u.path = to
	}
	write := func(name, content string) {
		t.Helper()
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}

	move("lib/node_modules/gauze-mcp/bin/gauze" + exe())
	write("lib/node_modules/gauze-mcp/package.json", `{"name": "gauze-mcp"}`)
	before := u.disk()
	u.want(0, []string{"upgrade"}, "gauze 1.2.0 (channel: npm, ", "To upgrade it:\n\n    npm install -g gauze-mcp@latest\n")
	u.want(0, []string{"upgrade", "--yes", "--version", "1.1.0"}, "\n    npm install -g gauze-mcp@1.1.0\n")
	if asked := u.Asked(); len(asked) > 0 {
		t.Errorf("requested: %q", asked)
	}
	u.want(1, []string{"upgrade", "--check"}, "gauze 1.3.0 is available")
	if u.disk() != before {
		t.Error("the disk has changed")
	}

	if runtime.GOOS == "linux" {
		move("usr/bin/gauze")
		write("usr/share/gauze/channel", "deb\n")
		file := "gauze_1.3.0_linux_" + runtime.GOARCH + ".deb"
		u.want(0, []string{"upgrade"}, "(channel: deb, ", "\n    curl -fLO "+u.URL+"/latest/download/"+file+" && echo '", "  "+file+"' | sha256sum -c && sudo dpkg -i ./"+file+"\n")
		u.want(0, []string{"upgrade", "--version", "1.2.0"}, "gauze 1.2.0 is up to date.\n")
		files := releasetest.Files("1.1.0", []byte("an old program"))
		u.PublishFiles(releasetest.Dir("1.1.0"), files)
		u.PublishFiles(releasetest.Latest, files)
		u.want(2, []string{"upgrade"}, "the latest release at "+u.URL+"/latest/download is 1.1.0, but gauze 1.2.0 is installed; nothing was changed\nnext: ")
		u.want(0, []string{"upgrade", "--version", "1.1.0"}, "\n    curl -fLO "+u.URL+"/download/v1.1.0/gauze_1.1.0_linux_")
		u.publish("1.2.0")
		u.want(0, []string{"upgrade"}, "gauze 1.2.0 is up to date.\n")
		u.publish("1.3.0")
	}

	move("Cellar/gauze/1.2.0/bin/gauze" + exe())
	write("Cellar/gauze/1.2.0/INSTALL_RECEIPT.json", "{}")
	u.want(0, []string{"upgrade"}, "(channel: brew, ", "\n    brew upgrade gauze\n")
	u.want(2, []string{"upgrade", "--version", "1.1.0"}, "invalid --version: brew installs only the latest version")
	u.wantVersion("1.2.0")
}
