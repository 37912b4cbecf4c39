package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// check is one result of the suite.
type check struct {
	Scenario string `json:"-"`
	ID       string `json:"id"`
	Name     string `json:"name"`
	Status   string `json:"status"`
	Message  string `json:"errorMessage"`
}

// key identifies a check across runs. The suite uses one id for several checks with different
// names; checks with the same name are compared as a group.
type key struct{ scenario, id, name string }

// sheet is the result of one run.
type sheet map[key][]check

func (s sheet) add(checks ...check) {
	for _, c := range checks {
		k := key{c.Scenario, c.ID, c.Name}
		s[k] = append(s[k], c)
	}
}

// info is the status of log lines, which are not verdicts.
const info = "INFO"

// verdicts counts the checks that are not log lines.
func (s sheet) verdicts() int {
	n := 0
	for _, group := range s {
		for _, c := range group {
			if c.Status != info {
				n++
			}
		}
	}
	return n
}

// scenarioFolder matches the directory of a scenario: its name, with a prefix for servers, and a
// time stamp.
var scenarioFolder = regexp.MustCompile(`^(?:server-)?(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)

func readResults(dir string) (sheet, error) {
	s := sheet{}
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "checks.json" {
			return err
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var checks []check
		if err := json.Unmarshal(b, &checks); err != nil {
			return err
		}
		folder, err := filepath.Rel(dir, filepath.Dir(file))
		if err != nil {
			return err
		}
		scenario := filepath.ToSlash(folder)
		if m := scenarioFolder.FindStringSubmatch(scenario); m != nil {
			scenario = m[1]
		}
		for i := range checks {
			checks[i].Scenario = scenario
		}
		s.add(checks...)
		if output, err := os.ReadFile(filepath.Join(filepath.Dir(file), "stdout.txt")); err == nil && bytes.Contains(output, []byte(called)) {
			s.add(check{Scenario: scenario, ID: callID, Status: "SUCCESS"})
		}
		return nil
	})
	return s, err
}

// summary reads the list at the end of the output, which also has clients that failed or hung
// although every check of the scenario passed.
type summary struct {
	reached    bool
	outcomes   []check
	complaints []string // of runClientThrough
}

var outcomeLine = regexp.MustCompile(`^([✓✗~]) (\S+): \d+ passed`)

func (s *summary) line(line string) {
	if strings.Contains(line, "conformance: ") {
		s.complaints = append(s.complaints, strings.TrimSpace(line))
	}
	s.reached = s.reached || strings.Contains(line, "SUMMARY ===")
	m := outcomeLine.FindStringSubmatch(line)
	if !s.reached || m == nil {
		return
	}
	status := "FAILURE"
	if m[1] == "✓" {
		status = "SUCCESS"
	}
	s.outcomes = append(s.outcomes, check{Scenario: m[2], ID: "client-outcome", Status: status})
}
