//go:build linux

package realtest

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// testPatience ends a test that hangs. A healthy one takes a few seconds, more on a loaded machine.
var testPatience = 2 * patience.Limit()

// stopPatience ends the wait for processes that have to end: a server that ignores its stdin closing takes 5 s, on a
// busy machine longer, and one that is left behind never ends.
var stopPatience = patience.Limit()

// session is one client talking through gauze to one real server.
type session struct {
	t   *testing.T
	ctx context.Context
	client
	server serverKind
	at     workplace
}

// setup is what a test may want different.
type setup struct {
	options []string                                     // of gauze run
	launch  func(t *testing.T, server []string) []string // wraps the server's command line
}

// open connects a client to a server through gauze, and sees to it that nothing is left of either when the test ends.
func open(t *testing.T, p pair, how setup) *session {
	t.Helper()
	argv := realparts.Need(t, p.part) // before the clock starts: it may have to be installed
	ctx, cancel := context.WithTimeout(context.Background(), testPatience)
	t.Cleanup(cancel)
	s := &session{t: t, ctx: ctx, server: p.serverKind, at: newWorkplace(t)}
	for _, arg := range p.args {
		argv = append(argv, strings.ReplaceAll(arg, "{dir}", s.at.dir))
	}
	if how.launch != nil {
		argv = how.launch(t, argv)
	}
	s.client = p.connect(t, ctx, s.at.environment(), gauzeRun(how.options, argv...))
	t.Cleanup(s.closeAll)
	return s
}

// closeAll closes the client; gauze and everything below it must end.
func (s *session) closeAll() {
	all := below(s.t, s.pid())
	if err := s.close(); err != nil {
		s.t.Logf("closing the client: %v", err)
	}
	wantGone(s.t, all, stopPatience)
}

// processes of the server that runs now.
func (s *session) processes() []process {
	s.t.Helper()
	server := serverBelow(s.t, s.pid(), string(s.server.part))
	if len(server) == 0 {
		s.t.Fatalf("no process called %q below gauze (%d); there are %v", s.server.part, s.pid(), below(s.t, s.pid()))
	}
	return server
}

// list returns the names of the tools.
func (s *session) list() []string {
	s.t.Helper()
	names, err := s.tools(s.ctx)
	if err != nil {
		s.t.Fatalf("tools/list: %v", err)
	}
	return names
}

// must calls a tool that has to succeed, and returns its text.
func (s *session) must(c call) string {
	s.t.Helper()
	a, err := s.call(s.ctx, c)
	if err != nil {
		s.t.Fatalf("%s: %v", c.tool, err)
	}
	if a.IsError {
		s.t.Fatalf("%s: %s", c.tool, a.Text)
	}
	return a.Text
}

// call fills in the test's folder.
func (s *session) call(ctx context.Context, c call) (answer, error) {
	filled := map[string]any{}
	for key, value := range c.args {
		if text, ok := value.(string); ok {
			value = strings.ReplaceAll(text, "{dir}", s.at.dir)
		}
		filled[key] = value
	}
	c.args = filled
	return s.client.call(ctx, c)
}

// wantRead reads what the server is known to answer.
func (s *session) wantRead() {
	s.t.Helper()
	if text := s.must(s.server.read); !strings.Contains(text, s.server.want) {
		s.t.Fatalf("%s answers %q, want %q in it", s.server.read.tool, text, s.server.want)
	}
}

// killAll kills every process of the server and waits until they are dead.
func (s *session) killAll() {
	s.t.Helper()
	s.kill(s.processes())
}

// killInnermost kills only the last process of the chain, the server proper, and leaves its launchers alone.
func (s *session) killInnermost() {
	s.t.Helper()
	all := s.processes()
	s.kill(all[len(all)-1:])
}

func (s *session) kill(processes []process) {
	s.t.Helper()
	signalEach(s.t, processes, syscall.SIGKILL)
	if left := gone(s.ctx, processes); len(left) > 0 {
		s.t.Fatalf("SIGKILL did not end %v", left)
	}
}

// wantSameTools fails if the tools are not what they were.
func (s *session) wantSameTools(before []string) {
	s.t.Helper()
	after := s.list()
	slices.Sort(before)
	slices.Sort(after)
	if !slices.Equal(before, after) {
		s.t.Errorf("the tools were %v and are %v", before, after)
	}
}

// saysUnknown reports whether gauze answered that it cannot know what became of the call.
func (a answer) saysUnknown() bool {
	var f struct{ Code, Delivery string }
	return a.IsError && json.Unmarshal(a.Meta[fault.MetaKey], &f) == nil &&
		f.Code == string(fault.OutcomeUnknown) && f.Delivery == fault.Unknown.String()
}

// fromGauze reports whether gauze, and not the server, wrote the answer.
func (a answer) fromGauze() bool { return a.Meta[fault.MetaKey] != nil }

// Ways to launch a server.

// witnessed puts the ledger into a Node.js server.
func witnessed(t *testing.T, server []string) []string {
	return slices.Insert(slices.Clone(server), 1, "--require", testdata(t, "ledger.cjs"))
}

// noisy starts the server by a launcher that talks on stdout.
func noisy(t *testing.T, server []string) []string {
	return append([]string{realparts.Node(t), testdata(t, "noisy.cjs")}, server...)
}

// nested starts the server as npx does: a shell between, waiting for it. The shell would give a background process an
// empty stdin, hence the detour over 3.
func nested(t *testing.T, server []string) []string {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{sh, "-c", `exec 3<&0; "$@" <&3 3<&- & wait`, "sh"}, server...)
}

func testdata(t *testing.T, name string) string {
	file, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return file
}
