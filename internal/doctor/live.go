package doctor

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/probe"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// Somebody waits for an answer while a running wrap is treated: one try shows
// within probeMost whether its fix helped, and no try begins after treatMost.
const (
	probeMost = 5 * time.Second
	treatMost = 15 * time.Second
)

// Live is the doctor of a running wrap: it diagnoses what the wrap has seen
// and, if it may heal, tries what only changes how the same server is started
// or reached. The first fix that helps is handed to the wrap, whose own next
// start is the proof; if that fails of something else, it asks again.
func Live(m *Machine, heal bool) upstream.Doctor {
	return &attending{machine: m, heal: heal, known: map[string]*shared{}}
}

type attending struct {
	machine *Machine
	heal    bool

	mu    sync.Mutex
	known map[string]*shared
}

// shared is a treatment that all sessions with the same trouble share.
type shared struct {
	begun time.Time
	once  sync.Once
	upstream.Treated
}

// A treatment is shared for a minute: then a person may have mended something.
// Beyond mostShared of them, all are forgotten.
const (
	sharedFor  = time.Minute
	mostShared = 256
)

func (l *attending) Diagnose(spec launch.Spec, e upstream.Evidence) fault.Cause {
	d := Diagnose(FromEvidence(spec, e))
	return causeOf(&d, d.Fix)
}

func (l *attending) Treat(ctx context.Context, spec launch.Spec, e upstream.Evidence, trying func(string)) upstream.Treated {
	c := FromEvidence(spec, e)
	if !l.heal {
		d := Diagnose(c)
		return upstream.Treated{Cause: causeOf(&d, d.Fix)}
	}
	f := l.shared(spec.Fingerprint() + "\n" + e.Signature())
	f.once.Do(func() {
		if f.Treated = l.treat(ctx, spec, c, trying); ctx.Err() != nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			f.begun = time.Time{} // it was cut short
		}
	})
	return f.Treated
}

func (l *attending) shared(key string) *shared {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.known) >= mostShared {
		clear(l.known)
	}
	if known := l.known[key]; known == nil || time.Since(known.begun) > sharedFor {
		l.known[key] = &shared{begun: time.Now()}
	}
	return l.known[key]
}

func (l *attending) treat(ctx context.Context, spec launch.Spec, c Case, trying func(string)) upstream.Treated {
	ctx, cancel := context.WithTimeout(ctx, treatMost)
	defer cancel()
	r := Treat(ctx, spec, Treatment{
		Allow: Runtime, OneStep: true, Fixes: Fixes(l.machine), First: &Seen{Case: c}, Tell: trying,
		Probe: func(ctx context.Context, spec launch.Spec) Seen {
			tried := probe.Run(ctx, spec, probe.Options{Timeout: probeMost, MaxWait: probeMost})
			return Seen{Case: FromEvidence(spec, tried.Evidence), Healthy: tried.OK()}
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

// causeOf is what a fault tells of a diagnosis.
func causeOf(d *Diagnosis, todo string) fault.Cause {
	if d == nil || d.Category == Unknown {
		return fault.Cause{}
	}
	return fault.Cause{Code: d.Cause, Explanation: d.Explanation, Remedy: todo}
}
