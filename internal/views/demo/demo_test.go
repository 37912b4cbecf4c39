package demo

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/views/demo/breakable"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/llm"
)

func TestMain(m *testing.M) {
	breakable.RunIfAsked()
	// The race detector sleeps for a second at exit, which looks like a server that ignores its client.
	os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
	os.Exit(m.Run())
}

func TestTheDemoKeepsEveryPromise(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := Run(t.Context(), &out, Options{}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	unread := "append was sent again: the server never read it"
	if !upstream.ProvesUnread {
		unread = "append, outcome reported as unknown: [gauze: outcome-unknown]"
	}
	for _, want := range []string{
		unreadAbout(upstream.ProvesUnread),
		unread,
		"die_read was sent again: it is safe to repeat",
		"die, outcome reported as unknown: [gauze: outcome-unknown]",
		hungAbout,
		"; gauze is replacing it",
		"✗ the server exited",
		"✓ busy answered",
		"not an MCP message, so not forwarded to the client: Server started",
		"✎ units   null → left out",
		"? json: cannot unmarshal string",
		"[gauze] The server rejected the call to `forecast`: ",
		"calls explained                   1",
		"scripted-1 corrected the call in",
		`✎ key ["write-3"] → "write-3"`,
		"✓ append answered: appended write-3",
		"calls corrected by a model 1",
		"✓ step second: appended task-2",
		`? The server "notes" is not available:`,
		"Reported: ",
		"Done: 2 of 4 steps, 3 calls.",
		"Remaining: third, fourth.",
		"gauze task resume demo-",
		"✓ step fourth: appended task-3",
		`✓ The task "demo" is done: 4 of 4 steps, 5 calls.`,
		"writes by a task 3",
		"effects applied twice             0",
		"every guarantee held",
	} {
		if !strings.Contains(words(out.String()), words(want)) {
			t.Errorf("the timeline does not say %q\n%s", want, out.String())
		}
	}
	if runtime.GOOS != "windows" { // where a process that was killed exits with a status
		wantDocs(t, out.String())
	}
}

// wantDocs checks that docs/run.md shows a scene as it is in out, except for the times and the order.
func wantDocs(t *testing.T, out string) {
	t.Helper()
	readme, err := os.ReadFile("../../../docs/run.md")
	if err != nil {
		t.Fatal(err)
	}
	_, scene, found := strings.Cut(string(readme), "\n2/10 ")
	scene, _, closed := strings.Cut(scene, "```")
	if !found || !closed {
		t.Fatal("docs/run.md does not show the second scene")
	}
	times := regexp.MustCompile(`[0-9.]+m?s\b`)
	out = words(times.ReplaceAllString(out, ""))
	for _, line := range times.Split(scene, -1) {
		if !strings.Contains(out, words(line)) {
			t.Errorf("docs/run.md shows %q, and the demo does not", words(line))
		}
	}
}

// declining is a model that corrects nothing.
type declining struct{}

func (declining) Ask(context.Context, llm.Question) (llm.Answer, error) {
	return llm.Answer{JSON: []byte(`{"corrected":false,"reason":"the request is unclear"}`), Model: "mine"}, nil
}

// The user's model may decline. The call is rejected then, as without a model.
func TestTheDemoWithAModelThatDeclines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := Run(t.Context(), &out, Options{Model: declining{}, ModelTimeout: time.Minute}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"the model did not correct the call:", "calls corrected by a model 0", "every guarantee held"} {
		if !strings.Contains(words(out.String()), want) {
			t.Errorf("the timeline does not say %q\n%s", want, out.String())
		}
	}
}

// words returns text without its line breaks and alignment.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// The demo claims a proof only where there is one.
func TestTheDemoPromisesNoMoreThanThePlatformHas(t *testing.T) {
	if text := unreadAbout(false); strings.Contains(text, "can prove") || !strings.Contains(text, "unknown") {
		t.Error(text)
	}
	if text := unreadAbout(true); !strings.Contains(text, "can prove") {
		t.Error(text)
	}
}

// What the count at the end must notice.
func TestTheTallyNoticesABrokenPromise(t *testing.T) {
	entry := func(key string) breakable.Entry { return breakable.Entry{Op: "append", Key: key} }
	for name, test := range map[string]struct {
		ledger []breakable.Entry
		tell   func(*tally)
		want   string
	}{
		"nothing broken":     {[]breakable.Entry{entry("a")}, func(t *tally) { t.answered(1, answer{}) }, ""},
		"an effect twice":    {[]breakable.Entry{entry("a"), entry("a")}, func(t *tally) { t.answered(1, answer{}) }, "2 times"},
		"no answer":          {nil, func(*tally) {}, "did not get a response"},
		"an invented result": {nil, func(t *tally) { t.answered(1, answer{}) }, "not in the ledger"},
		"a needless failure": {nil, func(t *tally) { t.answered(1, answer{fault: "server-busy"}) }, "server-busy"},
		"a lost step":        {[]breakable.Entry{entry("a")}, func(t *tally) { t.answered(1, answer{}); t.planned("b") }, "effect b is not in the ledger"},
		"a repeated step":    {[]breakable.Entry{entry("a"), entry("b"), entry("b")}, func(t *tally) { t.answered(1, answer{}); t.planned("b") }, "2 times"},
		"an unknown read": {[]breakable.Entry{entry("a")}, func(t *tally) {
			t.answered(1, answer{})
			t.called(2, "echo", "")
			t.answered(2, answer{fault: "outcome-unknown"})
		}, "is read-only"},
	} {
		t.Run(name, func(t *testing.T) {
			tally := newTally()
			tally.called(1, "append", "a")
			test.tell(tally)
			got := strings.Join(tally.judge(test.ledger, proxy.Counters{}, health.Snapshot{}).broken, "; ")
			if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("broken: %q, want %q", got, test.want)
			}
		})
	}
}
