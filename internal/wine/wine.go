// Package wine runs programs built for Windows on a Debian-like Linux machine.
//
// It brings its own wine, which is newer than the one most machines have: a minimal Debian in a folder of the user's
// cache directory, about 1.1 GB, made once and reused. Debian's packages come from the mirror that apt is configured
// for. Programs run in mount and process namespaces of their own, so nothing stays mounted and no process survives.
//
// wine is not Windows: creating a symbolic link only pretends to succeed, and /proc and /bin/sh are visible.
package wine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// suite is the Debian release whose wine is used: wine 8, the one before it, cannot start programs of Go 1.26.
const suite = "trixie"

// Folder is a Debian folder with wine, and a directory for what programs write.
type Folder struct {
	root string // root holds the Debian system.
	work string // work is visible inside and outside under the same name.

	unlock func()
}

// Install returns the folder with wine, making it first if it is missing. Its work directory starts empty and belongs to
// the caller until Close; a second caller waits.
func Install(ctx context.Context, out io.Writer) (*Folder, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	root := filepath.Join(cache, "gauze", "wine")
	if err := install(ctx, out, root); err != nil {
		return nil, err
	}
	f := &Folder{root: root, work: os.Getenv("WINE_WORK")}
	if f.work == "" {
		f.work = filepath.Join(root, "work")
	}
	if f.unlock, err = lockedfile.MutexAt(f.work + ".lock").Lock(); err != nil {
		return nil, err
	}
	if err := f.prepare(ctx); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Close lets the next caller have the work directory.
func (f *Folder) Close() { f.unlock() }

// supported reports what is missing on a machine that cannot run wine here.
func supported() error {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Errorf("running Windows programs requires Linux on amd64, not %s on %s", runtime.GOOS, runtime.GOARCH)
	}
	if os.Geteuid() != 0 {
		return errors.New("running Windows programs requires root: wine runs in a folder of its own, with /dev and /proc mounted in it\n" +
			"next: run the same command as root")
	}
	for _, tool := range []string{"apt-get", "unshare", "chroot"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("running Windows programs requires Debian or a system like it: %w", err)
		}
	}
	return nil
}

// install makes the Debian folder. It is complete or absent: it gets its name last.
func install(ctx context.Context, out io.Writer, root string) error {
	// A link into the folder, which leads nowhere from outside.
	if _, err := os.Lstat(filepath.Join(root, "usr", "bin", "wine")); err == nil {
		return nil
	}
	mirror, err := mirror(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "installing wine into %s: a few minutes, about 1.1 GB\n", root)
	if _, err := exec.LookPath("mmdebstrap"); err != nil {
		if err := run(ctx, "apt-get", "update", "-q"); err != nil {
			return err
		}
		if err := run(ctx, "apt-get", "install", "-q", "-y", "--no-install-recommends", "mmdebstrap", "debian-archive-keyring"); err != nil {
			return err
		}
	}
	partial := root + ".partial"
	if err := errors.Join(os.RemoveAll(partial), os.MkdirAll(partial, 0o755)); err != nil {
		return err
	}
	err = run(ctx, "mmdebstrap", "--variant=minbase", "--include=wine,wine64", `--aptopt=APT::Install-Recommends "false"`, suite, partial, mirror)
	if err != nil {
		return err
	}
	return os.Rename(partial, root)
}

// mirror returns the Debian mirror that apt is configured for.
func mirror(ctx context.Context) (string, error) {
	targets, err := exec.CommandContext(ctx, "apt-get", "indextargets", "--format", "$(REPO_URI)").Output()
	if err != nil {
		return "", fmt.Errorf("apt-get indextargets: %w", err)
	}
	if uri, ok := debianMirror(string(targets)); ok {
		return uri, nil
	}
	return "", errors.New("apt has no Debian mirror configured\nnext: add one to apt's sources, then run this again")
}

// debianMirror returns the first address of a main archive among the addresses that apt lists.
func debianMirror(targets string) (string, bool) {
	for uri := range strings.FieldsSeq(targets) {
		if strings.HasSuffix(strings.TrimRight(uri, "/"), "/debian") {
			return uri, true
		}
	}
	return "", false
}

// prepare empties the work directory and makes a new Windows in it.
func (f *Folder) prepare(ctx context.Context) error {
	for _, dir := range []string{f.prefix(), f.Temp()} {
		if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
			return err
		}
	}
	if err := os.WriteFile(f.Launcher(), []byte(f.launch()), 0o755); err != nil {
		return err
	}
	// Its status says nothing: without a display some of its programs fail. The registry is on disk when its server ends.
	said, _ := f.Command(ctx, f.work, "sh", "-c", `"$0" wineboot -i; timeout 120 chroot "$1" env WINEPREFIX="$2" wineserver -w`,
		f.Launcher(), f.root, f.prefix()).CombinedOutput()
	if _, err := os.Stat(filepath.Join(f.prefix(), "drive_c", "windows", "system32", "cmd.exe")); err != nil {
		return fmt.Errorf("wineboot: %w\n%s", err, bytes.TrimSpace(said))
	}
	return nil
}

func (f *Folder) prefix() string { return filepath.Join(f.work, "prefix") }

// Temp returns a directory that programs inside also see.
func (f *Folder) Temp() string { return filepath.Join(f.work, "tmp") }

// Launcher returns the program that starts a Windows program, as go test -exec expects it. It works only in commands
// that Command returns.
func (f *Folder) Launcher() string { return filepath.Join(f.work, "wine") }

// launch is the launcher's script. chroot leaves the working directory, so it is entered again.
func (f *Folder) launch() string {
	return fmt.Sprintf(`#!/bin/sh
exec chroot '%s' /usr/bin/env -u GOTMPDIR -u TMPDIR HOME=/root LANG=C.UTF-8 WINEPREFIX='%s' WINEDEBUG=-all DISPLAY= \
  WINEDLLOVERRIDES='mscoree=d;mshtml=d;winemenubuilder.exe=d' \
  /bin/sh -c 'cd "$0" && exec wine "$@"' "$PWD" "$@"
`, f.root, f.prefix())
}

// enter mounts the directories that stay visible, then becomes the command.
const enter = `set -e
root=$1; shift
while [ "$1" != -- ]; do mkdir -p "$root$1"; mount --bind "$1" "$root$1"; shift; done; shift
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
exec "$@"`

// Command returns a command of this machine that may start Windows programs with the launcher. They see dir and the
// work directory. When the command ends, every process it started is killed.
func (f *Folder) Command(ctx context.Context, dir string, argv ...string) *exec.Cmd {
	args := []string{"--mount", "--mount-proc", "--pid", "--fork", "--kill-child", "sh", "-c", enter, "sh", f.root, f.work, dir, "--"}
	cmd := exec.CommandContext(ctx, "unshare", append(args, argv...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOTMPDIR="+f.Temp())
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// Path returns the name that a file has inside.
func Path(file string) string { return "Z:" + strings.ReplaceAll(file, "/", `\`) }

// run executes one command quietly; its error carries the command and its output.
func run(ctx context.Context, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	cmd.WaitDelay = 10 * time.Second
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, bytes.TrimSpace(said))
	}
	return nil
}
