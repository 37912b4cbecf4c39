//go:build linux

package realtest

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// front is a gauze serve.
type front struct {
	*child
	url string
}

// serve starts gauze in front of a server: a command line behind "--", or "--url" and an address. At the end of the
// test a SIGTERM must end it and everything below it.
func serve(t *testing.T, env []string, server ...string) *front {
	t.Helper()
	argv := slices.Concat([]string{gauzeBinary(), "serve", "--no-token", "--listen", "127.0.0.1:0"}, unhurried, oftenRestarted, server)
	f := &front{child: start(t, argv, environment(env), listening)}
	_, f.url, _ = strings.Cut(f.wait(t, listening), listening)
	t.Cleanup(func() {
		if err := f.stop(t); err != nil {
			t.Errorf("gauze serve: %v", err)
		}
	})
	return f
}

const listening = "gauze: listening on "

func (f *front) stop(t *testing.T) error {
	all := below(t, f.pid())
	if err := f.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-f.ended:
	case <-time.After(stopPatience):
		return fmt.Errorf("SIGTERM did not end it within %v", stopPatience)
	}
	wantGone(t, all, stopPatience)
	if code := f.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("it ended with %d", code)
	}
	return nil
}
