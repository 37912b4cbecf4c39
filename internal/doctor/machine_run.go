package doctor

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"time"
)

// run asks a program one question, without a stdin, and returns what it says
// on stdout and stderr: some tell their version there. It starts in the root
// folder, because version managers and shells read settings of the folder they
// start in, which may be anybody's.
func run(ctx context.Context, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var said answer
	cmd.Dir = filepath.VolumeName(name) + string(filepath.Separator)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &said, &said
	cmd.WaitDelay = 100 * time.Millisecond // whoever holds the pipe is not waited for
	alone(cmd)
	err := cmd.Run()
	return said.String(), err
}

// answer keeps the beginning of what was said.
type answer struct{ bytes.Buffer }

func (a *answer) Write(b []byte) (int, error) {
	const most = 16 << 10
	a.Buffer.Write(b[:min(len(b), max(0, most-a.Len()))])
	return len(b), nil
}
