package trust

import (
	"os"
	"strings"
	"testing"
)

// Only what the user wrote, what follows from it and what is installed here is
// applied without asking; nothing is written without asking. Only a model's answer fills in an argument.
func TestTable(t *testing.T) {
	for from := Entry; from <= Agent; from++ {
		for use := Start; use <= Read; use++ {
			want := Asks
			switch {
			case use == Read:
				if want = Never; from == Agent {
					want = Allowed
				}
			case use == Show:
				want = Allowed
			case from == Output:
				want = Never
			case use == Write:
			case from <= Machine:
				want = Allowed
			}
			if got := Of(from, use); got != want {
				t.Errorf("Of(%v, %v) = %v, want %v", from, use, got, want)
			}
		}
	}
}

func TestUnknownSourceOrUseIsNever(t *testing.T) {
	for _, got := range []Verdict{Of(-1, Start), Of(Agent+1, Show), Of(Entry, -1), Of(Entry, Read+1)} {
		if got != Never {
			t.Errorf("got %v, want never", got)
		}
	}
}

// docs/security.md shows readers the same table, cell by cell.
func TestSecurityPageHasTheSameTable(t *testing.T) {
	page, err := os.ReadFile("../../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := tableUnder(string(page), "| Source |")
	if len(rows) != int(Agent)+3 { // the header and the line under it
		t.Fatalf("%d rows of sources, want %d", len(rows)-2, Agent+1)
	}
	const firstUse = 2 // after the source and its description
	for from := Entry; from <= Agent; from++ {
		row := rows[int(from)+2]
		if len(row) != firstUse+int(Read)+1 || row[0] != from.String() || row[1] == "" {
			t.Errorf("row %d is %q, want the source %v and %d uses", from+1, row, from, Read+1)
			continue
		}
		for use := Start; use <= Read; use++ {
			column := firstUse + int(use)
			if name := rows[0][column]; name != use.String() {
				t.Fatalf("column %d is %q, want %v", column+1, name, use)
			}
			if got, want := row[column], Of(from, use).String(); got != want {
				t.Errorf("%v, %v: the page says %q, the table %q", from, use, got, want)
			}
		}
	}
}

// tableUnder returns the cells of the Markdown table whose first line begins so.
func tableUnder(page, begin string) (rows [][]string) {
	at := strings.Index(page, begin)
	if at < 0 {
		return nil
	}
	for line := range strings.Lines(page[at:]) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			break
		}
		var cells []string
		for _, cell := range strings.Split(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		rows = append(rows, cells)
	}
	return rows
}
