package upgrade

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"time"

	"github.com/rogpeppe/go-internal/robustio"

	"github.com/gauze-mcp/gauze/internal/disk/files"
)

// disk is what a replacement does to a machine, one method for each step.
type disk interface {
	create(path string, like fs.FileInfo) (file, error) // a new file, owned by the owner of like
	run(ctx context.Context, program string) (said string, err error)
	rename(from, to string) error
	remove(path string) error
	syncDir(dir string)
}

// file is a file that is being written.
type file interface {
	io.WriteCloser
	Chmod(fs.FileMode) error
	Sync() error
}

// realDisk is the machine itself.
type realDisk struct{}

func (realDisk) create(path string, like fs.FileInfo) (file, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	keepOwner(f, like)
	return f, nil
}

// runTimeout is how long a new program may take to report its version.
const runTimeout = time.Minute

// run returns what the program reports as its version.
func (realDisk) run(ctx context.Context, program string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, runTimeout)
	defer stop()
	cmd := exec.CommandContext(ctx, program, "version")
	var out, failure bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failure
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w %s", err, failure.Bytes())
	}
	return out.String(), nil
}

func (realDisk) rename(from, to string) error { return robustio.Rename(from, to) }
func (realDisk) remove(path string) error     { return os.Remove(path) }
func (realDisk) syncDir(dir string)           { files.SyncDir(dir) }
