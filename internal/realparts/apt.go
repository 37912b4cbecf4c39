package realparts

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// ensure makes sure a tool is on the PATH, installing the given Debian packages if it is not.
func ensure(ctx context.Context, out io.Writer, tool string, packages ...string) error {
	if _, err := exec.LookPath(tool); err == nil {
		return nil
	}
	if err := aptInstall(ctx, out, packages...); err != nil {
		return fmt.Errorf("%s is not on the PATH: %w", tool, err)
	}
	_, err := exec.LookPath(tool)
	return err
}

// CCompiler makes sure there is a C compiler, which Go's race detector needs.
func CCompiler(ctx context.Context, out io.Writer) error {
	return ensure(ctx, out, "gcc", "gcc", "libc6-dev")
}

// aptInstall installs Debian packages where that is possible: apt-get is there and we are root.
func aptInstall(ctx context.Context, out io.Writer, packages ...string) error {
	list := strings.Join(packages, " ")
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return fmt.Errorf("no root or no apt-get here\nnext: install it yourself (on Debian: apt-get install %s)", list)
	}
	fmt.Fprintf(out, "apt-get install %s\n", list)
	quiet := []string{"DEBIAN_FRONTEND=noninteractive"}
	// Its failure matters only if the installation fails too: one stale source must not stop us.
	updated := run(ctx, "", quiet, "apt-get", "update", "-q")
	if err := run(ctx, "", quiet, append([]string{"apt-get", "install", "-q", "-y", "--no-install-recommends"}, packages...)...); err != nil {
		if updated != nil {
			err = fmt.Errorf("%w\n%w", updated, err)
		}
		return fmt.Errorf("%w\nnext: install it yourself (on Debian: apt-get install %s)", err, list)
	}
	return nil
}
