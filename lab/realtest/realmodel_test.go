//go:build linux && realmodel

package realtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/mend/modelconfig"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/lab/programs"
	"github.com/gauze-mcp/gauze/lab/realparts"
	"github.com/gauze-mcp/gauze/task"
)

// The tests of this file ask a real model, which GAUZE_MODEL and GAUZE_MODEL_URL name. To run them:
//
//	go -C lab run ./check -only model

func TestRealModelAnswersTheCheck(t *testing.T) {
	said, err := exec.Command(gauzeBinary(), "model", "check").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	t.Logf("%s", said)
	if !strings.Contains(string(said), "token") {
		t.Errorf("no tokens were counted:\n%s", said)
	}
}

// misfit is a call that no rule repairs, and what a faithful correction of it is.
type misfit struct {
	tool, arguments string
	want            []string // values of the caller, in what the server has afterwards
}

// modelWorld is a server behind gauze, with a real model.
type modelWorld struct {
	t    *testing.T
	in   io.WriteCloser
	out  *bufio.Scanner
	stop func() (stderr string)
}

// dialModel starts gauze with a server and completes the handshake.
func dialModel(t *testing.T, options, env []string, server ...string) *modelWorld {
	t.Helper()
	argv := gauzeRun(append([]string{optTimeout, "10m"}, options...), server...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	var log strings.Builder
	cmd.Stderr = &log
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := &modelWorld{t: t, in: in, out: bufio.NewScanner(out)}
	w.out.Buffer(nil, 16<<20)
	stopped := false
	w.stop = func() string {
		if !stopped {
			stopped = true
			in.Close()
			cmd.Wait()
		}
		return log.String()
	}
	t.Cleanup(func() { w.stop() })
	w.ask(`"init"`, `"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	w.ask(`"list"`, `"tools/list"`)
	return w
}

// ask sends a request and returns its response. There must be exactly one.
func (w *modelWorld) ask(id, method string) string {
	w.t.Helper()
	fmt.Fprintf(w.in, `{"jsonrpc":"2.0","id":%s,"method":%s}`+"\n", id, method)
	for w.out.Scan() {
		if line := w.out.Text(); strings.Contains(line, `"id":`+id) {
			return line
		}
	}
	w.t.Fatalf("no response to %s\n%s", method, w.stop())
	return ""
}

// receipt is the part of a response that says what a model did.
type receipt struct {
	Result struct {
		IsError bool
		Content []struct{ Text string }
		Meta    struct {
			Repair struct {
				Model, Reason string
				Changes       []struct{ Path string }
			} `json:"io.github.gauze-mcp/repair"`
		} `json:"_meta"`
	}
}

// call makes a tool call and reports whether the model corrected it.
func (w *modelWorld) call(m misfit) (r receipt, corrected bool) {
	w.t.Helper()
	begin := time.Now()
	line := w.ask(`"call"`, fmt.Sprintf(`"tools/call","params":{"name":%q,"arguments":%s}`, m.tool, m.arguments))
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		w.t.Fatal(err)
	}
	corrected = r.Result.Meta.Repair.Model != "" && !r.Result.IsError
	w.t.Logf("%s %s: corrected %v in %.1fs\n%s", m.tool, m.arguments, corrected, time.Since(begin).Seconds(), line)
	return r, corrected
}

// A write that is rejected is corrected and runs exactly once with the caller's values, or it does
// not run.
func TestRealModelCorrectsAWriteOnce(t *testing.T) {
	server, err := programs.Faulty.Path(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	strictly := []string{"--tool", "append:repair=strict"} // gauze rejects it, so the server never received it
	for name, test := range map[string]struct {
		misfit
		options []string
	}{
		"rejected before it is sent": {misfit{"append", `{"key":["write-1"],"value":"a new line"}`, []string{"write-1", "a new line"}}, strictly},
		"rejected by the server":     {misfit{"append", `{"key":["write-2"],"value":["a second line"]}`, []string{"write-2", "a second line"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			ledger := filepath.Join(t.TempDir(), "ledger")
			w := dialModel(t, test.options, nil, server, "-ledger", ledger)
			_, corrected := w.call(test.misfit)
			t.Logf("stderr: %s", w.stop())
			entries, _, err := faultyserver.ReadLedger(ledger)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case !corrected && len(entries) > 0:
				t.Errorf("not corrected, but the server wrote %+v", entries)
			case corrected && (len(entries) != 1 || entries[0].Key != test.want[0] || entries[0].Value != test.want[1]):
				t.Errorf("corrected, and the server wrote %+v", entries)
			}
		})
	}
}

// The memory server of npm validates with zod. What it stores has only values of the caller.
func TestRealModelCorrectsACallOfARealServer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.jsonl")
	m := misfit{"create_entities", `{"entities":{"Ada":{"kind":"person","facts":"likes tea"}}}`, []string{"Ada", "person", "likes tea"}}
	w := dialModel(t, nil, []string{"MEMORY_FILE_PATH=" + file}, realparts.Need(t, realparts.Memory)...)
	_, corrected := w.call(m)
	t.Logf("stderr: %s", w.stop())
	stored, err := os.ReadFile(file)
	if !corrected {
		if err == nil && len(stored) > 0 {
			t.Errorf("not corrected, but the server stored %s", stored)
		}
		return
	}
	var entity struct {
		Type, Name, EntityType string
		Observations           []string
	}
	if json.Unmarshal(stored, &entity) != nil || entity.Name != m.want[0] || entity.EntityType != m.want[1] || len(entity.Observations) != 1 || entity.Observations[0] != m.want[2] {
		t.Errorf("the server stored %s", stored)
	}
}

// A call whose value is missing cannot be corrected from what the caller sent: the model may only
// decline, and what it invents is not sent.
func TestRealModelInventsNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.jsonl")
	w := dialModel(t, nil, []string{"MEMORY_FILE_PATH=" + file}, realparts.Need(t, realparts.Memory)...)
	r, corrected := w.call(misfit{tool: "create_entities", arguments: `{"entities":[{"name":"Ada"}]}`})
	if stored, _ := os.ReadFile(file); corrected || !r.Result.IsError || len(stored) > 0 {
		t.Errorf("the server stored %s", stored)
	}
}

// The verdict on a dead server is one that the rules permit, whoever decides.
func TestRealModelJudgesAServer(t *testing.T) {
	config, ok, err := modelconfig.Load("")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	model, err := config.Open()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	verdict, err := task.Evaluate(t.Context(), task.Situation{
		Server: "search", Health: health.Snapshot{State: health.Unresponsive}, Reconnects: 5, MaxReconnects: 5,
		Failures: []health.Failure{{Kind: health.TimedOut, At: now.Add(-time.Minute)}, {Kind: health.TimedOut, At: now.Add(-10 * time.Second)}},
		Task:     task.Work{Goal: "summarize five articles", Done: 3, Total: 5, Needs: task.NeedSome, OthersHealthy: true},
	}, model)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", verdict)
	if !slices.Contains([]string{"continue", "retry_connection", "stop_task"}, string(verdict.Action)) || verdict.Reason == "" || !verdict.Asked {
		t.Errorf("%+v", verdict)
	}
}
