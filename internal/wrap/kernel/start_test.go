package kernel_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// Nothing is ready that was never heard of: neither a connection that was only prepared, nor one
// that was refused.
func TestNothingIsReadyBeforeItWasHeard(t *testing.T) {
	t.Parallel()
	s := beginWeb(t, stateful, unprobed())
	s.web.Stop()
	id := s.request("initialize", helloParams)
	s.await(event.Waiting, 4)
	s.want(event.Ready, 0)
	s.want(event.Started, 1)       // the others found nobody to connect to
	s.want(event.HealthChanged, 0) // nor was it ever healthy
	if o := s.session.Observe(false); o.State != health.Dead.String() || !o.Up.IsZero() || o.Recovery.Count() != 0 {
		t.Errorf("before it was reached: %s, up since %v, %d recoveries", o.State, o.Up, o.Recovery.Count())
	}
	if err := s.web.StartAgain(); err != nil {
		t.Fatal(err)
	}
	if m := s.answer(id); m.Error != nil {
		t.Fatal(m.raw)
	}
	s.want(event.Ready, 1)
	s.want(event.Started, 2)
}

// soon are settings with which a start that fails is answered soon.
func soon() Options {
	o := unprobed()
	o.Timing.StartAnswer = 100 * time.Millisecond
	return o
}

// A client that starts a session learns why there is none, and may try again later.
func TestAStartThatFailsIsAnsweredWithItsCause(t *testing.T) {
	t.Parallel()
	for method, params := range map[string]string{"initialize": helloParams, "server/discover": "{" + modernMeta + "}"} {
		t.Run(method, func(t *testing.T) {
			cfg := stateful
			if method == "server/discover" {
				cfg = faultyhttp.Config{Era: faultyhttp.Modern}
			}
			s := beginWeb(t, cfg, soon())
			s.web.Stop()
			s.wantFault(s.request(method, params), fault.ServerUnreachable)
			tries := s.happened(event.Waiting)
			s.await(event.Waiting, tries+1) // it goes on trying
			s.wantFault(s.request(method, params), fault.ServerUnreachable)
			if err := s.web.StartAgain(); err != nil {
				t.Fatal(err)
			}
			s.await(event.Started, 2)
			if m := s.answer(s.request(method, params)); m.Error != nil {
				t.Error(m.raw)
			}
		})
	}
}

// A call may wait too long although no start has failed, as after a restart by the user.
func TestACallEndsItsWaitWithoutTrouble(t *testing.T) {
	t.Parallel()
	s := begin(t, unprobed()).initialize()
	if s.session.FailOwn("tools/list") {
		t.Error("it has a result")
	}
}

// The first diagnosis takes a second on a busy machine: the client waits for it and the rest together.
func TestADiagnosisIsPartOfTheWait(t *testing.T) {
	t.Parallel()
	s := beginWeb(t, stateful, soon())
	s.web.Stop()
	s.wantFault(s.request("initialize", helloParams), fault.ServerUnreachable)
	if waits, failed := s.session.Inside().Delayed, s.session.Trouble().Since; !waits.Equal(failed) {
		t.Errorf("the wait began %v after the first failure", waits.Sub(failed))
	}
}

// A treatment may take longer than a client waits.
func TestATreatmentDoesNotHoldUpTheAnswer(t *testing.T) {
	t.Parallel()
	path, args, env := faultyserver.Command()
	healed := make(chan struct{})
	o := soon()
	o.Doctor = doctorWith(func(int, launch.Spec) upstream.Treated {
		<-healed
		return upstream.Treated{Changed: true, Healed: true, Did: "starts the real one", Spec: launch.Spec{Command: path, Args: args, Env: env}}
	})
	s := beginCommand(t, o, "no-such-bin-xyz")
	s.wantFault(s.request("initialize", helloParams), fault.CommandNotFound)
	close(healed)
	s.await(event.Started, 1)
	s.initialize()
}

// certain is a doctor who knows that a cause lasts.
type certain struct{ *quack }

func (d certain) Diagnose(spec launch.Spec, e upstream.Evidence) (cause fault.Cause, lasts bool) {
	cause, _ = d.quack.Diagnose(spec, e)
	return cause, true
}

func TestALastingCauseIsOneStart(t *testing.T) {
	t.Parallel()
	o := unprobed()
	o.Doctor = certain{doctorWith(func(int, launch.Spec) upstream.Treated { return upstream.Treated{} })}
	o.Spec = failing("no key")
	s := (&story{t: t, ended: make(chan error, 1)}).run(o)
	m := s.wantFault(s.request("initialize", helloParams), fault.ServerExitsEarly)
	if !strings.Contains(m.raw, "It is unwell.") {
		t.Error(m.raw)
	}
	s.want(event.Started, 1)
}

// A process that failed and then does nothing keeps nobody waiting; it may still come up.
func TestAnIdleSecondStartIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	s := begin(t, soon(), g.flag(), "-exit-at-start=1,code=3")
	id := s.request("initialize", helloParams)
	g.open(t)
	s.await(event.Died, 1)
	m := s.wantFault(id, fault.ServerUnavailable)
	if !strings.Contains(m.raw, "exit status 3") {
		t.Error(m.raw)
	}
	g.open(t)
	for s.answer(s.request("initialize", helloParams)).Error != nil { // until it has started
	}
	s.want(event.Started, 2)
}
