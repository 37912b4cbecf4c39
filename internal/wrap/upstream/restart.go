package upstream

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/pause"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/web"
)

// Restart configures how a server is restarted. The zero value has the defaults.
//
// Only useless generations count against the limit: those that answered no client and did not stay
// up for Healthy. A useful one is restarted immediately.
type Restart struct {
	// Backoff limits the random wait before the second restart and doubles with each further one.
	// Default 200ms; negative disables it.
	Backoff time.Duration
	// Cap limits Backoff. Default 30s.
	Cap time.Duration
	// Limit is the number of useless generations within Period before a pause. Default 5; negative
	// means no limit.
	Limit int
	// Period is the time for Limit. Default 60s.
	Period time.Duration
	// Open is the length of the first pause. It doubles up to OpenMax. Default 2s.
	Open time.Duration
	// OpenMax limits Open. Default 5m.
	OpenMax time.Duration
	// Healthy is how long a generation must stay up to count as useful. Default 10s.
	Healthy time.Duration
}

func (r Restart) withDefaults() Restart {
	r.Backoff = cmp.Or(r.Backoff, 200*time.Millisecond)
	r.Cap = cmp.Or(r.Cap, 30*time.Second)
	r.Limit = cmp.Or(r.Limit, 5)
	r.Period = cmp.Or(r.Period, time.Minute)
	r.Open = cmp.Or(r.Open, 2*time.Second) // a waiting call sees several tries before it times out
	r.OpenMax = cmp.Or(r.OpenMax, 5*time.Minute)
	r.Healthy = cmp.Or(r.Healthy, 10*time.Second)
	return r
}

// plan is what happens after a generation ended.
type plan struct {
	wait      time.Duration
	code      fault.Code // why calls fail meanwhile
	detail    string
	cause     fault.Cause   // empty if the doctor found none
	open      bool          // too many restarts: one more try after wait
	permanent bool          // retrying without a change is pointless
	refused   bool          // the server is reachable but rejects gauze's requests
	absent    bool          // the server was repeatedly not reachable
	login     *login.Needed // what a person has to log in for; nil: nothing
}

// final reports whether waiting a little is unlikely to help.
func (p plan) final() bool { return p.permanent || p.open || p.refused || p.absent }

// restarts remembers how the generations of one server ended. It is pure: time and chance are
// arguments.
type restarts struct {
	Restart
	failures  int         // consecutive useless generations
	recent    []time.Time // when they ended, within Period
	opens     int
	worked    bool   // a generation was useful or finished its handshake, so the server is able to start
	same      string // signature of the last early exit
	sameCount int    // how often it was seen in a row
}

// maxEarlyExits is how many equal exits before the first message show that a server cannot start. A
// server that worked before, or finished its handshake, can: the obstacle may be temporary.
const maxEarlyExits = 3

// after decides what follows the end of a generation. chance is uniform in [0,1).
func (r *restarts) after(e Evidence, now time.Time, chance float64) plan {
	useful := r.credit(e)
	switch {
	case e.Gone && useful:
		// Servers forget idle sessions, or a load balancer chose a different replica.
		return plan{code: fault.ServerUnavailable, detail: e.Sentence()}
	case e.Remote:
		return r.unreached(e, chance)
	case useful:
		return plan{code: fault.ServerUnavailable, detail: e.Sentence()}
	}
	if e.Stage >= Spoke {
		r.same, r.sameCount = "", 0
	} else if sign := e.Signature(); sign == r.same {
		r.sameCount++
	} else {
		r.same, r.sameCount = sign, 1
	}
	if code, detail, ok := permanent(e); ok {
		return plan{permanent: true, code: code, detail: detail}
	}
	if r.failsToStart(e) && r.sameCount >= maxEarlyExits {
		return plan{permanent: true, code: fault.ServerExitsEarly,
			detail: fmt.Sprintf("it exited %d times in the same way (%s) before sending a message", r.sameCount, e.Exit)}
	}

	kept := r.recent[:0]
	for _, at := range r.recent {
		if now.Sub(at) < r.Period {
			kept = append(kept, at)
		}
	}
	r.recent = append(kept, now)
	// After a pause, one try is allowed until a generation was useful.
	if r.Limit > 0 && (r.opens > 0 || len(r.recent) > r.Limit) {
		p := plan{wait: min(r.Open<<min(r.opens, 10), r.OpenMax), open: true, code: fault.CrashLoop,
			detail: fmt.Sprintf("it failed %d times within %v without answering a call; the last time, %s", len(r.recent), r.Period, e.Sentence())}
		if len(r.recent) <= r.Limit {
			p.detail = "after the last pause, " + e.Sentence()
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
		p.wait = pause.Jitter(r.Backoff, r.failures, r.Cap, chance)
	}
	r.failures++
	return p
}

// credit reports whether a generation was useful, and forgets the failures before it if it was. The failures of one that
// only finished its handshake still count.
func (r *restarts) credit(e Evidence) bool {
	useful := e.Used || e.Served >= r.Healthy
	if useful {
		*r = restarts{Restart: r.Restart, worked: true}
	}
	r.worked = r.worked || e.Greeted
	return useful
}

// failsToStart reports whether a process whose server never worked exited before it sent a message.
func (r *restarts) failsToStart(e Evidence) bool {
	return !r.worked && !e.Remote && e.Spawn == nil && e.Stage < Spoke && e.ByUs == ""
}

// explain records why a process exited at its start. If that lasts, the next start would fail as well.
func (p *plan) explain(cause fault.Cause, lasts bool, e Evidence) {
	p.cause = cause
	if lasts && !p.permanent {
		*p = plan{permanent: true, code: fault.ServerExitsEarly, cause: cause,
			detail: fmt.Sprintf("it exited (%s) before sending a message", e.Exit)}
	}
}

// maxUnreachedWait is the longest wait between two tries to reach a server that is down. A try
// costs it nothing, so trying does not stop and its return is noticed soon.
const maxUnreachedWait = 5 * time.Second

// unreached decides what follows when a server at a URL accepted no connection or was useless: it
// did not answer, could not be initialized again, or forgot the session before it answered a call,
// as replicas behind a load balancer without sticky sessions do.
func (r *restarts) unreached(e Evidence, chance float64) plan {
	if e.Refused != nil {
		return plan{refused: true, code: e.Refused.Code, detail: e.Refused.Detail}
	}
	r.failures++
	p := plan{code: fault.ServerUnreachable, detail: e.Sentence(), absent: e.Stage < Spoke && r.failures >= maxEarlyExits}
	switch {
	case web.Untrusted(e.Spawn):
		return plan{permanent: true, code: fault.TLSFailed, detail: e.Sentence()}
	case web.HostNotFound(e.Spawn) && r.failures >= maxEarlyExits:
		return plan{permanent: true, code: fault.HostNotFound, detail: e.Sentence()}
	}
	if r.failures > 1 && r.Backoff > 0 {
		p.wait = pause.Jitter(r.Backoff, r.failures, maxUnreachedWait, chance)
	}
	return p
}

// permanent recognizes the ends that no restart can fix.
func permanent(e Evidence) (code fault.Code, detail string, ok bool) {
	var dir *launch.WorkdirError
	switch err := e.Spawn; {
	case e.Remote:
		return "", "", false
	case err == nil:
	case errors.As(err, &dir):
		return fault.WorkdirMissing, err.Error(), true
	case errors.Is(err, exec.ErrNotFound):
		return fault.CommandNotFound, notFound(err), true
	case errors.Is(err, exec.ErrDot):
		return fault.CommandNotFound, notFound(err) + "; a program in the current directory is run only if the command contains its path", true
	case errors.Is(err, fs.ErrNotExist):
		// LookPath found the file, so the missing file is the interpreter in its first line.
		if path := pathOf(err); path != "" {
			if _, statErr := os.Stat(path); statErr == nil {
				return fault.CommandBadFormat, fmt.Sprintf("the first line of \"%s\" specifies an interpreter that does not exist", path), true
			}
		}
		return fault.CommandNotFound, err.Error(), true
	case errors.Is(err, fs.ErrPermission):
		return fault.CommandNotExecutable, err.Error(), true
	case slices.Contains([]string{"ENOEXEC", "EBADARCH", "EISDIR"}, life.Errno(err)):
		return fault.CommandBadFormat, err.Error(), true
	default:
		return "", "", false
	}
	if e.Stage < Spoke && e.ByUs == "" {
		// Exit statuses of shells and of launchers such as env and npx.
		switch e.Code {
		case 127:
			return fault.CommandNotFound, "it exited with status 127: a command that it runs was not found", true
		case 126:
			return fault.CommandNotExecutable, "it exited with status 126: a command that it runs is not executable", true
		}
	}
	return "", "", false
}

func notFound(err error) string {
	if look, ok := errors.AsType[*exec.Error](err); ok {
		return fmt.Sprintf("\"%s\" was not found in PATH (%s)", look.Name, redact.Quote(strings.Join(filepath.SplitList(os.Getenv("PATH")), ", "))) // a PATH can be very long
	}
	return err.Error()
}

func pathOf(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Path
	}
	return ""
}
