package realparts

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
)

// NeedTracer returns the path of a strace that may trace here, with the manners of Need. It is Debian's own: a tracer
// sees everything, so none is fetched from anywhere else.
func NeedTracer(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves the tracer out")
	}
	ctx, cancel := context.WithTimeout(context.Background(), installPatience)
	defer cancel()
	path, err := tracer(ctx, os.Stderr)
	if err != nil {
		missing(t, "strace", err)
	}
	return path
}

// tracer finds strace, or installs it, and tries it: a container may forbid tracing.
func tracer(ctx context.Context, out io.Writer) (string, error) {
	if err := ensure(ctx, out, "strace", "strace"); err != nil {
		return "", err
	}
	path, err := exec.LookPath("strace")
	if err != nil {
		return "", err
	}
	if err := run(ctx, "", nil, path, "-f", "-o", os.DevNull, "true"); err != nil {
		return "", fmt.Errorf("%w\nnext: allow tracing (in a container: --cap-add=SYS_PTRACE), then run this again", err)
	}
	return path, nil
}
