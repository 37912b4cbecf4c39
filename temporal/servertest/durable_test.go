package servertest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/testing/freeport"
	"go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
)

// A Temporal server in a process of its own, which can be killed and keeps its state in a file.
// temporaltest has only one that ends with the test and has its state in memory.

// envDurable makes this binary a Temporal server with its state in this directory.
const envDurable = "GAUZE_TEST_TEMPORAL_DIR"

const envDurablePort = "GAUZE_TEST_TEMPORAL_PORT"

const durableNamespace = "default"

// serveDurable runs the server until the process is killed.
func serveDurable(dir string) {
	if err := startDurable(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("ready")
	_, _ = os.Stdin.Read(make([]byte, 1)) // the test holds it open
	os.Exit(0)
}

func startDurable(dir string) error {
	port, err := strconv.Atoi(os.Getenv(envDurablePort))
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "temporal.db")
	store := &config.SQL{PluginName: sqliteplugin.PluginName, DatabaseName: file, ConnectAttributes: map[string]string{"mode": "rwc"}}
	if _, err := os.Stat(file); os.IsNotExist(err) {
		if err := sqlite.SetupSchema(store); err != nil {
			return err
		}
	}
	namespace, err := sqlite.NewNamespaceConfig("active", durableNamespace, false, nil)
	if err != nil {
		return err
	}
	if err := sqlite.CreateNamespaces(store, namespace); err != nil {
		return err
	}
	s, err := temporal.NewServer(temporal.WithConfig(durableConfig(port, store)), temporal.ForServices(temporal.DefaultServices), temporal.WithLogger(log.NewNoopLogger()))
	if err != nil {
		return err
	}
	return s.Start()
}

// durableConfig is the configuration of temporaltest, with a different store.
func durableConfig(port int, store *config.SQL) *config.Config {
	address := fmt.Sprintf("127.0.0.1:%d", port)
	service := func(port int) config.Service {
		return config.Service{RPC: config.RPC{GRPCPort: port, MembershipPort: freeport.MustGetFreePort(), BindOnIP: "127.0.0.1"}}
	}
	return &config.Config{
		Global: config.Global{Membership: config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: "127.0.0.1"}},
		Persistence: config.Persistence{
			DefaultStore: sqliteplugin.PluginName, VisibilityStore: sqliteplugin.PluginName, NumHistoryShards: 1,
			DataStores: map[string]config.DataStore{sqliteplugin.PluginName: {SQL: store}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10, MasterClusterName: "active", CurrentClusterName: "active",
			ClusterInformation: map[string]cluster.ClusterInformation{"active": {Enabled: true, InitialFailoverVersion: 1, RPCAddress: address}},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services: map[string]config.Service{
			"frontend": service(port), "history": service(freeport.MustGetFreePort()),
			"matching": service(freeport.MustGetFreePort()), "worker": service(freeport.MustGetFreePort()),
		},
		Archival:     config.Archival{History: config.HistoryArchival{State: "disabled"}, Visibility: config.VisibilityArchival{State: "disabled"}},
		PublicClient: config.PublicClient{HostPort: address},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History: config.HistoryArchivalNamespaceDefaults{State: "disabled"}, Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"},
		}},
	}
}

// durable is a Temporal server that can be killed.
type durable struct {
	t    *testing.T
	dir  string
	port int
	cmd  *exec.Cmd
}

func newDurable(t *testing.T) *durable {
	t.Helper()
	d := &durable{t: t, dir: t.TempDir(), port: freeport.MustGetFreePort()}
	d.start()
	t.Cleanup(func() { d.kill() })
	return d
}

func (d *durable) address() string { return fmt.Sprintf("127.0.0.1:%d", d.port) }

// start starts the server, with the state that it had.
func (d *durable) start() {
	d.t.Helper()
	d.cmd = exec.Command(os.Args[0])
	d.cmd.Env = append(os.Environ(), envDurable+"="+d.dir, envDurablePort+"="+strconv.Itoa(d.port))
	d.cmd.Stderr = os.Stderr
	if _, err := d.cmd.StdinPipe(); err != nil {
		d.t.Fatal(err)
	}
	said, err := d.cmd.StdoutPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	if line, err := bufio.NewReader(said).ReadString('\n'); err != nil || strings.TrimSpace(line) != "ready" {
		d.t.Fatalf("the Temporal server said %q: %v", line, err)
	}
}

// kill ends the server with SIGKILL.
func (d *durable) kill() {
	d.t.Helper()
	kill(d.t, d.cmd.Process)
	_ = d.cmd.Wait() // it was killed
}

// bench returns a bench on the server.
func (d *durable) bench() *bench {
	d.t.Helper()
	c, err := client.Dial(client.Options{HostPort: d.address(), Namespace: durableNamespace, Logger: noLog{}, Identity: "test"})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(c.Close)
	return newBenchOn(d.t, d.address(), durableNamespace, c)
}

// The Temporal server is killed in the middle of a task. The command that waits says so, does not give
// up, and reports that the task is done, with every effect once.
func TestTemporalServerIsKilled(t *testing.T) {
	t.Parallel()
	d := newDurable(t)
	b := d.bench()
	b.worker()
	steps, keys := appends(10, 300)
	running := b.launch("task", "run", "--yes", "--heartbeat", "5m", b.file(steps))
	b.untilEffects(3)
	d.kill()
	running.until("still waiting: the Temporal server at " + d.address() + " cannot be reached")
	d.start()
	if status, said := running.wait(); status != 0 || !strings.Contains(said, "10 of 10 steps") {
		t.Fatalf("exit status %d\n%s", status, said)
	}
	b.wantKeys(keys)
}

// The Temporal server and the worker are killed during the same call. With both back, the task
// finishes, with every effect once.
func TestTemporalServerAndWorkerAreKilled(t *testing.T) {
	t.Parallel()
	d := newDurable(t)
	b := d.bench()
	first := b.worker()
	steps, keys := appends(8, 300)
	id := b.start(b.plan(steps))
	b.untilEffects(3)
	d.kill()
	kill(t, first.Process)
	d.start()
	b.worker()
	decisions := b.finish(id, 0)
	b.wantKeys(keys)
	t.Logf("%d decisions", decisions)
	b.replays(id, "temporal-killed")
}
