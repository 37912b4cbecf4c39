package doctor

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"time"
)

// run runs a program without a stdin and returns what it writes to stdout and stderr: some print
// their version there. It starts in the root directory, because version managers and shells read
// settings from their working directory, which may belong to any project.
func run(ctx context.Context, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var said answer
	cmd.Dir = filepath.VolumeName(name) + string(filepath.Separator)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &said, &said
	cmd.WaitDelay = 100 * time.Millisecond // do not wait for a child that keeps the pipe open
	killTreeOnCancel(cmd)
	err := cmd.Run()
	return said.String(), err
}

// answer keeps the beginning of a program's output.
type answer struct{ bytes.Buffer }

func (a *answer) Write(b []byte) (int, error) {
	const most = 16 << 10
	a.Buffer.Write(b[:min(len(b), max(0, most-a.Len()))])
	return len(b), nil
}
