package upstream

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
)

// errnoOfKind names an error that Go made itself, where the system would have
// had a word for it.
func errnoOfKind(err error) string {
	var (
		dir     *WorkdirError
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
		return "ECONNRESET" // hung up, in order or not: there was no answer
	case errors.Is(err, context.Canceled):
		return ""
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "ETIMEDOUT"
	}
	return ""
}
