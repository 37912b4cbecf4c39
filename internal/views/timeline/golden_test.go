package timeline_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/views/timeline"
)

var update = flag.Bool("update", false, "write the golden files")

// recorded reads events as gauze history --json prints them.
func recorded(t *testing.T, path string) (records []journal.Record) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r journal.Record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	return records
}

// shown returns an item as the golden files have it.
func shown(it timeline.Item) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s", it.ID, it.Kind, it.Server)
	for _, word := range []string{it.Client, it.Call} {
		if word != "" {
			fmt.Fprintf(&b, ", %s", word)
		}
	}
	if it.Healed {
		b.WriteString(", healed")
	}
	fmt.Fprintf(&b, "\n  %s\n", it.Sentence())
	if it.Took > 0 {
		fmt.Fprintf(&b, "  took %s", timeline.Duration(it.Took))
		if it.Without > 0 {
			fmt.Fprintf(&b, ", without gauze it would have failed after %s", timeline.Duration(it.Without))
		}
		b.WriteByte('\n')
	}
	for _, c := range it.Changes {
		fmt.Fprintf(&b, "  changed %s: %s (%s)\n", c.Path, c.Rule, c.Reason)
	}
	if it.Cause != nil {
		fmt.Fprintf(&b, "  cause %s\n", it.Cause.Code)
	}
	if it.Told != "" {
		fmt.Fprintf(&b, "  told %.60q\n", it.Told)
	}
	return b.String()
}

// The sequences were recorded by gauze run with a server that fails in different ways.
func TestRecordedSequencesAsItems(t *testing.T) {
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded sequences", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			records := recorded(t, file)
			var b strings.Builder
			for _, it := range timeline.Items(records) {
				b.WriteString(shown(it))
			}
			fmt.Fprintln(&b, timeline.Sum(records).Worth("This week"))
			b.WriteString("\nEverything:\n")
			events := 0
			for _, it := range timeline.All(records) {
				events += len(it.Events)
				fmt.Fprintf(&b, "  %s\n", it.Sentence())
			}
			if events != len(records) {
				t.Errorf("All has %d of %d events", events, len(records))
			}
			golden := strings.TrimSuffix(file, ".jsonl") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || strings.ReplaceAll(string(want), "\r\n", "\n") != b.String() {
				t.Errorf("differs from %s (go test -update), %v:\n%s", golden, err, b.String())
			}
		})
	}
}
