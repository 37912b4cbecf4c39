// Package wine runs programs built for Windows on a Debian-like Linux machine.
//
// It installs its own wine, which is newer than the one most machines have: a minimal Debian in a
// directory of the user's cache, about 1.1 GB, created once and reused. The packages come from the
// Debian mirror that apt is configured for. Programs run in separate mount and process namespaces,
// so that no mount and no process remains.
//
// wine differs from Windows: creating a symbolic link reports success without creating it, and
// /proc and /bin/sh are visible.
package windows

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

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// suite is the Debian release whose wine is used. Its predecessor has wine 8, which cannot start
// programs built with Go 1.26.
const suite = "trixie"

// Folder is a directory with a Debian system that has wine, and a work directory.
type Folder struct {
	root string // root holds the Debian system.
	work string // work is visible inside and outside under the same name.

	unlock func()
}

// Install returns the folder with wine and creates it first if it is missing. Its work directory
// starts empty and belongs to the caller until Close; a second caller waits.
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

// Close releases the work directory for the next caller.
func (f *Folder) Close() { f.unlock() }

// supported returns an error if this machine cannot run wine in a folder.
func supported() error {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Errorf("running Windows programs requires Linux on amd64, not %s on %s", runtime.GOOS, runtime.GOARCH)
	}
	if os.Geteuid() != 0 {
		return errors.New("running Windows programs requires root: wine runs in a separate folder, with /dev and /proc mounted in it\n" +
			"next: run the same command as root")
	}
	for _, tool := range []string{"apt-get", "unshare", "chroot"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("running Windows programs requires Debian or a system like it: %w", err)
		}
	}
	return nil
}

// install creates the Debian folder. It is renamed last, so it is either complete or absent.
func install(ctx context.Context, out io.Writer, root string) error {
	// wine is a symbolic link that resolves only inside the folder.
	if _, err := os.Lstat(filepath.Join(root, "usr", "bin", "wine")); err == nil {
		return nil
	}
	mirror, err := mirror(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "installing wine into %s: a few minutes, about 1.1 GB\n", root)
	if err := realparts.Ensure(ctx, out, "mmdebstrap", "mmdebstrap", "debian-archive-keyring"); err != nil {
		return err
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

// prepare empties the work directory and creates a new Windows environment in it.
func (f *Folder) prepare(ctx context.Context) error {
	for _, dir := range []string{f.prefix(), f.Temp()} {
		if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
			return err
		}
	}
	if err := os.WriteFile(f.Launcher(), []byte(f.launch()), 0o755); err != nil {
		return err
	}
	// Windows always resolves localhost; a minimal Debian has no file that does.
	if err := os.WriteFile(filepath.Join(f.root, "etc", "hosts"), []byte("127.0.0.1 localhost\n::1 localhost\n"), 0o644); err != nil {
		return err
	}
	// The exit status is ignored, because some of its programs fail without a display. The registry
	// is on disk when the wine server ends.
	output, _ := f.Command(ctx, f.work, "sh", "-c", `"$0" wineboot -i; timeout 120 chroot "$1" env WINEPREFIX="$2" wineserver -w`,
		f.Launcher(), f.root, f.prefix()).CombinedOutput()
	if _, err := os.Stat(filepath.Join(f.prefix(), "drive_c", "windows", "system32", "cmd.exe")); err != nil {
		return fmt.Errorf("wineboot: %w\n%s", err, bytes.TrimSpace(output))
	}
	return nil
}

func (f *Folder) prefix() string { return filepath.Join(f.work, "prefix") }

// Temp returns a directory that is also visible to programs in the folder.
func (f *Folder) Temp() string { return filepath.Join(f.work, "tmp") }

// Launcher returns the program that starts a Windows program, as go test -exec expects it. It works
// only in commands that Command returns.
func (f *Folder) Launcher() string { return filepath.Join(f.work, "wine") }

// launch returns the launcher's script. chroot changes the working directory, so the script
// restores it.
func (f *Folder) launch() string {
	return fmt.Sprintf(`#!/bin/sh
exec chroot '%s' /usr/bin/env -u GOTMPDIR -u TMPDIR HOME=/root LANG=C.UTF-8 WINEPREFIX='%s' WINEDEBUG=-all DISPLAY= \
  WINEDLLOVERRIDES='mscoree=d;mshtml=d;winemenubuilder.exe=d' \
  /bin/sh -c 'cd "$0" && exec wine "$@"' "$PWD" "$@"
`, f.root, f.prefix())
}

// enter mounts the directories that stay visible, then executes the command.
const enter = `set -e
root=$1; shift
while [ "$1" != -- ]; do mkdir -p "$root$1"; mount --bind "$1" "$root$1"; shift; done; shift
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
exec "$@"`

// Command returns a command of this machine that may start Windows programs with the launcher. They
// see dir and the work directory. When the command ends, every process that it started is killed.
func (f *Folder) Command(ctx context.Context, dir string, argv ...string) *exec.Cmd {
	args := []string{"--mount", "--mount-proc", "--pid", "--fork", "--kill-child", "sh", "-c", enter, "sh", f.root, f.work, dir, "--"}
	cmd := exec.CommandContext(ctx, "unshare", append(args, argv...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOTMPDIR="+f.Temp())
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// Path returns the name of a file as Windows programs see it.
func Path(file string) string { return "Z:" + strings.ReplaceAll(file, "/", `\`) }

// run executes one command quietly. Its error contains the command and its output.
func run(ctx context.Context, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	cmd.WaitDelay = 10 * time.Second
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, bytes.TrimSpace(output))
	}
	return nil
}
