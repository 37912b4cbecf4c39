package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fixture is a report of our own and the cause it shows.
type fixture struct{ cause, command, evidence string }

// fixtures reads testdata/fixtures*.txt; the first one describes the format.
func fixtures(t testing.TB) (all []fixture) {
	t.Helper()
	files, err := filepath.Glob("testdata/fixtures*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no fixtures", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cause := ""
		for report := range strings.SplitSeq(string(text), "\n\n") {
			if heading, rest, ok := strings.Cut(report, "\n"); ok && strings.HasPrefix(heading, "# ") {
				cause, report = heading[2:], rest
			}
			if cause == "" || strings.TrimSpace(report) == "" {
				continue // the preface
			}
			f := fixture{cause: cause, evidence: report}
			if line, rest, ok := strings.Cut(report, "\n"); ok && strings.HasPrefix(line, "$ ") {
				f.command, f.evidence = line[2:], rest
			}
			all = append(all, f)
		}
	}
	return all
}

func TestEveryCauseIsRecognisedInSeveralWordings(t *testing.T) {
	count := map[string]int{}
	for _, f := range fixtures(t) {
		count[f.cause]++
		d := Diagnose(fromLog(f.command, f.evidence))
		if d.Cause != f.cause {
			t.Errorf("%s: said %s %.2f (%q)\n$ %s\n%s", f.cause, d.Cause, d.Confidence, d.Reasons, f.command, f.evidence)
		}
	}
	for _, c := range causes {
		if count[c.name] < 3 {
			t.Errorf("%s has %d fixtures, want 3", c.name, count[c.name])
		}
		delete(count, c.name)
	}
	for cause := range count {
		t.Errorf("there is no cause %q", cause)
	}
}

// fromLog returns the case of a log that a person reads on Linux.
func fromLog(command, text string) Case {
	c := FromLog(command, text)
	c.OS = "linux"
	return c
}
