package realparts

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Ensure installs the given Debian packages unless tool is on the PATH.
func Ensure(ctx context.Context, out io.Writer, tool string, packages ...string) error {
	if _, err := exec.LookPath(tool); err == nil {
		return nil
	}
	if err := aptInstall(ctx, out, packages...); err != nil {
		return fmt.Errorf("%s is not on the PATH: %w", tool, err)
	}
	_, err := exec.LookPath(tool)
	return err
}

// CCompiler installs a C compiler, which Go's race detector requires, unless there is one.
func CCompiler(ctx context.Context, out io.Writer) error {
	return Ensure(ctx, out, "gcc", "gcc", "libc6-dev")
}

// aptInstall installs Debian packages. It requires apt-get and root.
func aptInstall(ctx context.Context, out io.Writer, packages ...string) error {
	list := strings.Join(packages, " ")
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return fmt.Errorf("it cannot be installed without root and apt-get\nnext: install it yourself (on Debian: apt-get install %s)", list)
	}
	fmt.Fprintf(out, "apt-get install %s\n", list)
	quiet := []string{"DEBIAN_FRONTEND=noninteractive"}
	// An error of update matters only if the installation also fails: one stale source must not
	// stop it.
	updated := run(ctx, "", quiet, "apt-get", "-o", "DPkg::Lock::Timeout=600", "update", "-q")
	if err := run(ctx, "", quiet, append([]string{"apt-get", "-o", "DPkg::Lock::Timeout=600", "install", "-q", "-y", "--no-install-recommends"}, packages...)...); err != nil {
		if updated != nil {
			err = fmt.Errorf("%w\n%w", updated, err)
		}
		return fmt.Errorf("%w\nnext: install it yourself (on Debian: apt-get install %s)", err, list)
	}
	return nil
}

// Tool returns the path of a program of the distribution and installs it first, from the given Debian
// packages, if it is missing. If that fails, Tool behaves like Need.
func Tool(t testing.TB, tool string, packages ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), installTimeout)
	defer cancel()
	if err := Ensure(ctx, os.Stderr, tool, packages...); err != nil {
		missing(t, tool, err)
	}
	path, err := exec.LookPath(tool)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
