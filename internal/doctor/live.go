package doctor

import (
	"context"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/upstream"
)

// longestTreatment: somebody waits for an answer meanwhile.
const longestTreatment = 45 * time.Second

// Live is the doctor of a running wrap: it diagnoses what the wrap has seen
// and, if it may, tries what only changes how the same server is started or
// reached.
func Live(m *Machine, heal bool) upstream.Doctor {
	return func(ctx context.Context, spec upstream.Spec, e upstream.Evidence) upstream.Treated {
		t := Treatment{
			Allow: Runtime, Fixes: Fixes(m), First: &Seen{Case: FromEvidence(spec, e)},
			Probe: func(ctx context.Context, spec upstream.Spec) Seen {
				tried := upstream.Attempt(ctx, spec, upstream.AttemptOptions{})
				return Seen{Case: FromEvidence(spec, tried.Evidence), Healthy: tried.OK()}
			},
		}
		if !heal {
			t.Attempts = -1
		}
		ctx, cancel := context.WithTimeout(ctx, longestTreatment)
		defer cancel()
		return treated(Treat(ctx, spec, t))
	}
}

func treated(r Report) upstream.Treated {
	if r.Healthy {
		var did []string
		for _, step := range r.Steps {
			if step.Result != Undone {
				did = append(did, step.About)
			}
		}
		return upstream.Treated{Healed: true, Spec: r.Spec, Did: strings.Join(did, "; ")}
	}
	t := upstream.Treated{Todo: r.Todo}
	if r.Diagnosis != nil && r.Diagnosis.Category != Unknown {
		t.Cause = r.Diagnosis.Explanation
	}
	return t
}
