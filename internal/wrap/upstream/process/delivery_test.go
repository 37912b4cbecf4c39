package process

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/testonly/census"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// behaving returns a Spec that starts this test binary with a behaviour of
// behaveAsAsked.
func behaving(how string, env ...string) launch.Spec {
	return launch.Spec{Command: os.Args[0], Env: append(os.Environ(), append(env, "GAUZE_TEST_BEHAVE="+how)...)}
}

// running is a server that a test started.
type running struct {
	*Pipes
	*life.Record
}

func (r running) Queue(parts ...[]byte) (end int64, err error) { return r.Put(parts) }

// launched starts a server and ends it with the test.
func launched(t *testing.T, spec launch.Spec) running {
	t.Helper()
	spec.Env = append(spec.Env, census.Mark(t))
	watchdog := &Guard{}
	record := life.NewRecord(&ear{}, io.Discard)
	pipes, err := Launch(spec, record, watchdog)
	if err != nil {
		t.Fatal(err)
	}
	go pipes.Serve(wire.MaxLine)
	t.Cleanup(func() {
		record.End("the test is over", true)
		<-record.Done()
		watchdog.Close()
	})
	return running{pipes, record}
}

// A call that took effect must never be judged unsent, however the server
// reads and whenever it dies. The server reads with a small buffer, records
// each line it has read, and dies after some of them. Its client may have left.
func TestACallThatTookEffectIsNeverUnsent(t *testing.T) {
	t.Parallel()
	const calls, size = 3, 20_000
	for n := range 2 * (calls + 1) {
		dies, left := n/2, n%2 == 1
		proves := ProvesUnread && (!left || runtime.GOOS == "linux")
		t.Run(fmt.Sprintf("after %d of %d calls, client left %v", dies, calls, left), func(t *testing.T) {
			ledger := filepath.Join(t.TempDir(), "ledger")
			c := launched(t, behaving("record", "GAUZE_TEST_LEDGER="+ledger, fmt.Sprintf("GAUZE_TEST_DIES=%d", dies)))
			var ends []int64
			for i := range calls {
				end, err := c.Queue(fmt.Appendf(nil, "{\"call\":%d,\"x\":\"%s\"}\n", i, strings.Repeat("x", size)))
				if err != nil && i >= dies {
					break // it has died already
				}
				if err != nil {
					t.Fatal(err)
				}
				ends = append(ends, end)
			}
			c.Flush()
			if left {
				go c.EndInput()
			}
			<-c.Done()
			effects, _ := os.ReadFile(ledger)
			for i := range calls {
				if ran := bytes.Contains(effects, fmt.Appendf(nil, "call %d\n", i)); ran != (i < dies) {
					t.Fatalf("the server recorded %q", effects)
				}
			}
			for i, end := range ends {
				if i < dies && c.Delivery(end) == fault.Unsent {
					t.Errorf("call %d took effect and is judged unsent", i)
				}
				// A buffer of 4 kB reads a little of the next call, and nothing beyond.
				if i >= dies && proves && c.Delivery(end) != fault.Unsent {
					t.Errorf("call %d was never read and is judged %v", i, c.Delivery(end))
				}
			}
		})
	}
}

// The same for a server that is killed while it reads and we write.
func TestACallThatAKilledServerRanIsNeverUnsent(t *testing.T) {
	t.Parallel()
	const calls, size = 100, 20_000
	ledger := filepath.Join(t.TempDir(), "ledger")
	c := launched(t, behaving("record", "GAUZE_TEST_LEDGER="+ledger, fmt.Sprintf("GAUZE_TEST_DIES=%d", calls)))
	var ends []int64
	for i := range calls {
		end, err := c.Queue(fmt.Appendf(nil, "{\"call\":%d,\"x\":\"%s\"}\n", i, strings.Repeat("x", size)))
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	c.Flush()
	for recorded := false; !recorded; runtime.Gosched() {
		info, err := os.Stat(ledger)
		recorded = err == nil && info.Size() > 0
	}
	if server, err := os.FindProcess(c.PID()); err == nil {
		server.Kill()
	}
	<-c.Done()
	effects, err := os.ReadFile(ledger)
	if err != nil {
		t.Fatal(err)
	}
	ran := bytes.Count(effects, []byte("\n"))
	t.Logf("%d of %d calls ran", ran, calls)
	for i, end := range ends {
		if i < ran && c.Delivery(end) == fault.Unsent {
			t.Errorf("call %d took effect and is judged unsent", i)
		}
		// What it had read and not yet recorded is less than one call and a buffer.
		if i > ran+1 && ProvesUnread && c.Delivery(end) != fault.Unsent {
			t.Errorf("call %d was never read and is judged %v", i, c.Delivery(end))
		}
	}
}

// The client leaves while the server does not read: the server still ends.
func TestAServerThatDoesNotReadEnds(t *testing.T) {
	t.Parallel()
	c := launched(t, behaving("hold"))
	if _, err := c.Queue([]byte(strings.Repeat("x", 1<<20) + "\n")); err != nil {
		t.Fatal(err)
	}
	c.Flush()
	if !c.Blocked() {
		t.Fatal("a megabyte fits into a pipe?")
	}
	c.End(life.ClientLeft, false)
	<-c.Done()
}

// What a server that never reads was sent is provably unsent.
func TestWhatAServerNeverReadIsUnsent(t *testing.T) {
	t.Parallel()
	if !ProvesUnread {
		t.Log("this system does not prove it")
		return
	}
	c := launched(t, behaving("hold"))
	var ends []int64
	for range 20 { // more than fits into the pipe
		end, err := c.Queue([]byte(`{"x":"` + strings.Repeat("x", 20_000) + `"}` + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	c.Flush()
	begun(c.out)
	c.End("it hangs", true)
	<-c.Done()
	for i, end := range ends {
		if c.Delivery(end) != fault.Unsent {
			t.Errorf("call %d is judged %v", i, c.Delivery(end))
		}
	}
}

// The system counts the CPU time of a server at work.
func TestABusyServerIsSeenWorking(t *testing.T) {
	t.Parallel()
	c := launched(t, behaving("spin"))
	before := c.Vitals()
	if !before.Known {
		t.Fatal("the CPU time of the server is unknown")
	}
	for c.Vitals().CPU < before.CPU+10*CPUTick {
		runtime.Gosched()
	}
}
