package servertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/server/temporaltest"
)

// What all tests share.
var (
	bin    string // directory with gauze, gauze-temporal and the faulty server
	server *temporaltest.TestServer
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(envDurable); dir != "" {
		serveDurable(dir)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "gauze-temporal-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	bin = dir
	for name, from := range map[string][2]string{
		"gauze":          {"../..", "./cmd/gauze"},
		"faultyserver":   {"../..", "./internal/testonly/faultyserver/standalone"},
		"gauze-temporal": {"..", "./cmd/gauze-temporal"},
	} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(bin, name), from[1])
		cmd.Dir = from[0]
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building %s: %v\n%s", name, err, out)
			return 1
		}
	}
	server = temporaltest.NewServer(temporaltest.WithBaseClientOptions(client.Options{Logger: noLog{}, Identity: "test"}))
	defer server.Stop()
	return m.Run()
}

type noLog struct{}

func (noLog) Debug(string, ...any) {}
func (noLog) Info(string, ...any)  {}
func (noLog) Warn(string, ...any)  {}
func (noLog) Error(string, ...any) {}
