package realparts

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
)

// NeedTracer returns the path of a working strace. If it is missing, NeedTracer behaves like Need.
// strace comes only from the distribution, because a tracer sees everything.
func NeedTracer(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), installTimeout)
	defer cancel()
	path, err := tracer(ctx, os.Stderr)
	if err != nil {
		missing(t, "strace", err)
	}
	return path
}

// tracer finds or installs strace and tries it, because a container may forbid tracing.
func tracer(ctx context.Context, out io.Writer) (string, error) {
	if err := Ensure(ctx, out, "strace", "strace"); err != nil {
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
