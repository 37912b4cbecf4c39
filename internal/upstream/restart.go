package upstream

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/redact"
)

// Restart says how eagerly a server is brought back. The zero value holds the
// defaults.
//
// Only generations that were of no use count against it: those that answered
// no client and did not stay up for Healthy. A useful one is restarted
// immediately, whatever the rate.
type Restart struct {
	Backoff time.Duration // bounds the random wait before the second restart, x2 for each further one; default 200 ms, negative: none
	Cap     time.Duration // of one wait; default 30 s
	Limit   int           // useless generations within Period before a pause; default 5, negative: no limit
	Period  time.Duration // default 60 s
	Open    time.Duration // length of the first pause, doubling up to OpenMax; default 2 s
	OpenMax time.Duration // default 5 min
	Healthy time.Duration // a generation that stayed up this long was useful; default 10 s
}

func (r Restart) withDefaults() Restart {
	set := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	set(&r.Backoff, 200*time.Millisecond)
	set(&r.Cap, 30*time.Second)
	set(&r.Period, time.Minute)
	set(&r.Open, 2*time.Second) // a call that waits sees several tries within its patience
	set(&r.OpenMax, 5*time.Minute)
	set(&r.Healthy, 10*time.Second)
	if r.Limit == 0 {
		r.Limit = 5
	}
	return r
}

// plan is what to do after an end.
type plan struct {
	wait      time.Duration
	code      fault.Code // why calls fail meanwhile
	detail    string
	cause     fault.Cause // if the doctor knows one
	open      bool        // too many restarts: one more try after wait
	permanent bool        // trying again by ourselves is pointless
	refused   bool        // the server is there, but wants nothing to do with us as we are
	absent    bool        // nobody is there, again and again
}

// final reports whether the trouble will not pass by waiting a little.
func (p plan) final() bool { return p.permanent || p.open || p.refused || p.absent }

// restarts remembers the ends of one server. Pure: time and chance are
// arguments.
type restarts struct {
	Restart
	failures int         // useless generations in a row
	recent   []time.Time // their ends within Period
	opens    int
	worked   bool   // a generation was useful, so this server can start
	same     string // signature of the last early end
	sames    int    // how often in a row
}

// sameEarlyEnds is how many equal exits before the first message show that a
// server cannot start. One that worked before can: what prevents it may pass.
const sameEarlyEnds = 3

// after decides what follows an end. chance is uniform in [0,1).
func (r *restarts) after(e Evidence, now time.Time, chance float64) plan {
	useful := e.Used || e.Served >= r.Healthy
	if useful {
		*r = restarts{Restart: r.Restart, worked: true}
	}
	switch {
	case e.Gone && useful:
		// Servers forget sessions when they are idle, or when a balancer sends
		// us to a different one.
		return plan{code: fault.ServerUnavailable, detail: e.Sentence()}
	case e.Remote:
		return r.unreached(e, chance)
	case useful:
		return plan{code: fault.ServerUnavailable, detail: e.Sentence()}
	}
	if e.Stage >= Spoke {
		r.same, r.sames = "", 0
	} else if sign := e.Signature(); sign == r.same {
		r.sames++
	} else {
		r.same, r.sames = sign, 1
	}
	if code, detail, ok := permanent(e); ok {
		return plan{permanent: true, code: code, detail: detail}
	}
	if !r.worked && e.Spawn == nil && e.Stage < Spoke && e.ByUs == "" && r.sames >= sameEarlyEnds {
		return plan{permanent: true, code: fault.ServerExitsEarly,
			detail: fmt.Sprintf("it exited %d times in the same way (%s) before sending a message", r.sames, e.Exit)}
	}

	kept := r.recent[:0]
	for _, at := range r.recent {
		if now.Sub(at) < r.Period {
			kept = append(kept, at)
		}
	}
	r.recent = append(kept, now)
	// After a pause one try is allowed, not another five, until a generation
	// was of use.
	if r.Limit > 0 && (r.opens > 0 || len(r.recent) > r.Limit) {
		p := plan{wait: min(r.Open<<min(r.opens, 10), r.OpenMax), open: true, code: fault.CrashLoop,
			detail: fmt.Sprintf("it exited %d times within %v without answering a call", len(r.recent), r.Period)}
		if len(r.recent) <= r.Limit {
			p.detail = "it exited again after the last pause: " + e.Sentence()
		}
		r.opens++
		return p
	}

	p := plan{code: fault.ServerUnavailable, detail: e.Sentence()}
	notStarted := e.Spawn != nil
	if notStarted {
		p.code = fault.SpawnFailed
	}
	if (r.failures > 0 || notStarted) && r.Backoff > 0 {
		ceiling := min(r.Backoff<<min(r.failures, 20), r.Cap)
		p.wait = time.Duration(chance * float64(ceiling))
	}
	r.failures++
	return p
}

// unreachedCap is the longest wait between two tries to reach a server that is
// down: a try costs it nothing, so it is found soon after its return, and
// there is no reason to stop trying.
const unreachedCap = 5 * time.Second

// unreached decides what follows when a server behind a URL accepted no
// connection or was of no use: it did not answer, could not be initialized
// again, or forgot the session before it answered a call (replicas behind a
// balancer without sticky sessions do).
func (r *restarts) unreached(e Evidence, chance float64) plan {
	if e.Stage >= Spoke && !e.Gone {
		r.failures = 0 // it was there until now
	}
	if e.Refused != nil {
		return plan{refused: true, code: e.Refused.Code, detail: e.Refused.Detail}
	}
	r.failures++
	p := plan{code: fault.ServerUnreachable, detail: e.Sentence(), absent: e.Stage < Spoke && r.failures >= sameEarlyEnds}
	switch {
	case untrusted(e.Spawn):
		return plan{permanent: true, code: fault.TLSFailed, detail: e.Sentence()}
	case notFoundHost(e.Spawn) && r.failures >= sameEarlyEnds:
		return plan{permanent: true, code: fault.HostNotFound, detail: e.Sentence()}
	}
	if r.failures > 1 && r.Backoff > 0 {
		p.wait = time.Duration(chance * float64(min(r.Backoff<<min(r.failures, 20), unreachedCap)))
	}
	return p
}

// Sentence says in a few words how a generation ended.
func (e Evidence) Sentence() string {
	switch {
	case e.Refused != nil:
		return "it refused us: " + e.Refused.Detail
	case e.Gone:
		return "its session was gone: " + e.Spawn.Error()
	case e.Remote && e.Spawn != nil:
		return "it cannot be reached: " + e.Spawn.Error()
	case e.Spawn != nil:
		return e.Spawn.Error()
	case e.ByUs != "":
		return "it was ended: " + e.ByUs
	default:
		return "it ended with " + e.Exit
	}
}

// permanent recognises the ends that no restart can mend.
func permanent(e Evidence) (code fault.Code, detail string, ok bool) {
	var dir *WorkdirError
	switch err := e.Spawn; {
	case e.Remote:
		return "", "", false
	case err == nil:
	case errors.As(err, &dir):
		return fault.WorkdirMissing, err.Error(), true
	case errors.Is(err, exec.ErrNotFound):
		return fault.CommandNotFound, notFound(err), true
	case errors.Is(err, fs.ErrNotExist):
		// The file is there, or LookPath would have said so: what is missing
		// is the interpreter its first line names.
		if path := pathOf(err); path != "" {
			if _, statErr := os.Stat(path); statErr == nil {
				return fault.CommandBadFormat, fmt.Sprintf("\"%s\" names an interpreter in its first line that does not exist", path), true
			}
		}
		return fault.CommandNotFound, err.Error(), true
	case errors.Is(err, fs.ErrPermission):
		return fault.CommandNotExecutable, err.Error(), true
	case slices.Contains([]string{"ENOEXEC", "EBADARCH"}, Errno(err)):
		return fault.CommandBadFormat, err.Error(), true
	default:
		return "", "", false
	}
	if e.Stage < Spoke && e.ByUs == "" {
		// The convention of shells and of launchers such as env and npx.
		switch e.Code {
		case 127:
			return fault.CommandNotFound, "it ended with exit status 127: a command it starts was not found", true
		case 126:
			return fault.CommandNotExecutable, "it ended with exit status 126: a command it starts cannot be executed", true
		}
	}
	return "", "", false
}

func notFound(err error) string {
	var look *exec.Error
	if errors.As(err, &look) {
		return fmt.Sprintf("\"%s\" was not found in PATH (%s)", look.Name, redact.Quote(os.Getenv("PATH"))) // some are longer than what follows may be
	}
	return err.Error()
}

func pathOf(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Path
	}
	return ""
}
