package kernel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// What stages can ask the kernel. None of it sends anything to the server.

// Method returns the method of the request.
func (c *Call) Method() string { return c.msg.Method }

// IsTool reports whether the request is a tool call of the client.
func (c *Call) IsTool() bool { return c.msg.Method == "tools/call" && c.own == nil }

// Tool returns the name of the tool; empty: it is not a tool call.
func (c *Call) Tool() string { return c.tool }

// Raw returns the whole message. It must not be changed or kept.
func (c *Call) Raw() []byte { return c.msg.Raw }

// Params returns the params of the request, raw. They must not be changed or kept.
func (c *Call) Params() []byte { return c.msg.Params }

// Arguments returns the arguments of a tool call, raw. They must not be changed or kept.
func (c *Call) Arguments() []byte { return c.body.arguments }

// ID returns the client's id of the request, raw; nil: it is a notification.
func (c *Call) ID() []byte { return c.id }

// Number identifies the call in events.
func (c *Call) Number() event.CallID { return c.number }

// Client returns who called, if the request says so.
func (c *Call) Client() string { return c.client }

// Modern reports whether the request carries its own protocol version.
func (c *Call) Modern() bool { return c.modern }

// Arrived returns when the call arrived.
func (c *Call) Arrived() time.Time { return c.began }

// Sent returns when, and on which connection, the call was last sent.
func (s *Session) Sent(c *Call) (time.Time, *upstream.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.sent, c.conn
}

// Sign identifies method, tool and arguments.
func (c *Call) Sign() uint64 {
	if c.msg.Method != "tools/call" {
		return 0
	}
	return sign(c.tool, c.body.arguments)
}

// InDialogue reports whether the call creates a task or is a later part of a dialogue with the server.
func (c *Call) InDialogue() bool {
	var values [3][]byte
	return wire.Fields(c.msg.Params, values[:], "task", "inputResponses", "requestState") != nil ||
		values[0] != nil || values[1] != nil || values[2] != nil
}

// IsStream reports whether the call is a stream, which is always opened again.
func (c *Call) IsStream() bool { return c.class == Stream }

// IsOwn reports whether the request is gauze's own.
func (c *Call) IsOwn() bool { return c.own != nil }

// Facts is what is known about a call and its tool at the moment.
type Facts struct {
	Reads    bool // the call cannot change anything
	Writes   bool // it may change something
	Harmless bool // a second attempt of it does no harm: it reads, as its tool still does, and no user was asked
	Current  bool // it was sent on the present connection, or there is one for it
	Mute     bool // nothing more can be sent to the server
	Closing  bool // the session is ending
	Repeated bool // it was lost and sent again, or will be
	Same     bool // the live server lists the tool as it was when it was called
	Tool     any  // what Options.ReadTool made of the tool; nil: it is not listed

	Timeout time.Duration // how long the call may take without progress; 0: no limit
	MaxTime time.Duration // how long it may take with progress; 0: no limit
	Loss    *upstream.Loss
	Deaths  bool // it may have run
}

// Facts returns what is known about a call.
func (s *Session) Facts(c *Call) Facts {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, listed := s.catalog.tools[c.tool]
	now := s.classNow(c)
	return Facts{
		Reads: now.Reads(), Writes: now.writes(), Harmless: s.isHarmless(c), Mute: s.leaving.mute(), Closing: s.leaving.closing || s.leaving.ended, Repeated: c.repeated(),
		Current: s.link.conn != nil && (c.conn == s.link.conn || c.state == arrived || c.state == queued),
		Same:    listed && s.catalog.licenses() && (c.state == arrived || known.shape == c.shape), Tool: known.data,
		Timeout: s.watcher.timeout(c), MaxTime: s.config.Timing.MaxTime, Loss: c.past.loss, Deaths: c.past.deaths > 0,
	}
}

// isHarmless reports whether it is known that a second attempt of a call does no harm: the live server,
// or the user, says that its tool only reads, and no user was asked anything during the first one.
func (s *Session) isHarmless(c *Call) bool {
	return s.classNow(c).Reads() && !s.server.toolChanged(c) && !c.InDialogue() && c.asked == 0 && !s.dialogue.userAsked(c.conn)
}

// Spend takes a repetition from the budget, if one is left.
func (s *Session) Spend() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.budget.take(time.Now())
}

// Listed returns what is known of a tool. stale reports whether the server has announced other tools.
func (s *Session) Listed(name string) (data any, class Class, listed, stale bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.catalog.stale {
		return nil, Unsafe, false, true
	}
	known, listed := s.catalog.tools[name]
	if !listed {
		return nil, Unsafe, false, false
	}
	return known.data, s.policy(name).Class(known.class), true, false
}

// Live returns what is known of each tool that the live server lists, by name; nil: it has not listed all of them.
func Live(s *Session) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.catalog.listed || !s.catalog.licenses() {
		return nil
	}
	all := make(map[string]any, len(s.catalog.tools))
	for name, t := range s.catalog.tools {
		all[name] = t.data
	}
	return all
}

// Names returns all tools in order, or nil if not all of them are known.
func (s *Session) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.catalog.stale || !s.catalog.listed || len(s.catalog.tools) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(s.catalog.tools))
}

// Capabilities returns what a legacy client said that it can do, raw; nil: it is not one.
func (s *Session) Capabilities() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.memory.legacy {
		return nil
	}
	capabilities, _ := wire.Field(s.memory.initialize, "capabilities")
	return capabilities
}

// Emit reports an event of the session.
func (s *Session) Emit(e event.Event) { s.emit(nil, e) }

// EmitOf reports an event of a call.
func (s *Session) EmitOf(c *Call, e event.Event) { s.emit(c, e) }

// Go runs work beside the traffic. The context ends with the session, which waits for the work.
func (s *Session) Go(work func(context.Context)) { s.work.background.Go(func() { work(s.work.life) }) }

// Life ends when the session is being closed.
func (s *Session) Life() context.Context { return s.work.life }

// LoggedIn notes that a person has logged in.
func (s *Session) LoggedIn() { s.update(s.link.loggedIn) }

// loggedIn ends the trouble of a server that required a login: it is being reached again.
func (l *link) loggedIn() {
	if l.trouble != nil && l.trouble.Login != nil {
		l.trouble = nil
	}
}

// Question is a request of gauze's own to the client.
type Question struct {
	s  *Session
	id []byte
	q  *question
}

// Ask sends a request to the client because of the client's request with the id about. If c is not nil, it is
// a call that is held, and the question is withdrawn when it ends.
func (s *Session) Ask(about []byte, c *Call, method string, params []byte) (*Question, error) {
	q := &Question{s: s, q: &question{about: bytes.Clone(about), call: c, own: make(chan wire.Message, 1)}}
	var err error
	s.updateAndTell(func() {
		switch {
		case c != nil && c.state != held:
			err = errors.New(Ended)
		case c != nil && s.leaving.emptied != nil:
			err = errors.New(clientClosed)
		case len(s.dialogue.questions) >= maxQuestions || s.leaving.closing:
			err = errors.New("the client has not answered earlier requests")
		default:
			q.id = s.ids.questionID(0)
			s.dialogue.questions[string(q.id)] = q.q
		}
	}, func() {
		if err == nil {
			line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, q.id, method, params)
			s.out.put(Told{Line: line, About: q.q.about, Question: true})
			s.out.flush()
		}
	})
	return q, err
}

// Answer receives the client's answer.
func (q *Question) Answer() <-chan wire.Message { return q.q.own }

// Withdraw tells the client that the question need not be answered, unless it was.
func (q *Question) Withdraw(reason string) {
	q.s.update(func() {
		if q.s.dialogue.questions[string(q.id)] == q.q {
			delete(q.s.dialogue.questions, string(q.id))
			q.s.later(func() { q.s.out.send(withdrawal(string(q.id), q.q, reason)) })
		}
	})
}

// Close forgets a question whose answer is not needed any more, and sends the client a notification.
func (q *Question) Close(notice []byte) {
	q.s.update(func() {
		delete(q.s.dialogue.questions, string(q.id))
		q.s.later(func() { q.s.out.send(Told{Line: notice, About: q.q.about}) })
	})
}

// mirrored returns the headers that repeat arguments of a tool: those the client sent, or those the
// tool's schema asks for.
func (s *Session) mirrored(c *Call) http.Header {
	if c.mirrors != nil || !c.modern {
		return c.mirrors
	}
	arguments, _ := wire.Field(c.msg.Params, "arguments")
	made := http.Header{}
	for _, m := range s.catalog.tools[c.tool].mirrors {
		if value, ok := wire.HeaderValue(m.Value(arguments)); ok {
			made.Set("Mcp-Param-"+m.Header, value)
		}
	}
	return made
}

// Now is what can be seen of a session at the moment.
type Now struct {
	Client   string
	Health   health.Snapshot
	Past     upstream.Past
	Starting bool      // nothing is known of the server yet, or it is being woken
	Asleep   bool      // nothing needs the server, and it is not running
	Up       time.Time // since when the server is connected; zero: it is not
	PID      int       // of the server's process; 0: none
	Tools    map[string]Class
	Stderr   []string // the last lines
}

// Printed returns the last lines that the server printed, raw, oldest first.
func (s *Session) Printed() []upstream.Line { return s.up.Printed() }

// Now returns what can be seen of the session.
func (s *Session) Now() Now {
	n := Now{Client: s.client.clientName(), Past: s.up.Past(), Health: s.up.Snapshot()}
	s.mu.Lock()
	defer s.mu.Unlock()
	n.Asleep = s.sleep.asleep
	n.Starting = !n.Asleep && (n.Health.Generation == 0 && n.Past.LastReason == "" && s.link.trouble == nil || s.sleep.starting())
	n.Tools = make(map[string]Class, len(s.catalog.tools))
	for name, t := range s.catalog.tools {
		n.Tools[name] = t.class
	}
	switch {
	case s.link.conn == nil:
		if s.link.trouble != nil {
			n.Stderr = slices.Clone(s.link.trouble.Evidence.Stderr)
		}
		return n
	case s.link.conn.Remote() && !s.link.conn.LastHeard().After(s.link.conn.Started): // it was not asked yet, or does not answer
		n.Starting = true
	default:
		n.Up, n.PID = s.link.upSince, s.link.conn.PID()
	}
	n.Stderr = s.link.conn.Glimpse().Stderr
	return n
}
