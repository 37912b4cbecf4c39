package main

import (
	"fmt"
	"testing"
)

func TestOurOwnServerHasToPassWhatApplies(t *testing.T) {
	s := sheet{}
	for n := range minOwnScenarios {
		s.add(check{Scenario: fmt.Sprint("scenario-", n), ID: "a", Status: "SUCCESS"}, check{Scenario: fmt.Sprint("scenario-", n), ID: "log", Status: info})
	}
	s.add(check{Scenario: "tools-call-image", ID: "x", Status: "FAILURE", Message: "no such tool"},
		check{Scenario: "scenario-1", ID: "y", Status: "FAILURE", Message: "Not testable: no such tool"})
	r := report{}
	r.judge(s)
	if r.checks != minOwnScenarios || len(r.differences) != 0 || len(r.problems) != 0 {
		t.Errorf("%+v", r)
	}
	s.add(check{Scenario: "scenario-2", ID: "z", Status: "FAILURE", Message: "wrong"}, check{Scenario: "tools-list", ID: "w", Status: "WARNING"})
	r = report{}
	r.judge(s)
	if len(r.differences) != 2 {
		t.Errorf("%+v", r.differences)
	}
	r = report{}
	r.judge(sheet{})
	if len(r.problems) != 1 {
		t.Errorf("%+v", r)
	}
}
