package agenttools

import (
	"fmt"
	"strings"

	"github.com/gauze-mcp/gauze/health"
	"github.com/gauze-mcp/gauze/internal/tasks/verdict"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

func (svc *service) addEvaluateTool() {
	add(svc, "evaluate_health", "Decide how to handle a failing MCP server",
		"Decide what a task should do about a failing MCP server: continue, retry_connection or stop_task, with a reason. Pass server to test a configured server first, as check_health does, or pass health; also pass what is known about the failures and the task. Changes no files.",
		hints{idempotent: true, openWorld: true}, (*call).evaluate)
}

type evaluateIn struct {
	Server string `json:"server,omitempty" jsonschema:"NAME or CLIENT/NAME, instead of health and cause"`
	verdict.Facts
	Timeout float64 `json:"timeout_seconds,omitempty" jsonschema:"maximum wait for one response, 1 to 600"`
}

// Evaluated is the result of evaluate_health.
type Evaluated struct {
	Server     string  `json:"server,omitempty"`
	State      string  `json:"state"`
	Action     string  `json:"action"`
	Reason     string  `json:"reason"`
	Confidence float64 `json:"confidence"`
	DecidedBy  string  `json:"decided_by"`
	Model      string  `json:"model,omitempty"`
	Rejected   string  `json:"rejected,omitempty" jsonschema:"why the model's answer was not used"`
	Cause      string  `json:"cause,omitempty"`
	Next       string  `json:"next,omitempty"`
}

func (c *call) evaluate(in evaluateIn) (out Evaluated, err error) {
	wait, err := seconds(in.Timeout)
	switch {
	case err != nil:
		return out, err
	case in.Server == "" && in.Health == "":
		return out, failure("pass either `server` or `health`", `for example {"server": "notes", "reconnects": 1} or {"health": "dead", "cause": "rate_limit", "retry_in_seconds": 30}`)
	case in.Server != "" && (in.Health != "" || in.Cause != ""):
		return out, failure("`server` cannot be combined with `health` or `cause`: testing the server determines both", `for example {"server": %q}`, redact.Quote(in.Server))
	case in.Server == "":
		return c.judge(in.Facts.Situation(doctor.Permanent), "")
	}
	view := c.look()
	chosen, err := view.Choose(fleet.Choice{Names: []string{in.Server}})
	if err != nil {
		return out, err
	}
	one := c.check(chosen[:1], fleet.CheckOptions{Timeout: wait})[0]
	switch {
	case c.ctx.Err() != nil:
		return out, c.ctx.Err()
	case !one.Tried:
		return out, failure(redact.Quote(one.ID())+" was not tested: "+one.Not, "call test_connection with {\"server\": %q}", redact.Quote(one.ID()))
	}
	s := in.Facts.Situation(doctor.Permanent)
	s.Server, s.Health = one.ID(), one.Health()
	s.Reconnects++ // the test was an attempt
	s.Transport = "stdio"
	if one.Real().URL != "" {
		s.Transport = "http"
	}
	if len(s.Failures) == 0 && !one.Attempt.OK() {
		s.Failures = []verdict.Failure{testFailure(one)}
	}
	if d := one.Report.Diagnosis; d != nil {
		s.Cause = verdict.Cause{Code: d.Cause, Explanation: d.Explanation, Confidence: d.Confidence, Permanent: doctor.Permanent(d.Cause)}
	}
	return c.judge(s, checkedOf(view, one).Next)
}

// testFailure returns how the test of a server failed.
func testFailure(c *fleet.Checked) verdict.Failure {
	a := c.Attempt
	f := verdict.Failure{Kind: health.TimedOut, Detail: a.Stopped, Cause: a.Telling(), Ran: a.Ran}
	switch {
	case len(a.HTTP) > 0:
		f.Kind = health.Unavailable
	case c.Real().URL != "":
		f.Kind = health.Refused
	case a.Spawn != nil:
		f.Kind = health.NotStarted
	case a.Exit != "" && a.ByUs == "":
		f.Kind = health.Exited
	}
	return f
}

// judge returns the verdict on a situation. remedy is what can be done about the server, if it is
// known.
func (c *call) judge(s verdict.Situation, remedy string) (out Evaluated, err error) {
	s.Hide = c.hide
	v, err := verdict.Evaluate(c.ctx, s, c.service.Model)
	if err != nil {
		return out, failure(err.Error(), `for example {"health": "dead", "failures": [{"kind": "timeout"}], "needs": "all"}`)
	}
	out.Server, out.State, out.Cause = redact.Quote(s.Server), s.Health, redact.Quote(s.Cause.Code)
	out.Action, out.Reason, out.Confidence, out.DecidedBy = string(v.Action), v.Reason, v.Confidence, v.By
	if v.Consulted != nil {
		out.Model, out.Rejected = v.Consulted.Model, v.Consulted.Rejected
	}
	switch {
	case v.Action == verdict.Retry && s.Server != "":
		out.Next = fmt.Sprintf("reconnect, or call evaluate_health again with {\"server\": %q, \"reconnects\": %d}", out.Server, s.Reconnects)
	case v.Action == verdict.Retry:
		out.Next = fmt.Sprintf("reconnect; if that fails, call evaluate_health again with \"reconnects\": %d", s.Reconnects+1)
	case remedy != "":
		out.Next = remedy
	case v.Action == verdict.Stop && s.Cause.Permanent:
		out.Next = "tell the user to run: gauze explain " + out.Cause
	case v.Action == verdict.Stop:
		out.Next = "tell the user what was done and why the task stopped"
	}
	return out, nil
}

func (e Evaluated) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s (decided by %s)", e.Action, e.Reason, e.DecidedBy)
	if e.Server != "" {
		fmt.Fprintf(&b, "\n%s: %s", e.Server, e.State)
	}
	if e.Next != "" {
		b.WriteString("\nnext: " + e.Next)
	}
	return b.String()
}
