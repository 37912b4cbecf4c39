package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// sheetOf reads "scenario/id/name STATUS" lines.
func sheetOf(lines ...string) sheet {
	s := sheet{}
	for _, line := range lines {
		what, status, _ := strings.Cut(line, " ")
		part := strings.Split(what, "/")
		s.add(check{Scenario: part[0], ID: part[1], Name: part[2], Status: status, Message: "status " + status})
	}
	return s
}

func TestOnlyAVerdictIsADifference(t *testing.T) {
	for _, c := range []struct {
		name            string
		direct, through []string
		want            string
	}{
		{"the same", []string{"a/b/c SUCCESS"}, []string{"a/b/c SUCCESS"}, ""},
		{"worse", []string{"a/b/c SUCCESS"}, []string{"a/b/c FAILURE"}, "SUCCESS -> FAILURE"},
		{"better is not the same", []string{"a/b/c WARNING"}, []string{"a/b/c SUCCESS"}, "WARNING -> SUCCESS"},
		{"skipped", []string{"a/b/c SUCCESS"}, []string{"a/b/c SKIPPED"}, "SUCCESS -> SKIPPED"},
		{"gone", []string{"a/b/c SUCCESS"}, nil, "SUCCESS -> absent"},
		{"new", nil, []string{"a/b/c FAILURE"}, "absent -> FAILURE"},
		{"one of a group", []string{"a/b/c SUCCESS", "a/b/c SUCCESS"}, []string{"a/b/c SUCCESS", "a/b/c WARNING"}, "2 x SUCCESS -> SUCCESS, WARNING"},
		{"the order of a group", []string{"a/b/c SUCCESS", "a/b/c WARNING"}, []string{"a/b/c WARNING", "a/b/c SUCCESS"}, ""},
		{"the log", []string{"a/b/c INFO"}, []string{"a/b/c INFO", "a/b/c INFO", "a/x/y INFO"}, ""},
		{"a verdict instead of a log line", []string{"a/b/c INFO"}, []string{"a/b/c WARNING"}, "INFO -> WARNING"},
		{"a log line instead of a verdict", []string{"a/b/c SUCCESS"}, []string{"a/b/c INFO"}, "SUCCESS -> INFO"},
	} {
		r := report{through: []sheet{sheetOf(c.through...)}}
		r.compare([]sheet{sheetOf(c.direct...), sheetOf(c.direct...)})
		got := ""
		for _, d := range r.differences {
			got += d.direct + " -> " + d.through
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAnUnstableCheckIsListedNotHidden(t *testing.T) {
	r := report{leg: allLegs[0], through: []sheet{sheetOf("a/b/c FAILURE"), sheetOf("a/b/c WARNING")}}
	r.compare([]sheet{sheetOf("a/b/c SUCCESS"), sheetOf("a/b/c FAILURE"), sheetOf("a/b/c SUCCESS")})
	if len(r.unstable) != 1 || len(r.differences) != 1 || r.differences[0].through != "WARNING" {
		t.Fatalf("%+v", r)
	}
	var out bytes.Buffer
	if status := show(&out, []report{r}, false); status != 1 {
		t.Errorf("exit status %d", status)
	}
	for _, want := range []string{"unstable without gauze", "FAILURE (1), or SUCCESS (2)", "FAILURE (1), or WARNING (1)", "in 1 of 2 runs", "status WARNING"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func TestLoginsMustPass(t *testing.T) {
	scenario := func(name string, checks ...check) sheet {
		s := sheet{}
		for _, c := range checks {
			c.Scenario = name
			s.add(c)
		}
		return s
	}
	token := func(status string) check { return check{ID: "token", Status: status} }
	call := check{ID: callID, Status: "SUCCESS"}
	for _, c := range []struct {
		name    string
		through sheet
		want    string
	}{
		{"passed", scenario("auth/basic", token("SUCCESS"), token(info), call), ""},
		{"a check failed", scenario("auth/basic", token("FAILURE"), call), "token: FAILURE"},
		{"a warning", scenario("auth/basic", token("WARNING"), call), "token: WARNING"},
		{"no call", scenario("auth/basic", token("SUCCESS")), "call: absent"},
		{"refused", scenario("auth/resource-mismatch", token("SUCCESS")), ""},
		{"not refused", scenario("auth/resource-mismatch", token("SUCCESS"), call), "call: SUCCESS"},
		{"does not apply", scenario("auth/dpop", token("FAILURE")), ""},
	} {
		r := report{leg: allLegs[2], through: []sheet{c.through}}
		r.compare([]sheet{scenario("auth/basic", token("FAILURE"), token("FAILURE"))})
		got := ""
		for _, d := range r.differences {
			got += d.id + ": " + d.through
		}
		var out bytes.Buffer
		if status := show(&out, []report{r}, true); got != c.want || (status != 0) != (c.want != "") || !strings.Contains(out.String(), "auth/dpop requires") {
			t.Errorf("%s: %q, want %q, exit status %d\n%s", c.name, got, c.want, status, &out)
		}
	}
}

func TestAProblemIsNoPass(t *testing.T) {
	r := report{leg: allLegs[0]}
	r.problem("gauze serve: still there")
	var out bytes.Buffer
	if status := show(&out, []report{r}, false); status != 2 || !strings.Contains(out.String(), "still there") {
		t.Errorf("exit status %d\n%s", status, &out)
	}
}

func TestLegsAreChosenByWord(t *testing.T) {
	for word, want := range map[string]int{"": 12, "stdio": 2, "up-all": 2, "2025-11-25": 6, "2026-07-28-client": 1, "std": 0, "stdio,2025-11-25": 7, "stdio,stdio": 2, "stdio,std": 0, "stdio,": 0} {
		if got := chooseLegs(word); len(got) != want {
			t.Errorf("%q chooses %v", word, got)
		}
	}
}

func TestTheClosingListIsRead(t *testing.T) {
	var s summary
	for line := range strings.Lines("✓ early: 1 passed, 0 failed\n=== SUITE SUMMARY ===\n\n✓ tools_call: 2 passed, 0 failed\n✗ auth/dpop: 0 passed, 3 failed\n  ✗ auth/dpop (extension)\n") {
		s.line(strings.TrimSpace(line[:len(line)-1]))
	}
	want := []check{{Scenario: "tools_call", ID: "client-outcome", Status: "SUCCESS"}, {Scenario: "auth/dpop", ID: "client-outcome", Status: "FAILURE"}}
	if !slices.Equal(s.outcomes, want) {
		t.Errorf("%+v", s.outcomes)
	}
}
