package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// target is the server behind a front: a URL or a command.
type target struct {
	url     string
	command []string
}

// front is a proxy for a server: gauze, or a fake in tests. stop returns an error if it did not run
// and stop cleanly.
type front interface {
	open(ctx context.Context, t target) (url string, stop func() error, err error)
}

// gauzeServe is `gauze serve`.
type gauzeServe struct {
	path     string
	ownGroup bool
}

const listening = "gauze: listening on "

func (g gauzeServe) open(ctx context.Context, t target) (string, func() error, error) {
	args := []string{"serve", "--no-token", "--listen", "127.0.0.1:0"}
	if t.url != "" {
		return g.listen(ctx, append(args, "--url", t.url)...)
	}
	return g.listen(ctx, append(append(args, "--"), t.command...)...)
}

// listen starts gauze and returns the address that it reports.
func (g gauzeServe) listen(ctx context.Context, args ...string) (string, func() error, error) {
	argv := append([]string{g.path}, args...)
	ready := make(chan string, 1)
	p, err := start(g.ownGroup, os.Environ(), argv, func(line string) {
		if url, ok := strings.CutPrefix(strings.TrimSpace(line), listening); ok {
			select {
			case ready <- url:
			default:
			}
		}
	})
	if err != nil {
		return "", nil, err
	}
	stop := func() error {
		if err := p.stop(patience.Limit()); err != nil {
			return fmt.Errorf("gauze %s: %w", args[0], err)
		}
		return nil
	}
	select {
	case url := <-ready:
		return url, stop, nil
	case <-p.done:
		err = fmt.Errorf("exited before listening: %v\n%s", p.err, p.output)
	case <-time.After(patience.Limit()):
		err = fmt.Errorf("did not print %q within %v\n%s", listening, patience.Limit(), p.output)
	case <-ctx.Done():
		err = errors.New("interrupted")
	}
	p.kill()
	return "", nil, fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
}
