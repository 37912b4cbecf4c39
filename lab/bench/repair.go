package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gauze-mcp/gauze/internal/mend/repair"
)

// Limits of what validating and repairing the arguments of a call may cost.
const (
	maxValidP50    = 20.0  // microseconds, typical tool
	maxRepairedP99 = 1_000 // microseconds, any tool
)

// repairRounds is the number of rounds in which calls are measured. The fastest round counts: the
// others also measure other load on the machine.
const repairRounds = 10

// judgedCall is one kind of call of one tool.
type judgedCall struct {
	name string
	args string
	want repair.Verdict
}

// judgedTool is a tool and calls of it.
type judgedTool struct {
	name   string
	schema string
	calls  []judgedCall
}

// repairCell is the cost of one kind of call.
type repairCell struct {
	Tool     string  `json:"tool"`
	Call     string  `json:"call"`
	Verdict  string  `json:"verdict"`
	P50      float64 `json:"p50_us"`
	P99      float64 `json:"p99_us"`
	Allocs   float64 `json:"allocations"`
	Bytes    float64 `json:"bytes"`
	Explains bool    `json:"with_message,omitempty"`
}

// repairSchema is the cost of a tool's schema.
type repairSchema struct {
	Tool    string  `json:"tool"`
	Size    int     `json:"schema_bytes"`
	Compile float64 `json:"compile_us"`
	Memory  float64 `json:"memory_kb"`
}

type repairReport struct {
	Cells   []repairCell   `json:"cells"`
	Schemas []repairSchema `json:"schemas"`
	Targets []target       `json:"targets"`
	Pass    bool           `json:"pass"`
}

// runRepair measures the cost of validating, repairing and explaining arguments.
func runRepair(args []string) error {
	flags := flag.NewFlagSet("repair", flag.ContinueOnError)
	calls := flags.Int("calls", 20_000, "number of calls of each kind")
	profile := flags.String("profile", "", "write a CPU profile to this file")
	only := flags.String("only", "", "measure only calls whose name contains this")
	jsonTo := flags.String("json", "", "write the result as JSON to this file (-: to stdout, after the table)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	stop, err := profiled(*profile)
	if err != nil {
		return err
	}
	rep := repairReport{Pass: true}
	for _, tool := range judgedTools() {
		s := compileCost(tool)
		rep.Schemas = append(rep.Schemas, s)
		for _, call := range tool.calls {
			if !strings.Contains(call.name, *only) {
				continue
			}
			times := *calls
			if call.want == repair.Refused {
				times /= 10 // an explanation takes longer
			}
			cell, err := tool.measure(call, times)
			if err != nil {
				return err
			}
			rep.Cells = append(rep.Cells, cell)
		}
	}
	if err := stop(); err != nil {
		return err
	}
	rep.judge()
	rep.print(os.Stdout)
	if err := writeJSON(*jsonTo, rep); err != nil {
		return err
	}
	if !rep.Pass {
		return errors.New("a target was missed")
	}
	return nil
}

// profiled starts a CPU profile if to is not empty.
func profiled(to string) (stop func() error, err error) {
	if to == "" {
		return func() error { return nil }, nil
	}
	file, err := os.Create(to)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, err
	}
	return func() error {
		pprof.StopCPUProfile()
		return file.Close()
	}, nil
}

// measure makes the same call repeatedly.
func (t judgedTool) measure(call judgedCall, times int) (repairCell, error) {
	schema := repair.Compile([]byte(t.schema)).Ready()
	args, options := []byte(call.args), repair.Options{Tool: t.name, Tier: repair.Told}
	judge := func() repair.Verdict {
		out := schema.Arguments(args, options)
		if out.Verdict == repair.Refused {
			schema.Explain(t.name, out, 1)
		}
		return out.Verdict
	}
	for range times / 20 {
		if got := judge(); got != call.want {
			return repairCell{}, fmt.Errorf("%s, %s: got %s, expected %s", t.name, call.name, got, call.want)
		}
	}
	cell := repairCell{Tool: t.name, Call: call.name, Verdict: call.want.String(), Explains: call.want == repair.Refused,
		P50: math.Inf(1), P99: math.Inf(1)}
	micros := make([]float64, max(1, times/repairRounds))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range repairRounds {
		for i := range micros {
			start := time.Now()
			judge()
			micros[i] = float64(time.Since(start).Nanoseconds()) / 1000
		}
		cell.P50, cell.P99 = min(cell.P50, median(micros)), min(cell.P99, quantile(micros, 0.99))
	}
	runtime.ReadMemStats(&after)
	made := float64(repairRounds * len(micros))
	cell.Allocs, cell.Bytes = float64(after.Mallocs-before.Mallocs)/made, float64(after.TotalAlloc-before.TotalAlloc)/made
	return cell, nil
}

// compileCost compiles many different schemas, because a schema that is already known is not
// compiled again.
func compileCost(t judgedTool) repairSchema {
	const copies = 200
	schemas := make([]*repair.Schema, copies)
	micros := make([]float64, copies)
	before := heap()
	for i := range schemas {
		raw := fmt.Appendf(nil, `{"$comment":"%d",%s`, i, t.schema[1:])
		start := time.Now()
		schemas[i] = repair.Compile(raw).Ready()
		micros[i] = float64(time.Since(start).Nanoseconds()) / 1000
	}
	used := heap() - before
	runtime.KeepAlive(schemas)
	return repairSchema{Tool: t.name, Size: len(t.schema), Compile: median(micros), Memory: float64(used) / copies / 1000}
}

// heap returns the heap size after a garbage collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func (rep *repairReport) judge() {
	for _, c := range rep.Cells {
		name := c.Tool + ", " + c.Call
		switch {
		case c.Verdict == repair.Valid.String() && c.Tool == typicalTool:
			rep.Targets = append(rep.Targets, target{Name: "p50, " + name, Seen: c.P50, Limit: maxValidP50, Unit: "us", Pass: c.P50 <= maxValidP50})
		case c.Verdict == repair.Repaired.String():
			rep.Targets = append(rep.Targets, target{Name: "p99, " + name, Seen: c.P99, Limit: maxRepairedP99, Unit: "us", Pass: c.P99 < maxRepairedP99})
		}
	}
	for _, t := range rep.Targets {
		rep.Pass = rep.Pass && t.Pass
	}
}

func (rep *repairReport) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "tool\tcall\tverdict\tp50 us\tp99 us\tallocations\tbytes\t")
	for _, c := range rep.Cells {
		fmt.Fprintf(t, "%s\t%s\t%s\t%.1f\t%.1f\t%.0f\t%.0f\t\n", c.Tool, c.Call, c.Verdict, c.P50, c.P99, c.Allocs, c.Bytes)
	}
	t.Flush()
	fmt.Fprintln(w)
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "tool\tschema bytes\tcompile us\tmemory kB\t")
	for _, s := range rep.Schemas {
		fmt.Fprintf(t, "%s\t%d\t%.0f\t%.1f\t\n", s.Tool, s.Size, s.Compile, s.Memory)
	}
	t.Flush()
	fmt.Fprintln(w)
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, g := range rep.Targets {
		fmt.Fprintf(t, "%s\t%s\t%.1f %s\tlimit %g %s\n", mark(g.Pass), g.Name, g.Seen, g.Unit, g.Limit, g.Unit)
	}
	t.Flush()
}

const typicalTool = "search_issues"

// judgedTools returns a typical tool and a large one.
func judgedTools() []judgedTool {
	return []judgedTool{
		{typicalTool, typicalSchema, []judgedCall{
			{"valid", `{"repository":"gauze-mcp/gauze","query":"is:open timeout","state":"open","labels":["bug","http"],"limit":25,"include_comments":false}`, repair.Valid},
			{"valid, short", `{"repository":"gauze-mcp/gauze","query":"timeout"}`, repair.Valid},
			{"number as string", `{"repository":"gauze-mcp/gauze","query":"timeout","limit":"25"}`, repair.Repaired},
			{"list as string", `{"repository":"gauze-mcp/gauze","query":"timeout","labels":"[\"bug\",\"http\"]"}`, repair.Repaired},
			{"key spelling", `{"repository":"gauze-mcp/gauze","query":"timeout","includeComments":true}`, repair.Repaired},
			{"wrapped", `{"arguments":{"repository":"gauze-mcp/gauze","query":"timeout","limit":25}}`, repair.Repaired},
			{"Python", `{'repository': 'gauze-mcp/gauze', 'query': 'timeout', 'include_comments': True}`, repair.Repaired},
			{"five mistakes", `{"repository":"gauze-mcp/gauze","query":"timeout","state":"Open","labels":"bug","limit":"25","includeComments":"true","page":null}`, repair.Repaired},
			{"refused", `{"repository":"gauze-mcp/gauze","state":"opened","limit":"many"}`, repair.Refused},
		}},
		{"create_report", largeSchema(), []judgedCall{
			{"valid", largeCall(`3`, `"high"`), repair.Valid},
			{"nested repair", largeCall(`"3"`, `"HIGH"`), repair.Repaired},
			{"refused", largeCall(`"several"`, `"highest"`), repair.Refused},
		}},
	}
}

const typicalSchema = `{"type":"object","additionalProperties":false,"required":["repository","query"],"properties":{
	"repository":{"type":"string","description":"owner and name","pattern":"^[^/ ]+/[^/ ]+$"},
	"query":{"type":"string","description":"what to look for","minLength":1,"maxLength":256},
	"state":{"type":"string","enum":["open","closed","all"],"default":"open"},
	"labels":{"type":"array","items":{"type":"string"},"maxItems":20},
	"limit":{"type":"integer","minimum":1,"maximum":100,"default":30},
	"include_comments":{"type":"boolean","default":false}}}`

const sections = 12

// largeSchema returns a schema with 40 top-level properties and, below, lists of objects that refer
// to each other.
func largeSchema() string {
	var b strings.Builder
	b.WriteString(`{"type":"object","additionalProperties":false,"required":["title","sections"],"$defs":{
		"severity":{"enum":["low","medium","high","critical"]},
		"person":{"type":"object","properties":{"name":{"type":"string"},"email":{"type":"string","format":"email"}},"required":["name"]},
		"section":{"type":"object","additionalProperties":false,"required":["heading","weight"],"properties":{
			"heading":{"type":"string"},"weight":{"type":"integer","minimum":0},"severity":{"$ref":"#/$defs/severity"},
			"author":{"anyOf":[{"$ref":"#/$defs/person"},{"type":"null"}]},"sections":{"type":"array","items":{"$ref":"#/$defs/section"}}}}},
		"properties":{"title":{"type":"string"},"sections":{"type":"array","items":{"$ref":"#/$defs/section"}}`)
	for i := range 38 {
		kind := [...]string{`{"type":"string"}`, `{"type":"integer"}`, `{"type":"boolean"}`, `{"anyOf":[{"type":"number"},{"type":"null"}]}`, `{"type":"array","items":{"type":"string"}}`}[i%5]
		fmt.Fprintf(&b, `,"option_%d":%s`, i, kind)
	}
	b.WriteString(`}}`)
	return b.String()
}

// largeCall returns the arguments of a call with these values in one of its sections.
func largeCall(weight, severity string) string {
	var b strings.Builder
	b.WriteString(`{"title":"a report","option_0":"x","option_1":1,"option_2":true,"option_3":1.5,"option_4":["a","b"],"option_8":null,"option_36":7,"sections":[`)
	for i := range sections {
		w, s := "1", `"low"`
		if i == sections/2 {
			w, s = weight, severity
		}
		fmt.Fprintf(&b, `{"heading":"part %d","weight":1,"author":{"name":"Ada","email":"ada@example.org"},"sections":[{"heading":"inner","weight":%s,"severity":%s}]},`, i, w, s)
	}
	return strings.TrimSuffix(b.String(), ",") + `]}`
}
