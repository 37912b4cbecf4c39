package main

import (
	"fmt"
	"io"
	"time"

	"github.com/gauze-mcp/gauze/lab/bench/history"
)

// upResult is the result of a storm against gauze up.
type upResult struct {
	*history.Verdict
	Servers  int      `json:"servers"`
	Web      int      `json:"http_clients"`
	Connects int      `json:"connect_clients"`
	UpKills  int      `json:"up_kills"`
	Reloads  int      `json:"reloads"`
	Ended    []string `json:"sessions_ended"`
	Seconds  float64  `json:"seconds"`
	Problems []string `json:"problems"`
	Pass     bool     `json:"pass"`
}

// result checks what happened.
func (s *upStorm) result(effects []history.Effect, took time.Duration) *upResult {
	events := s.events()
	absent := 0
	for _, e := range events {
		if e.Code == notInFile {
			absent++
		}
	}
	// A call that is in flight at a kill may be unknown: of a server, those of one session; of gauze up, all.
	limits := history.Limits{UnknownPerKill: float64(s.callers), Failed: absent + 1 + s.kills/50}
	if s.upKills > 0 {
		limits.UnknownPerKill = float64(s.callers * s.connects)
	}
	r := &upResult{
		Verdict: history.Check(events, effects, limits), Servers: s.servers, Web: s.web, Connects: s.connects, UpKills: s.upKills, Reloads: s.reloaded,
		Seconds: took.Seconds(), Pass: true,
	}
	for _, c := range s.clients {
		c.mu.Lock()
		r.Ended = append(r.Ended, c.ended...)
		c.mu.Unlock()
	}
	for _, rule := range r.Rules() {
		r.broke("%s: %d", rule, r.Broken[rule])
	}
	if r.Kills < s.kills+s.upKills || r.Reloads < s.reloads {
		r.broke("only %d of %d kills and %d of %d reloads", r.Kills, s.kills+s.upKills, r.Reloads, s.reloads)
	}
	for _, why := range r.Ended {
		r.broke("a session ended: %s", why)
	}
	return r
}

func (r *upResult) broke(format string, args ...any) {
	r.Pass = false
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// printUpStorms prints the storms as columns of a table.
func printUpStorms(w io.Writer, results []*upResult) {
	row, flush := columns(w, results)
	number := func(name string, value func(*upResult) int) {
		row(name, func(r *upResult) string { return fmt.Sprint(value(r)) })
	}
	row("killed", func(r *upResult) string { return map[bool]string{true: "gauze up", false: "servers"}[r.UpKills > 0] })
	number("servers", func(r *upResult) int { return r.Servers })
	number("clients over HTTP", func(r *upResult) int { return r.Web })
	number("clients over gauze connect", func(r *upResult) int { return r.Connects })
	number("calls", func(r *upResult) int { return r.Calls })
	number("answers", func(r *upResult) int { return r.Answers })
	number("ok", func(r *upResult) int { return r.OK })
	for _, code := range faultCodes(results, func(r *upResult) map[string]int { return r.Failed }) {
		number(code, func(r *upResult) int { return r.Failed[code] })
	}
	number("unknown", func(r *upResult) int { return r.Unknown })
	number("kills", func(r *upResult) int { return r.Kills })
	number("reloads", func(r *upResult) int { return r.Reloads })
	number("lost", func(r *upResult) int { return r.Broken[history.Lost] })
	number("answered twice", func(r *upResult) int { return r.Broken[history.Double] })
	number("effects in the ledger", func(r *upResult) int { return r.Effects })
	number("duplicated effects", func(r *upResult) int { return r.Duplicates })
	number("sessions ended", func(r *upResult) int { return len(r.Ended) })
	row("seconds", func(r *upResult) string { return fmt.Sprintf("%.1f", r.Seconds) })
	row("guarantees", func(r *upResult) string { return map[bool]string{true: "kept", false: "BROKEN"}[r.Pass] })
	flush()
	for _, r := range results {
		if r.Pass {
			continue
		}
		fmt.Fprintln(w)
		for _, line := range append(r.Problems, r.Examples...) {
			fmt.Fprintf(w, "  %s\n", line)
		}
	}
}
