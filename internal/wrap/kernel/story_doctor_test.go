package kernel_test

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// quack is a doctor whose treatments are written down.
type quack struct {
	treat  func(asked int, spec launch.Spec) upstream.Treated
	asked  chan int
	serves string // where the server answers over HTTP
	lasts  bool   // whether the cause can only be removed by a change
	looked atomic.Int32
}

func doctorWith(treat func(asked int, spec launch.Spec) upstream.Treated) *quack {
	q := &quack{treat: treat, asked: make(chan int, 1)}
	q.asked <- 0
	return q
}

func (q *quack) Diagnose(launch.Spec, upstream.Evidence) (cause fault.Cause, lasts bool) {
	return fault.Cause{Code: "unwell", Explanation: "It is unwell.", Remedy: "Let it rest."}, q.lasts
}

func (q *quack) ServedAt(context.Context, []int) string {
	q.looked.Add(1)
	return q.serves
}

func (q *quack) Treat(_ context.Context, spec launch.Spec, e upstream.Evidence, trying func(string)) upstream.Treated {
	n := <-q.asked + 1
	q.asked <- n
	trying("something")
	t := q.treat(n, spec)
	t.Spec.Env = append(t.Spec.Env, spec.Env...) // with the mark of the test
	t.Cause, _ = q.Diagnose(spec, e)
	return t
}

func (q *quack) count() int {
	n := <-q.asked
	q.asked <- n
	return n
}

// failing is a server that says this on stderr and exits with code 3.
func failing(stderr string, flags ...string) launch.Spec {
	path, args, env := faultyserver.Command(append([]string{"-exit-at-start=code=3,stderr=" + stderr}, flags...)...)
	return launch.Spec{Command: path, Args: args, Env: append(os.Environ(), env...)}
}

func TestAServerIsHealedWhileItsClientWaits(t *testing.T) {
	t.Parallel()
	path, args, env := faultyserver.Command()
	o := quick()
	q := doctorWith(func(_ int, spec launch.Spec) upstream.Treated {
		return upstream.Treated{Changed: true, Healed: true, Did: "starts the real one", Spec: launch.Spec{Command: path, Args: args, Env: append(os.Environ(), env...)}}
	})
	o.Doctor = q
	s := beginCommand(t, o, "no-such-bin-xyz").initialize()
	if got := s.call("echo", `{"text":"hi"}`); got == "" {
		t.Error("no answer")
	}
	if s.await(event.Healed, 1).Detail != "starts the real one" || q.count() != 1 {
		t.Errorf("asked %d times", q.count())
	}
}

// What only helped is kept: the server's own next way of failing is what the client is told, with what was changed.
func TestAFixThatOnlyHelpsIsKeptAndTold(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Doctor = doctorWith(func(asked int, spec launch.Spec) upstream.Treated {
		if asked == 1 {
			return upstream.Treated{Changed: true, Did: "found it elsewhere", Spec: failing("broken")}
		}
		return upstream.Treated{}
	})
	s := beginCommand(t, o, "no-such-bin-xyz")
	text := s.wantFault(s.request("initialize", helloParams), fault.ServerExitsEarly).raw
	for _, want := range []string{"exit status 3", "found it elsewhere", "It is unwell.", "Let it rest."} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if strings.Contains(text, "no-such-bin-xyz was not found") || s.happened(event.Healed) > 0 {
		t.Error(text)
	}
}

// A change that does not help the server is taken back, and is not told as one.
func TestAFixThatDoesNotHoldIsUndone(t *testing.T) {
	t.Parallel()
	o := quick()
	q := doctorWith(func(asked int, spec launch.Spec) upstream.Treated {
		return upstream.Treated{Changed: true, Healed: true, Did: "gives it a hat", Spec: failing("", "-lax")}
	})
	o.Doctor = q
	o.Spec = failing("")
	s := (&story{t: t, ended: make(chan error, 1)}).run(o)
	text := s.wantFault(s.request("initialize", helloParams), fault.ServerExitsEarly).raw
	if q.count() != 1 || strings.Contains(text, "a hat") || !strings.Contains(text, "It is unwell.") || !s.saw(event.Treating, "was undone: gives it a hat") {
		t.Errorf("asked %d times: %s", q.count(), text)
	}
	s.end()
	if now := s.session.Upstream().Spec.Args; len(now) != 1 {
		t.Errorf("it is started with %q", now)
	}
}

// A server that fails in ever new ways, each of them "helped", comes to an end.
func TestTreatmentsAreBounded(t *testing.T) {
	t.Parallel()
	o := quick()
	q := doctorWith(func(asked int, spec launch.Spec) upstream.Treated {
		word := strings.Repeat("x", asked)
		return upstream.Treated{Changed: true, Did: "tries " + word, Spec: failing(word)}
	})
	o.Doctor = q
	s := beginCommand(t, o, "no-such-bin-xyz")
	s.wantFault(s.request("initialize", helloParams), fault.ServerExitsEarly)
	if q.count() != 6 {
		t.Errorf("asked %d times", q.count())
	}
}
