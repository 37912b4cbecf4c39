package servertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/server/temporaltest"

	"github.com/gauze-mcp/gauze/temporal/flow"
)

// What all tests share.
var (
	bin    string // directory with gauze and gauze-temporal
	server *temporaltest.TestServer
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "gauze-temporal-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	bin = dir
	for name, at := range map[string]string{"gauze": "../..", "gauze-temporal": ".."} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(bin, name), "./cmd/"+name)
		cmd.Dir = at
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building %s: %v\n%s", name, err, out)
			return 1
		}
	}
	server = temporaltest.NewServer(temporaltest.WithBaseClientOptions(client.Options{Logger: noLog{}, Identity: "test"}))
	defer server.Stop()
	return m.Run()
}

// connected returns a client of the server. Tasks notice a dead worker soon.
func connected(queue string) *flow.Client {
	return &flow.Client{Temporal: server.GetDefaultClient(), Queue: queue, Timing: flow.Timing{Heartbeat: heartbeat}}
}

type noLog struct{}

func (noLog) Debug(string, ...any) {}
func (noLog) Info(string, ...any)  {}
func (noLog) Warn(string, ...any)  {}
func (noLog) Error(string, ...any) {}
