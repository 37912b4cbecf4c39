//go:build linux

package realtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// crowd is several real clients that live through the same deaths of a server: one restart is a test of all of them.
type crowd struct {
	t       *testing.T
	ctx     context.Context
	members []*member
}

// member is one client of a crowd. Its verbs return what is wrong, because many of them run at the same time.
type member struct {
	client
	ctx   context.Context
	name  string
	front *witness // between it and what it speaks to over HTTP; nil over stdio
	tools []string // as they were at the beginning
}

func newCrowd(t *testing.T) *crowd {
	realparts.Node(t) // before the clock starts: it may have to be installed
	ctx, cancel := context.WithTimeout(context.Background(), testPatience)
	t.Cleanup(cancel)
	return &crowd{t: t, ctx: ctx}
}

// dial connects each of the clients to a URL.
func (c *crowd) dial(url string, kinds ...clientKind) {
	c.t.Helper()
	for _, kind := range kinds {
		seen := witnessTo(c.t, url)
		c.join(kind, []string{seen.url}).front = seen
	}
}

// run lets each of the clients start a gauze of its own for the server at a URL.
func (c *crowd) run(url string, kinds ...clientKind) {
	c.t.Helper()
	for _, kind := range kinds {
		c.join(kind, gauzeRunURL(url))
	}
}

func (c *crowd) join(kind clientKind, at []string) *member {
	c.t.Helper()
	m := &member{client: kind.connect(c.t, c.ctx, nil, at), ctx: c.ctx, name: kind.name}
	c.t.Cleanup(func() {
		var all []process
		if m.pid() != 0 {
			all = below(c.t, m.pid())
		}
		if err := m.close(); err != nil {
			c.t.Logf("closing %s: %v", m.name, err)
		}
		wantGone(c.t, all, stopPatience)
	})
	c.members = append(c.members, m)
	return m
}

// begin lets all do something at the same time; wait ends the test if it went wrong for one of them.
func (c *crowd) begin(what string, do func(*member) error) (wait func()) {
	var wg sync.WaitGroup
	for _, m := range c.members {
		wg.Go(func() {
			if err := do(m); err != nil {
				c.t.Errorf("%s: %s: %v", m.name, what, err)
			}
		})
	}
	return func() {
		c.t.Helper()
		wg.Wait()
		if c.t.Failed() {
			c.t.FailNow()
		}
	}
}

func (c *crowd) all(what string, do func(*member) error) {
	c.t.Helper()
	c.begin(what, do)()
}

// must makes a call that has to succeed with a text in its answer.
func (m *member) must(c call, want string) error {
	a, err := m.call(m.ctx, c)
	if err == nil && (a.IsError || !strings.Contains(a.Text, want)) {
		err = fmt.Errorf("the answer is %+v", a)
	}
	return err
}

// learnTools remembers what there is.
func (m *member) learnTools() (err error) {
	m.tools, err = m.client.tools(m.ctx)
	slices.Sort(m.tools)
	if err == nil && len(m.tools) == 0 {
		err = errors.New("there are no tools")
	}
	return err
}

// sameTools lists them again.
func (m *member) sameTools() error {
	now, err := m.client.tools(m.ctx)
	slices.Sort(now)
	if err == nil && !slices.Equal(m.tools, now) {
		err = fmt.Errorf("the tools were %v and are %v", m.tools, now)
	}
	return err
}

// resource is what a client subscribes to: each has its own.
func (m *member) resource() string { return "test://resource/" + m.name }

// updated makes a call, and waits to be told that its resource changed.
func (m *member) updated(touch call) error {
	if err := m.must(touch, ""); err != nil {
		return err
	}
	select {
	case uri := <-m.updates():
		if uri != m.resource() {
			return fmt.Errorf("it was told of %s", uri)
		}
		return nil
	case <-m.ctx.Done():
		return errors.New("it was not told that its resource changed")
	}
}

// inFlight makes a call that has to succeed, and says when there is progress, so that it is known to be under way.
func (m *member) inFlight(c call, begun func()) error {
	var once sync.Once
	c.progressed = func() { once.Do(begun) }
	err := m.must(c, "")
	once.Do(func() {
		err = errors.Join(err, errors.New("no progress was reported"))
		begun()
	})
	return err
}
