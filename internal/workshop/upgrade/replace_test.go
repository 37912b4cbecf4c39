package upgrade

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/executable"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
)

// mark is before the version at the end of a copy of the test binary, which reports it.
const mark = "\n# this copy of the test binary is gauze "

// TestMain makes a marked copy of the test binary report its version, and the test binary replace a program and
// kill itself.
func TestMain(m *testing.M) {
	os.Setenv("GORACE", "atexit_sleep_ms=0") // a race build would otherwise take a second to exit
	if len(os.Args) == 2 && os.Args[1] == "version" {
		os.Exit(reportVersion())
	}
	if len(os.Args) > 1 && os.Args[1] == "replace-and-die" {
		os.Exit(replaceAndDie(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func reportVersion() int {
	own, err := os.Executable()
	if err != nil {
		return 3
	}
	content, err := os.ReadFile(own)
	if err != nil {
		return 3
	}
	_, version, marked := strings.Cut(string(content[len(content)-len(mark)-len("1.2.0"):]), mark)
	if !marked {
		return 3
	}
	fmt.Printf("gauze %s\nchannel: test\n", version)
	return 0
}

// versioned returns a program that reports a version.
func versioned(t *testing.T, version string) []byte {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append(read(t, own), mark+version...)
}

// install puts a program into a directory of its own.
func install(t *testing.T, program []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), programName(runtime.GOOS))
	if err := executable.Write(path, program); err != nil {
		t.Fatal(err)
	}
	return path
}

// reported returns the version that the program at path reports, or "" if it does not run.
func reported(path string) string {
	ctx, cancel := context.WithTimeout(context.Background(), patience.Limit())
	defer cancel()
	said, err := realDisk{}.run(ctx, path)
	if words := strings.Fields(said); err == nil && len(words) > 1 {
		return words[1]
	}
	return ""
}

// inDir returns the names of the files beside the program, without its own.
func inDir(t *testing.T, path string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(path) {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestReplaceInstallsTheNewProgram(t *testing.T) {
	path := install(t, versioned(t, "1.2.0"))
	if err := os.Chmod(path, 0o750); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"1.3.0", "1.2.0"} {
		r, err := Replace(path)
		if err != nil {
			t.Fatal(err)
		}
		err = r.Put(t.Context(), versioned(t, version), version)
		r.Close()
		if got := reported(path); err != nil || got != version {
			t.Errorf("installed %s, but it reports %q: %v", version, got, err)
		}
	}
	after, err := os.Stat(path)
	if err != nil || after.Mode() != before.Mode() {
		t.Errorf("mode %v became %v, %v", before.Mode(), after.Mode(), err)
	}
	if left := inDir(t, path); len(left) > 0 && runtime.GOOS != "windows" {
		t.Errorf("left behind: %q", left)
	}
}

func TestALinkStaysALink(t *testing.T) {
	windowstest.Skip(t)
	path := install(t, versioned(t, "1.2.0"))
	link := filepath.Join(t.TempDir(), "gauze")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	r, err := Replace(link)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Put(t.Context(), versioned(t, "1.3.0"), "1.3.0"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 || reported(path) != "1.3.0" || len(inDir(t, link)) > 0 {
		t.Errorf("the link is %v, %v; its program reports %q", info.Mode(), err, reported(path))
	}
}

// A program that does not run, or is not what it should be, is not installed, and nothing is left of it.
func TestAProgramThatDoesNotWorkIsNotInstalled(t *testing.T) {
	old := versioned(t, "1.2.0")
	own := old[:len(old)-len(mark+"1.2.0")]
	for name, c := range map[string]struct {
		program []byte
		want    string
	}{
		"not a program":   {[]byte("hello"), "gauze 1.3.0 does not run on this machine"},
		"half a program":  {own[:len(own)/2], "gauze 1.3.0 does not run on this machine"},
		"it fails":        {own, "gauze 1.3.0 does not run on this machine (exit status 3"},
		"another version": {versioned(t, "1.2.9"), `should report version 1.3.0, but reports "gauze 1.2.9`},
	} {
		for _, aside := range []bool{false, true} {
			path := install(t, old)
			r, err := replaceOn(realDisk{}, path, aside)
			if err != nil {
				t.Fatal(err)
			}
			err = r.Put(t.Context(), c.program, "1.3.0")
			r.Close()
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "nothing was changed") {
				t.Errorf("%s: got %v", name, err)
			}
			if !bytes.Equal(read(t, path), old) {
				t.Errorf("%s: the installed program has changed", name)
			}
			if left := inDir(t, path); len(left) > 0 {
				t.Errorf("%s: left behind: %q", name, left)
			}
		}
	}
}

// Only what a replacement makes is removed by the next one.
func TestOnlyOurLeftoversAreRemoved(t *testing.T) {
	old := versioned(t, "1.2.0")
	path := install(t, old)
	dir := filepath.Dir(path)
	const id = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	ours := []string{".gauze-upgrade-" + id + "-new", ".gauze-upgrade-" + id + "-old", ".gauze-upgrade-" + id + "-new.exe"}
	others := []string{".gauze-upgrade-mine", ".gauze-upgrade-" + id + "-new.txt", "gauze-upgrade-" + id + "-new", ".gauze-upgrade-", "gauze-temporal"}
	for _, name := range slices.Concat(ours, others) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	directory := ".gauze-upgrade-" + strings.ToUpper("zyxwvutsrqponmlkjihgfedcba") + "-new"
	if err := os.Mkdir(filepath.Join(dir, directory), 0o700); err != nil {
		t.Fatal(err)
	}
	r, err := Replace(path)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	want := append(others, directory)
	slices.Sort(want)
	if left := inDir(t, path); !slices.Equal(left, want) {
		t.Errorf("left: %q\nnot:  %q", left, want)
	}
}

// failing is a disk on which one step fails.
type failing struct {
	realDisk
	create_, second, undo error
	renames               int
}

func (d *failing) create(path string, like fs.FileInfo) (file, error) {
	if d.create_ != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: d.create_}
	}
	return d.realDisk.create(path, like)
}

func (d *failing) rename(from, to string) error {
	d.renames++
	switch {
	case d.renames == 2 && d.second != nil:
		return d.second
	case d.renames == 3 && d.undo != nil:
		return d.undo
	}
	return d.realDisk.rename(from, to)
}

func TestADirectoryThatCannotBeWrittenToIsRefused(t *testing.T) {
	path := install(t, []byte("old"))
	_, err := replaceOn(&failing{create_: fs.ErrPermission}, path, false)
	var dir *DirError
	if !errors.As(err, &dir) || dir.Dir != filepath.Dir(path) || !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("got %v", err)
	}
}

// On Windows, a running program is renamed before the new one takes its place.
func TestTheOldProgramGetsItsNameBack(t *testing.T) {
	old, fresh := versioned(t, "1.2.0"), versioned(t, "1.3.0")
	busy := errors.New("the file is in use")

	path := install(t, old)
	r, err := replaceOn(&failing{second: busy}, path, true)
	if err != nil {
		t.Fatal(err)
	}
	err = r.Put(t.Context(), fresh, "1.3.0")
	r.Close()
	if err == nil || !strings.Contains(err.Error(), "could not be replaced: the file is in use; nothing was changed") || !bytes.Equal(read(t, path), old) || len(inDir(t, path)) > 0 {
		t.Errorf("got %v; files: %q", err, inDir(t, path))
	}

	path = install(t, old)
	if r, err = replaceOn(&failing{second: busy, undo: errors.New("still in use")}, path, true); err != nil {
		t.Fatal(err)
	}
	err = r.Put(t.Context(), fresh, "1.3.0")
	r.Close()
	left := inDir(t, path)
	if len(left) != 1 || !bytes.Equal(read(t, filepath.Join(filepath.Dir(path), left[0])), old) {
		t.Fatalf("the old program is lost: %q", left)
	}
	if want := "next: rename " + filepath.Join(filepath.Dir(path), left[0]) + " to " + path; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v\nwithout %s", err, want)
	}
}

// If another process removes the new file, nothing changes.
func TestALostFileChangesNothing(t *testing.T) {
	old := versioned(t, "1.2.0")
	for _, aside := range []bool{false, true} {
		path := install(t, old)
		first, err := replaceOn(realDisk{}, path, aside)
		if err != nil {
			t.Fatal(err)
		}
		if err := first.write(versioned(t, "1.3.0")); err != nil {
			t.Fatal(err)
		}
		second, err := replaceOn(realDisk{}, path, aside)
		if err != nil {
			t.Fatal(err)
		}
		if err := first.swap(); err == nil {
			t.Error("the file was not removed")
		}
		first.Close()
		second.Close()
		if !bytes.Equal(read(t, path), old) || len(inDir(t, path)) > 0 {
			t.Errorf("the program has changed, or files are left: %q", inDir(t, path))
		}
	}
}

// mortal is a disk that kills its process before a step.
type mortal struct {
	realDisk
	left *int // steps until then
}

func (d mortal) step() {
	if *d.left--; *d.left < 0 {
		own, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = own.Kill() // SIGKILL
		}
		panic(fmt.Sprint("still alive: ", err))
	}
}

func (d mortal) create(path string, like fs.FileInfo) (file, error) {
	d.step()
	f, err := d.realDisk.create(path, like)
	return mortalFile{f, d}, err
}

func (d mortal) run(ctx context.Context, program string) (string, error) {
	d.step()
	return d.realDisk.run(ctx, program)
}

func (d mortal) rename(from, to string) error {
	d.step()
	return d.realDisk.rename(from, to)
}

func (d mortal) remove(path string) error {
	d.step()
	return d.realDisk.remove(path)
}

func (d mortal) syncDir(dir string) {
	d.step()
	d.realDisk.syncDir(dir)
}

// mortalFile kills its process also in the middle of a write.
type mortalFile struct {
	file
	disk mortal
}

func (f mortalFile) Write(content []byte) (int, error) {
	f.disk.step()
	n, err := f.file.Write(content[:len(content)/2])
	if err != nil {
		return n, err
	}
	f.disk.step()
	m, err := f.file.Write(content[n:])
	return n + m, err
}

func (f mortalFile) Chmod(mode fs.FileMode) error {
	f.disk.step()
	return f.file.Chmod(mode)
}

func (f mortalFile) Sync() error {
	f.disk.step()
	return f.file.Sync()
}

func (f mortalFile) Close() error {
	f.disk.step()
	return f.file.Close()
}

// replaceAndDie replaces a program, and kills its process before step n. It exits with 0 if there are not
// so many steps.
func replaceAndDie(args []string) int {
	path, from, version := args[0], args[1], args[2]
	steps, err := strconv.Atoi(args[3])
	program, err2 := os.ReadFile(from)
	if err != nil || err2 != nil {
		return 4
	}
	r, err := replaceOn(mortal{left: &steps}, path, args[4] == "aside")
	if err == nil {
		err = r.Put(context.Background(), program, version)
		r.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 4
	}
	return 0
}

// Before each step of a replacement its process is killed, as by kill -9. The installed program is then the
// old one or the new one, and the next replacement works and removes what is left.
func TestAKilledReplacementLeavesAWorkingProgram(t *testing.T) {
	old, fresh := versioned(t, "1.2.0"), versioned(t, "1.3.0")
	source := install(t, fresh)
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"in place", "aside"} {
		killed, missing := 0, 0
		versions := map[string]int{}
		for steps := 0; ; steps++ {
			path := install(t, old)
			out, err := exec.Command(own, "replace-and-die", path, source, "1.3.0", strconv.Itoa(steps), how).CombinedOutput()
			if err == nil {
				break
			}
			var exited *exec.ExitError
			if !errors.As(err, &exited) || exited.ExitCode() == 4 || bytes.Contains(out, []byte("panic")) {
				t.Fatalf("%s, step %d: %v\n%s", how, steps, err, out)
			}
			killed++
			if _, err := os.Stat(path); how == "aside" && errors.Is(err, fs.ErrNotExist) {
				missing++
				left := inDir(t, path)
				if i := slices.IndexFunc(left, func(n string) bool { return strings.Contains(n, "-old") }); i < 0 || !bytes.Equal(read(t, filepath.Join(filepath.Dir(path), left[i])), old) {
					t.Errorf("%s, step %d: the old program is lost: %q", how, steps, left)
				}
				continue
			}
			version := reported(path)
			versions[version]++
			if want := map[string][]byte{"1.2.0": old, "1.3.0": fresh}[version]; want == nil || !bytes.Equal(read(t, path), want) {
				t.Errorf("%s, step %d: the program reports %q, and is neither the old one nor the new one", how, steps, version)
			}
			r, err := Replace(path)
			if err == nil {
				err = r.Put(t.Context(), fresh, "1.3.0")
				r.Close()
			}
			if left := inDir(t, path); err != nil || reported(path) != "1.3.0" || len(left) > 0 && runtime.GOOS != "windows" {
				t.Errorf("%s, step %d: the next replacement: %v; it reports %q; left behind: %q", how, steps, err, reported(path), left)
			}
		}
		t.Logf("%s: killed %d times, versions %v, missing %d times", how, killed, versions, missing)
		if killed < 8 || versions["1.2.0"] < 5 || versions["1.3.0"] < 1 || missing != map[string]int{"in place": 0, "aside": 1}[how] {
			t.Errorf("%s: killed %d times, versions %v, missing %d times", how, killed, versions, missing)
		}
	}
}
