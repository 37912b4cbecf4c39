//go:build !race

package doctor

import (
	"os"
	"strings"
	"testing"
)

// There are many wordings, and only their category matters.
func TestWordings(t *testing.T) {
	text, err := os.ReadFile("testdata/wordings.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), "|", 3)
		if len(part) < 3 {
			continue // the preface
		}
		evidence := part[2]
		if !strings.Contains(evidence, `:\`) { // a path of Windows
			evidence = strings.ReplaceAll(evidence, `\n`, "\n")
		}
		if d := Diagnose(fromLog(part[1], evidence)); string(d.Category) != part[0] {
			t.Errorf("%s: said %s/%s\n$ %s\n%s", part[0], d.Category, d.Cause, part[1], evidence)
		}
	}
}
