package life

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// errnoOfKind returns the name of an error that Go created itself, by the name that the system
// would use.
func errnoOfKind(err error) string {
	var (
		dir     *launch.WorkdirError
		dns     *net.DNSError
		network net.Error
	)
	switch {
	case err == nil:
		return ""
	case errors.As(err, &dir), errors.Is(err, exec.ErrNotFound), errors.Is(err, exec.ErrDot), errors.Is(err, fs.ErrNotExist):
		return "ENOENT"
	case errors.Is(err, fs.ErrPermission):
		return "EACCES"
	case errors.As(err, &dns) && dns.IsNotFound:
		return "ENOTFOUND"
	case errors.As(err, &dns) && dns.IsTemporary:
		return "EAI_AGAIN"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "ECONNRESET" // closed, in order or not: no response came
	case errors.Is(err, context.Canceled):
		return ""
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "ETIMEDOUT"
	}
	return ""
}
