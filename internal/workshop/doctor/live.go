package doctor

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// A client waits for a response while its server is treated: a probe must show within probeTimeout
// whether a fix helped, and a treatment ends after treatTimeout.
const (
	probeTimeout = 5 * time.Second
	treatTimeout = 15 * time.Second
)

// Live returns the doctor of a running server: it diagnoses what was seen of the server and, with
// heal, tries fixes that only change how the same server is started or reached. The first fix that
// helps is used for the next start, which proves it; if that fails for a different reason, the doctor
// is asked again.
func Live(m *Machine, heal bool) upstream.Doctor {
	return &liveDoctor{machine: m, heal: heal, cache: map[string]*treatment{}}
}

// liveDoctor implements upstream.Doctor.
type liveDoctor struct {
	machine *Machine
	heal    bool

	mu    sync.Mutex
	cache map[string]*treatment
}

// treatment is shared by all sessions with the same server and failure.
type treatment struct {
	begun time.Time
	once  sync.Once
	upstream.Treated
}

// A treatment is cached for a minute, because a person may have changed something since. When there
// are maxTreatments, all of them are dropped.
const (
	treatmentTTL  = time.Minute
	maxTreatments = 256
)

func (l *liveDoctor) Diagnose(spec launch.Spec, e upstream.Evidence) (cause fault.Cause, lasts bool) {
	c := l.machine.seen(spec, e)
	d := Diagnose(c)
	todo := d.Fix
	if l.heal {
		todo, _ = Treatment{Allow: Runtime, Fixes: Fixes(l.machine)}.todo(d, c, spec)
	}
	lasts = d.Confidence >= strong && Permanent(d.Cause) && d.Category != DNSOrNetwork // the network may come back
	return causeOf(&d, todo), lasts
}

func (l *liveDoctor) ServedAt(ctx context.Context, ports []int) string {
	if served := probe.ServedAt(ctx, ports, probe.Options{}); served != nil {
		return served.URL
	}
	return ""
}

func (l *liveDoctor) Treat(ctx context.Context, spec launch.Spec, e upstream.Evidence, trying func(string)) upstream.Treated {
	c := l.machine.seen(spec, e)
	if !l.heal {
		d := Diagnose(c)
		return upstream.Treated{Cause: causeOf(&d, d.Fix)}
	}
	f := l.cached(spec.Fingerprint() + "\n" + e.Signature())
	f.once.Do(func() {
		if f.Treated = l.treat(ctx, spec, c, trying); ctx.Err() != nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			f.begun = time.Time{} // interrupted: do not reuse it
		}
	})
	return f.Treated
}

// cached returns the treatment for a server and failure, a new one if there is none.
func (l *liveDoctor) cached(key string) *treatment {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.cache) >= maxTreatments {
		clear(l.cache)
	}
	if t := l.cache[key]; t == nil || time.Since(t.begun) > treatmentTTL {
		l.cache[key] = &treatment{begun: time.Now()}
	}
	return l.cache[key]
}

func (l *liveDoctor) treat(ctx context.Context, spec launch.Spec, c Case, trying func(string)) upstream.Treated {
	ctx, cancel := context.WithTimeout(ctx, treatTimeout)
	defer cancel()
	r := Treat(ctx, spec, Treatment{
		Allow: Runtime, OneStep: true, Fixes: Fixes(l.machine), First: &Seen{Case: c}, Tell: trying,
		Probe: func(ctx context.Context, spec launch.Spec, _ time.Duration) Seen {
			tried := probe.Run(ctx, spec, probe.Options{Timeout: probeTimeout, MaxWait: probeTimeout})
			return Seen{Case: l.machine.seen(spec, tried.Evidence), Healthy: tried.OK()}
		},
	})
	t := upstream.Treated{Healed: r.Healthy, Spec: r.Spec, Cause: causeOf(r.Diagnosis, r.Todo)}
	var did []string
	for _, step := range r.Steps {
		if step.Result != Undone {
			did = append(did, step.About)
		}
	}
	t.Changed, t.Did = len(did) > 0, strings.Join(did, "; ")
	return t
}

// causeOf returns a diagnosis as the cause of a fault.
func causeOf(d *Diagnosis, todo string) fault.Cause {
	if d == nil || d.Category == Unknown {
		return fault.Cause{}
	}
	return fault.Cause{Code: d.Cause, Explanation: d.Explanation, Remedy: todo}
}
