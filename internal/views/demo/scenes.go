package demo

import (
	"context"
	"fmt"
	"sync"
	"syscall"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// scene is one way to break a server.
type scene struct {
	title, about string
	run          func(context.Context, *stage) error
}

var scenes = []scene{
	{"Killed during a read", "The server dies during a read-only call.",
		func(ctx context.Context, s *stage) error {
			s.screen.client("calls die_read, a read-only tool that kills the server")
			return s.wantText(ctx, "die_read", `{"times":1}`)
		}},
	{"Killed during a write", "The write may have taken effect. Repeating it could apply it twice.",
		func(ctx context.Context, s *stage) error {
			s.screen.client("calls die, which writes to the ledger and kills the server before it responds")
			return s.wantUnknown(ctx, "die", `{"key":"write-1"}`, "write-1")
		}},
	{"Killed before it read the call", unreadAbout(upstream.ProvesUnread),
		func(ctx context.Context, s *stage) error {
			s.screen.client("calls sleep, then append while the server is busy")
			reading, err := s.start("sleep", `{"ms":300}`, "")
			if err != nil {
				return err
			}
			writing, err := s.start("append", `{"key":"write-2"}`, "write-2")
			if err != nil {
				return err
			}
			if err := s.server.signal(syscall.SIGKILL); err != nil {
				return err
			}
			if err := s.show(s.finish(ctx, reading)); err != nil {
				return err
			}
			return s.show(s.finish(ctx, writing))
		}},
	{"Hung", "The server process is suspended: it is alive but will never respond. " + hungAbout,
		func(ctx context.Context, s *stage) error {
			before := s.server.starts()
			if err := s.server.freeze(ctx); err != nil {
				return err
			}
			s.screen.client("calls echo and does not get a response")
			if err := s.wantText(ctx, "echo", `{"text":"hello"}`); err != nil {
				return err
			}
			return s.server.awaitStart(ctx, before+1)
		}},
	{"Slow, but working", "The server does not answer pings for a while, but it is busy, not hung. Gauze does not restart it.",
		func(ctx context.Context, s *stage) error {
			before := s.server.starts()
			s.screen.client(`calls the "busy" tool, which works for 1.5 s`)
			if err := s.wantText(ctx, "busy", `{"ms":1500}`); err != nil {
				return err
			}
			if s.server.starts() != before {
				s.tally.broke("a working server was replaced")
			}
			return nil
		}},
	{"Noisy", "The server prints a banner and a log line to stdout, which is reserved for messages.",
		func(ctx context.Context, s *stage) error {
			s.screen.client("calls stray twice: the server prints a line, then responds")
			if err := s.wantText(ctx, "stray", `{"kind":"banner"}`); err != nil {
				return err
			}
			return s.wantText(ctx, "stray", `{"kind":"ansi"}`)
		}},
	{"Wrong arguments", "A model calls forecast with typical mistakes. Gauze repairs the unambiguous ones and explains what the server rejects.",
		func(ctx context.Context, s *stage) error {
			for _, arguments := range []string{
				`{"city":"Oslo","days":"5","units":"Celsius"}`,
				`{"arguments":{"City":"Oslo","days":3}}`,
			} {
				if err := s.wantRepaired(ctx, "forecast", arguments); err != nil {
					return err
				}
			}
			if err := s.wantExplained(ctx, "forecast", `{"city":"Oslo","days":"a few","unit":"celsius"}`); err != nil {
				return err
			}
			// The server has shown that it validates its arguments, so more can be repaired.
			return s.wantRepaired(ctx, "forecast", `{"city":"Oslo","days":2,"units":null,"tags":"['wind', 'rain']"}`)
		}},
	{"A mistake that no rule covers", "A write does not match the schema, and rules do not guess for a write. Gauze asks a model, checks that the correction contains only the client's values, and sends it once.",
		func(ctx context.Context, s *stage) error {
			return s.wantCorrected(ctx, misfitTool, misfitArguments, misfitKey)
		}},
	{"A task", "Four calls run as one task, each recorded before and after. The server dies during the third and does not come back.",
		func(ctx context.Context, s *stage) error { return s.runTask(ctx) }},
	{"A storm", "200 calls from 8 callers, half of them writes. The server is killed after every 40 responses.",
		func(ctx context.Context, s *stage) error {
			return s.storm(ctx, 200, 8, 40)
		}},
}

// unreadAbout describes what happens to a call that the server died before reading.
func unreadAbout(proved bool) string {
	const about = "The write is still unread in the server's pipe when the server dies. "
	if proved {
		return about + "Gauze can prove that, so the write is safe to send again."
	}
	return about + "On this system gauze cannot prove that, so it reports the outcome as unknown."
}

// storm makes calls from several callers while the server is killed repeatedly.
func (s *stage) storm(ctx context.Context, calls, callers, killEvery int) error {
	s.catchUp()
	s.screen.client(fmt.Sprintf("makes calls from %d callers", callers))
	s.screen.quiet(true)
	defer s.screen.quiet(false)
	numbers := make(chan int)
	var working sync.WaitGroup
	var mu sync.Mutex
	var answered int
	var firstErr error
	for range callers {
		working.Go(func() {
			for n := range numbers {
				tool, arguments, key := "echo", fmt.Sprintf(`{"text":"read %d"}`, n), ""
				if n%2 == 0 {
					key = fmt.Sprintf("storm-%d", n)
					tool, arguments = "append", fmt.Sprintf(`{"key":%q}`, key)
				}
				pending, err := s.start(tool, arguments, key)
				if err == nil {
					_, err = s.finish(ctx, pending)
				}
				mu.Lock()
				answered++
				if err != nil && firstErr == nil {
					firstErr = err
				}
				if answered%killEvery == 0 && answered < calls {
					s.server.signal(syscall.SIGKILL) // a server that is restarting cannot be killed
				}
				mu.Unlock()
			}
		})
	}
	for n := range calls {
		numbers <- n
	}
	close(numbers)
	working.Wait()
	s.catchUp()
	s.screen.settled(fmt.Sprintf("%d calls answered", answered))
	return firstErr
}

// show shows a response after everything that led to it.
func (s *stage) show(a answer, err error) error {
	s.catchUp()
	return s.screen.answer(a, err)
}

// wantText makes a call that must succeed.
func (s *stage) wantText(ctx context.Context, tool, arguments string) error {
	pending, err := s.start(tool, arguments, "")
	if err != nil {
		return err
	}
	answer, err := s.finish(ctx, pending)
	if err == nil && answer.fault != "" {
		s.tally.broke(fmt.Sprintf("%s was answered with %s", tool, answer.fault))
	}
	return s.show(answer, err)
}

// wantRepaired makes a call that succeeds only after a repair.
func (s *stage) wantRepaired(ctx context.Context, tool, arguments string) error {
	s.screen.client("calls " + tool + " " + arguments)
	pending, err := s.start(tool, arguments, "")
	if err != nil {
		return err
	}
	answer, err := s.finish(ctx, pending)
	if err != nil {
		return err
	}
	if answer.fault != "" || len(answer.changes) == 0 {
		s.tally.broke(fmt.Sprintf("%s was not repaired: %s", arguments, answer.text))
	}
	s.catchUp()
	s.screen.changes(answer.changes)
	return s.screen.answer(answer, nil)
}

// wantExplained makes a call that cannot be repaired and that the server rejects.
func (s *stage) wantExplained(ctx context.Context, tool, arguments string) error {
	s.screen.client("calls " + tool + " " + arguments)
	pending, err := s.start(tool, arguments, "")
	if err != nil {
		return err
	}
	answer, err := s.finish(ctx, pending)
	if err != nil {
		return err
	}
	if answer.fault != "arguments-invalid" {
		s.tally.broke(fmt.Sprintf("%s was answered with %q instead of an explanation", arguments, answer.fault))
	}
	s.catchUp()
	s.screen.message(answer.text)
	return nil
}

// wantUnknown makes a call whose outcome cannot be known.
func (s *stage) wantUnknown(ctx context.Context, tool, arguments, key string) error {
	pending, err := s.start(tool, arguments, key)
	if err != nil {
		return err
	}
	answer, err := s.finish(ctx, pending)
	if err == nil && answer.fault != "outcome-unknown" {
		s.tally.broke(fmt.Sprintf("%s was answered with %q instead of outcome-unknown", tool, answer.fault))
	}
	return s.show(answer, err)
}

// server is the current server process, followed by its events.
type server struct {
	mu      sync.Mutex
	pid     int // 0 while the server is not ready
	count   int // number of starts
	changed chan struct{}
}

func newServer() *server { return &server{changed: make(chan struct{})} }

func (s *server) note(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.Kind {
	case event.Ready:
		s.pid = e.PID
		s.count++
	case event.Died:
		s.pid = 0
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// awaitStart waits until the server has become ready at least n times.
func (s *server) awaitStart(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		ready, changed := s.pid != 0 && s.count >= n, s.changed
		s.mu.Unlock()
		if ready {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *server) starts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}
