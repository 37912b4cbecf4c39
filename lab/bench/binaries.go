package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/gauze-mcp/gauze/lab/programs"
)

// binaries are the executables of one benchmark run, and a temporary directory for its files.
type binaries struct {
	dir  string
	self string // this executable, which plays the roles
}

func newBinaries() (*binaries, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "gauze-bench-")
	if err != nil {
		return nil, err
	}
	// What gauze records during a benchmark does not belong into the user's journal.
	if err := os.Setenv("GAUZE_STATE_DIR", filepath.Join(dir, "state")); err != nil {
		return nil, err
	}
	return &binaries{dir: dir, self: self}, nil
}

func (b *binaries) remove() { os.RemoveAll(b.dir) }

// gauze builds gauze with the given build tags.
func (b *binaries) gauze(tags string) (string, error) {
	return programs.WithTags(tags).Path(context.Background())
}

// sdkServer builds the echo server that uses the Go SDK.
func (b *binaries) sdkServer() (string, error) {
	return programs.SDKServer.Path(context.Background())
}

// floor builds the byte pump and the minimal server.
func (b *binaries) floor() (string, error) { return programs.Floor.Path(context.Background()) }
