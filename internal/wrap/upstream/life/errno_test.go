package life

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

func TestErrorsHaveTheNamesEverybodyKnows(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"":             errors.New("something"),
		"ENOENT":       &launch.WorkdirError{Dir: "/none"},
		"ENOTFOUND":    &net.DNSError{Err: "no such host", IsNotFound: true},
		"EAI_AGAIN":    &net.DNSError{Err: "server misbehaving", IsTemporary: true},
		"ETIMEDOUT":    &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded},
		"ECONNREFUSED": &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
		"ECONNRESET":   io.ErrUnexpectedEOF,
	} {
		if got := Errno(fmt.Errorf("wrapped: %w", err)); got != want {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
	if Errno(nil) != "" || Stage(99).String() != "stage 99" || Listed.String() != "listed" {
		t.Error("nothing has a name")
	}
}
