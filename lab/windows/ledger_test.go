//go:build windows

package windows

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
)

const (
	numCalls   = 1000
	numKills   = 20
	numCallers = 8
)

// outcome is how a call was answered.
type outcome int

const (
	lost outcome = iota // no answer came
	succeeded
	unknown // the answer says that the outcome is unknown
	failed
)

// Every second call has an effect that must not happen twice; of the others half are idempotent, half only read.
func TestNoEffectIsLostOrDoubled(t *testing.T) {
	ledger := filepath.Join(t.TempDir(), "ledger")
	c := wrapped(t, "", nil, "--", part(t, "faultyserver.exe"), "-ledger", ledger)

	work := make(chan int)
	answered := make(chan struct{}, numCalls)
	outcomes := make([]outcome, numCalls)
	var callers sync.WaitGroup
	for range numCallers {
		callers.Go(func() {
			for n := range work {
				outcomes[n] = judge(<-c.call(toolOf(n), fmt.Sprintf(`{"key":"%d","value":%q,"text":"","ms":3}`, n, valueOf(n))))
				answered <- struct{}{}
			}
		})
	}
	go func() {
		defer close(work)
		for n := range numCalls {
			work <- n
		}
	}()
	last, kills := 0, 0
	for n := range numCalls {
		<-answered
		if (n+1)%(numCalls/(numKills+1)) != 0 || kills == numKills {
			continue
		}
		pid := c.serverPID()
		if pid == last {
			t.Fatalf("process %d was killed and still answers", pid)
		}
		ended := watch(t, pid)
		taskkill(t, pid)
		ended()
		last, kills = pid, kills+1
	}
	callers.Wait()

	entries, _, err := faultyserver.ReadLedger(ledger)
	if err != nil {
		t.Fatal(err)
	}
	effects := map[string]int{}
	for _, e := range entries {
		effects[e.Key]++
	}
	var numLost, numTwice, numUnknown, numFailed, numEffects int
	for n, o := range outcomes {
		tool, times := toolOf(n), effects[fmt.Sprint(n)]
		numEffects += times
		switch {
		case o == lost, o == succeeded && times == 0 && tool != "echo":
			numLost++
		case o == unknown:
			numUnknown++
		case o == failed:
			numFailed++
		}
		if tool == "append" && times > 1 {
			numTwice++
		}
		if tool == "echo" && o != succeeded {
			t.Errorf("a read failed")
		}
	}
	t.Logf("%d calls, %d kills: %d effects, %d lost, %d twice, %d outcome-unknown, %d failed", numCalls, kills, numEffects, numLost, numTwice, numUnknown, numFailed)
	if kills != numKills || numLost > 0 || numTwice > 0 || numFailed > 0 {
		t.Errorf("want %d kills, and nothing lost, twice or failed", numKills)
	}
}

// toolOf returns the tool of a call by its number.
func toolOf(n int) string { return []string{"append", "set", "append", "echo"}[n%4] }

// valueOf makes every tenth message so long that a server may die in the middle of it.
func valueOf(n int) string {
	if n%10 == 0 {
		return strings.Repeat("x", 20_000)
	}
	return "x"
}

func judge(r response) outcome {
	switch said := string(r.Result) + string(r.Error); {
	case said == "":
		return lost
	case strings.Contains(said, "outcome-unknown"):
		return unknown
	case r.Error != nil || strings.Contains(said, `"isError":true`):
		return failed
	}
	return succeeded
}
