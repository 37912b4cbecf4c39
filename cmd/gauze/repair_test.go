package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/mend/repair"
)

// Lines are checked concurrently, and the answers are in the order of the lines.
func TestRepairBatchKeepsTheOrder(t *testing.T) {
	t.Parallel()
	const n = 2000
	var in, out bytes.Buffer
	for i := range n {
		size := 1 // some take longer than their neighbours
		if i%7 == 0 {
			size = 5000
		}
		fmt.Fprintf(&in, `{"id":%d,"called":"f","schema":{"properties":{"n%d":{"type":"integer"}}},"args":{"n%d":"%d","s":"%s"}}`+"\n",
			i, i%50, i%50, i, strings.Repeat("x", size))
	}
	if err := repairBatch(&in, &out, repair.Silent); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != n {
		t.Fatalf("%d lines", len(lines))
	}
	for i, line := range lines {
		if want := fmt.Sprintf(`{"id":%d,"outcome":"repaired","tool":"f","args":{"n%d":%d,`, i, i%50, i); !strings.HasPrefix(line, want) {
			t.Fatalf("line %d: %s", i, line)
		}
	}
}

// A client that waits for each answer before it sends the next call gets it.
func TestRepairBatchAnswersWhileItReads(t *testing.T) {
	t.Parallel()
	in, calls := io.Pipe()
	answers, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- repairBatch(in, out, repair.Silent) }()
	decoder := json.NewDecoder(answers)
	for i := range 3 {
		fmt.Fprintf(calls, `{"id":%d,"schema":{},"args":{}}`+"\n", i)
		var answer repairAnswer
		if err := decoder.Decode(&answer); err != nil || string(answer.ID) != fmt.Sprint(i) {
			t.Fatal(answer, err)
		}
	}
	calls.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestRepairBatchSkipsALineThatIsTooLong(t *testing.T) {
	t.Parallel()
	long := strings.NewReader(strings.Repeat("x", maxBatchLine+2))
	in := io.MultiReader(strings.NewReader(`{"id":1,"schema":{},"args":{}}`+"\n"), long, strings.NewReader("\n"+`{"id":2,"schema":{},"args":{}}`))
	var out bytes.Buffer
	if err := repairBatch(in, &out, repair.Silent); err != exitStatus(1) {
		t.Error(err)
	}
	want := `{"id":1,"outcome":"valid","tool":"","args":{},"changes":[]}
{"id":null,"outcome":"error","message":"line 2: longer than 64 MB"}
{"id":2,"outcome":"valid","tool":"","args":{},"changes":[]}
`
	if out.String() != want {
		t.Errorf("got %.300s", out.String())
	}
}

func TestRepairBatchEndsWhenNobodyReads(t *testing.T) {
	t.Parallel()
	answers, out := io.Pipe()
	answers.Close()
	if err := repairBatch(strings.NewReader(strings.Repeat(`{"id":1,"args":{}}`+"\n", 1000)), out, repair.Silent); err == nil {
		t.Error("no error")
	}
}

func TestRepairDiffShowsWhatIsNearAChange(t *testing.T) {
	before := `{"a":1,"b":2,"c":3,"d":4,"e":5,"f":"6","g":7,"h":null}`
	after := `{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7}`
	want := `  …
    "c": 3,
    "d": 4,
    "e": 5,
-   "f": "6",
+   "f": 6,
    "g": 7
-   "h": null
  }
`
	if got := showDiff(before, []byte(after), false); got != want {
		t.Errorf("got\n%s", got)
	}
	coloured := showDiff(`{"f":"6"}`, []byte(`{"f":6}`), true)
	if !strings.Contains(coloured, "\x1b[31m-   \"f\": \"6\"\x1b[0m\n\x1b[32m+   \"f\": 6\x1b[0m\n") {
		t.Errorf("%q", coloured)
	}
}

func TestRepairDiffOfHugeTextsIsPlain(t *testing.T) {
	list := "[" + strings.Repeat("1,", 3000) + "1]"
	lines := diff(prettyLines(list), prettyLines(list))
	if len(lines) != 2*3003 || lines[0].mark != '-' || lines[3003].mark != '+' {
		t.Errorf("%d lines", len(lines))
	}
}

// Text of a model cannot control the terminal.
func TestRepairShowsForeignTextHarmlessly(t *testing.T) {
	schema := json.RawMessage(`{"properties":{"n":{"type":"integer"},"s":{"type":"string"}}}`)
	sent := "{'n': '1', 's': '\x1b[31m\u202ered'} "
	args, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	shown := repairCall{Called: "f\x1b[2J", Schema: schema, Args: args}.judge(repair.Told).show("other", sent, false)
	if strings.ContainsAny(shown, "\x1b\u202e") {
		t.Errorf("%q", shown)
	}
}
