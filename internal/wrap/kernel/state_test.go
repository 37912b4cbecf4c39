package kernel

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// In every test of this package, the tables of a session follow from the states of its calls.
func init() {
	checkInTests = func(s *Session) {
		if n := s.table.calls.len() + len(s.table.queue); n > 100 && rand.IntN(n) > 0 {
			return // or thousands of calls would take minutes
		}
		if err := inconsistency(s); err != nil {
			panic(err)
		}
	}
}

// inconsistency returns how the tables differ from the states of the calls.
func inconsistency(s *Session) error {
	where := func(name string, c *Call, allowed ...state) error {
		if c == nil || !slices.Contains(allowed, c.state) {
			return fmt.Errorf("%s has %+v", name, c)
		}
		return nil
	}
	bytes, unsafe, kept := 0, 0, 0
	for c := range s.table.calls.all() {
		id := string(c.id)
		if err := where("calls", c, queued, sent, cut, held); err != nil || s.table.calls.of(c.id) != c {
			return fmt.Errorf("%s: %w", id, err)
		}
		if c.state == held {
			kept++
			if c.part.held.waits() {
				bytes += queuedSize(c)
			}
		}
		if c.state == sent && s.table.sentTable(c)[c.n] != c || c.state == queued && !slices.Contains(s.table.queue, c) {
			return fmt.Errorf("%s is %v and in no such table", id, c.state)
		}
	}
	for token, first := range s.table.tokens.first {
		for _, c := range append(slices.Clip(s.table.tokens.more[token]), first) {
			if s.table.calls.of(c.id) != c {
				return fmt.Errorf("the token %s belongs to no call", token)
			}
		}
	}
	for token, more := range s.table.tokens.more {
		if s.table.tokens.first[token] == nil || len(more) == 0 {
			return fmt.Errorf("calls with the token %s: %d without a first, or none", token, len(more))
		}
	}
	for c := range s.table.calls.all() {
		if c.token != "" && s.table.tokens.first[c.token] != c && !slices.Contains(s.table.tokens.more[c.token], c) {
			return fmt.Errorf("the token of %s is not known", c.id)
		}
	}
	for i, c := range s.table.queue {
		if err := where("queue", c, queued); err != nil {
			return err
		}
		if slices.Contains(s.table.queue[:i], c) {
			return fmt.Errorf("%s is queued twice", c.id)
		}
		bytes += queuedSize(c)
	}
	for n, c := range s.table.flight {
		if err := where("flight", c, sent); err != nil || c.n != n || c.class == Stream {
			return fmt.Errorf("%d: %w", n, err)
		}
		if c.class == Unsafe && c.own == nil && c.conn == s.link.conn {
			unsafe++
		}
	}
	for n, c := range s.table.opened {
		if err := where("opened", c, sent); err != nil || c.n != n || c.class != Stream {
			return fmt.Errorf("%d: %w", n, err)
		}
	}
	if kept != s.table.keeps.all || s.table.keeps.answers > s.table.keeps.all {
		return fmt.Errorf("%d calls are held, which count as %+v", kept, s.table.keeps)
	}
	if bytes != s.table.queuedBytes || unsafe != s.order.admission.unsafe {
		return fmt.Errorf("%d bytes are queued and count as %d; %d unsafe calls are in flight and count as %d", bytes, s.table.queuedBytes, unsafe, s.order.admission.unsafe)
	}
	return nil
}

// A call that moves at random, as far as it may, is always where its state says, and is done at most
// once.
func TestTheTablesFollowTheState(t *testing.T) {
	t.Parallel()
	s := bare(launch.Spec{Command: "none"})
	random := rand.New(rand.NewPCG(1, 2))
	var calls []*Call
	for range 20_000 {
		if len(calls) < 20 {
			raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call"}`, random.Uint64())
			msg, _, _ := wire.Scan(raw)
			c := &Call{id: msg.ID, msg: msg, class: Class(random.IntN(int(Stream) + 1)), token: string(msg.ID)}
			if random.IntN(10) == 0 {
				c.own = make(chan wire.Message, 1)
			}
			calls = append(calls, c)
		}
		at := random.IntN(len(calls))
		c := calls[at]
		to := moves[c.state][random.IntN(len(moves[c.state]))]
		s.update(func() {
			if to == sent {
				c.n = s.ids.nextID()
			}
			if to == held {
				c.part.held = &Held{end: func() {}}
			}
			if c.own != nil && to != sent {
				to = done
			}
			if !s.table.move(c, to) || c.state != to {
				t.Fatalf("no move to %v", to)
			}
		})
		if c.state == done {
			calls = slices.Delete(calls, at, at+1)
		}
	}
	if n := s.table.illegal; n != 0 {
		t.Errorf("%d illegal moves", n)
	}
}

// A call that is done stays done: whoever comes second has nothing to say.
func TestACallIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	s := bare(launch.Spec{Command: "none"})
	s.check = nil
	told := 0
	s.out.tell = func(Told) { told++ }
	c := &Call{id: []byte("1")}
	s.update(func() { s.dispatch(c) })
	for range 3 {
		s.update(func() { s.fail(c, &fault.Fault{Code: fault.Stopping}) })
	}
	if told != 1 || s.table.illegal != 2 {
		t.Errorf("%d answers, %d illegal moves", told, s.table.illegal)
	}
}

func TestAnIllegalMovePanicsInTests(t *testing.T) {
	t.Parallel()
	s := bare(launch.Spec{Command: "none"})
	defer func() {
		if recover() == nil {
			t.Error("a call arrived and was cut")
		}
	}()
	s.table.move(&Call{}, cut)
}

// The state of a call and the tables that follow from it are changed by move and its helpers alone.
func TestOnlyMoveChangesTheTables(t *testing.T) {
	t.Parallel()
	tables := []string{"state", "calls", "first", "more", "queue", "queuedBytes", "flight", "opened", "effects", "freed"}
	allowed := []string{"move", "register", "forget", "dequeue", "reword", "locked", "later", "add", "remove"}
	files := token.NewFileSet()
	seen := 0
	check := func(function string, changed ast.Expr) {
		if index, ok := changed.(*ast.IndexExpr); ok {
			changed = index.X
		}
		selector, ok := changed.(*ast.SelectorExpr)
		if !ok || !slices.Contains(tables, selector.Sel.Name) {
			return
		}
		if seen++; !slices.Contains(allowed, function) {
			t.Errorf("%s: %s changes %s", files.Position(changed.Pos()), function, selector.Sel.Name)
		}
	}
	names, _ := filepath.Glob("*.go")
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(function, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt:
					for _, left := range n.Lhs {
						check(function.Name.Name, left)
					}
				case *ast.CallExpr:
					if name, ok := n.Fun.(*ast.Ident); ok && (name.Name == "delete" || name.Name == "clear") {
						check(function.Name.Name, n.Args[0])
					}
				}
				return true
			})
		}
	}
	if seen == 0 {
		t.Error("nothing was checked")
	}
}

// A request that was sent on a connection before this one may be rejected late. Nothing will replace
// this connection because of it, so the request must not wait for that.
func TestARequestThatAnEarlierConnectionRejectsIsSentOnThisOne(t *testing.T) {
	t.Parallel()
	s := bare(launch.Spec{URL: "http://127.0.0.1:1/mcp"})
	earlier, current := &upstream.Conn{}, &upstream.Conn{}
	m, _, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`))
	if err != nil {
		t.Fatal(err)
	}
	c := s.newCall(&m)
	c.class, c.conn, c.n = Reads, earlier, s.ids.nextID()
	s.table.move(c, sent)
	s.link.use(current)
	now := time.Now()
	rejected := upstream.Loss{Delivery: fault.Refused, Code: fault.HTTPRefused, Status: 404, Final: true}
	s.server.lose(c, exchangeLost, rejected, now)
	if c.state != queued || !s.order.admits(c) {
		t.Errorf("the request is %v and waits until %v", c.state, c.past.retryAt)
	}
}

// bare returns a kernel without stages.
func bare(spec launch.Spec) *Session {
	return New(Options{Server: upstream.Options{Spec: spec}, Words: plainly{}})
}

type plainly struct{}

func (plainly) Redact(text string) string     { return text }
func (plainly) RedactPart(text string) string { return text }
func (plainly) Quote(text string) string      { return text }
func (plainly) Name(text string) string       { return text }
