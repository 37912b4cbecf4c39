package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"text/tabwriter"
	"time"
)

// The routes of the benchmark with a silent model, besides wrap.
const (
	again  route = "again"  // gauze without a model once more: what the measurement itself varies by
	silent route = "silent" // gauze with a model that never answers
)

// Limits of what a silent model may cost.
const (
	maxSilentP50 = 1.1  // compared with gauze without a model
	maxSilentP99 = 1.25 // likewise
	modelBudget  = 2 * time.Second
	// budgetSlack is for a busy machine: the failing call itself has to be answered.
	budgetSlack = time.Second
)

// blackHole accepts connections and never answers.
type blackHole struct {
	listener net.Listener
	accepted atomic.Int64
}

func newBlackHole() (*blackHole, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	h := &blackHole{listener: listener}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			h.accepted.Add(1)
			go io.Copy(io.Discard, conn)
		}
	}()
	return h, nil
}

// environment configures the black hole as the model of gauze.
func (h *blackHole) environment() []string {
	return []string{"GAUZE_MODEL=openai:silent", "GAUZE_MODEL_URL=http://" + h.listener.Addr().String() + "/v1",
		"GAUZE_MODEL_KEY=none", "GAUZE_MODEL_TIMEOUT=" + modelBudget.String()}
}

// silentRow compares the latency of healthy calls on one route with that on wrap, in microseconds.
type silentRow struct {
	Situation string  `json:"situation"`
	Route     route   `json:"route"`
	P50       float64 `json:"p50_us"`
	P99       float64 `json:"p99_us"`
	P50Ratio  float64 `json:"p50_ratio"` // median of the rounds
	P99Ratio  float64 `json:"p99_ratio"`
}

type silentReport struct {
	Rows      []silentRow `json:"rows"`
	Questions int64       `json:"questions"`
	Targets   []target    `json:"targets"`
	Pass      bool        `json:"pass"`
}

// runSilentModel measures healthy calls while the configured model never answers, and how long
// failing calls wait for it.
func runSilentModel(o overhead, gauze, jsonTo string) error {
	b, err := newBinaries()
	if err != nil {
		return err
	}
	defer b.remove()
	hole, err := newBlackHole()
	if err != nil {
		return err
	}
	defer hole.listener.Close()
	o.routes, o.env = []route{wrap, again, silent}, map[route][]string{silent: hole.environment()}
	if err := o.prepare(b, gauze); err != nil {
		return err
	}
	report := &silentReport{}
	for _, c := range []cell{{"go-sdk", 1, 100}, {"go-sdk", 32, 100}, {"minimal", 1, 100}} {
		rounds, err := o.measureCell(c)
		if err != nil {
			return err
		}
		report.compare(fmt.Sprintf("%s, %d x %s", c.Server, c.Callers, size(c.Payload)), rounds)
	}
	if n := hole.accepted.Load(); n > 0 {
		return fmt.Errorf("the model was asked %d times about calls that succeed", n)
	}
	rounds, waits, err := o.measureFailing()
	if err != nil {
		return err
	}
	report.compare("while a failing call waits", rounds)
	if report.Questions = hole.accepted.Load(); report.Questions == 0 {
		return errors.New("the model was never asked about a failing call, so nothing was measured")
	}
	report.judge(waits)
	report.print(os.Stdout)
	if err := writeJSON(jsonTo, report); err != nil {
		return err
	}
	if !report.Pass {
		return errors.New("a target was missed")
	}
	return nil
}

// compare adds the rows of one situation.
func (rep *silentReport) compare(situation string, rounds []round) {
	rep.Rows = append(rep.Rows, compareRoutes(situation, rounds, wrap, again, silent)...)
}

// compareRoutes compares routes with wrap.
func compareRoutes(situation string, rounds []round, routes ...route) (rows []silentRow) {
	for _, r := range routes {
		var all, p50, p99 []float64
		for _, one := range rounds {
			all = append(all, one[r].latencies...)
			p50 = append(p50, one[r].p50/one[wrap].p50)
			p99 = append(p99, quantile(one[r].latencies, 0.99)/quantile(one[wrap].latencies, 0.99))
		}
		rows = append(rows, silentRow{situation, r, quantile(all, 0.5), quantile(all, 0.99), median(p50), median(p99)})
	}
	return rows
}

// failingLine is a call that the server rejects and that no rule repairs. No two are the same, so
// that a model is asked about each.
func failingLine(n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"failing","method":"tools/call","params":{"name":"echo","arguments":{"text":["a","%d"]}}}`+"\n", n)
}

// measureFailing times healthy calls while a failing call of the same session waits for the model,
// and how long the failing calls wait, in seconds.
func (o *overhead) measureFailing() (rounds []round, waits []float64, err error) {
	const numRounds, calls = 8, 200
	clients := map[route]*lineClient{}
	for _, r := range o.routes {
		c, err := dialTo(io.Discard, o.command("go-sdk", r), o.env[r]...) // it reports every failing call
		if err != nil {
			return nil, nil, err
		}
		defer c.close()
		if _, err := c.exchange(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}` + "\n"); err != nil {
			return nil, nil, err
		}
		if _, _, err := c.burst(1, calls, []byte("x")); err != nil {
			return nil, nil, err
		}
		clients[r] = c
	}
	for n := range numRounds {
		one := round{}
		for _, r := range rotated(o.routes, n) {
			latencies, elapsed, wait, err := clients[r].besideFailing(calls)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", r, err)
			}
			one[r] = newBurst(latencies, elapsed)
			if r == silent {
				waits = append(waits, wait.Seconds())
			}
		}
		rounds = append(rounds, one)
	}
	return rounds, waits, nil
}

func (c *lineClient) exchange(line string) ([]byte, error) {
	if _, err := io.WriteString(c.in, line); err != nil {
		return nil, err
	}
	return c.answer()
}

// besideFailing makes a failing call and healthy ones while it waits, and returns when all are
// answered.
func (c *lineClient) besideFailing(calls int) (latencies []time.Duration, elapsed, wait time.Duration, err error) {
	stuck := time.AfterFunc(30*time.Second, func() { c.cmd.Process.Kill() })
	defer stuck.Stop()
	begin := time.Now()
	if _, err := io.WriteString(c.in, failingLine(c.nextID)); err != nil {
		return nil, 0, 0, err
	}
	// next returns the next response to a healthy call, or to the failing one if none is due.
	next := func(due bool) error {
		for {
			line, err := c.answer()
			if err != nil {
				return err
			}
			if failing := bytes.Equal(rawID(line), []byte(`"failing"`)); failing {
				wait = time.Since(begin)
			} else if due {
				return isEcho(line, []byte("x"))
			}
			if !due {
				return nil
			}
		}
	}
	var line []byte
	for range calls {
		line = appendEcho(line[:0], c.nextID, []byte("x"))
		c.nextID++
		sent := time.Now()
		if _, err := c.in.Write(line); err != nil {
			return nil, 0, 0, err
		}
		if err := next(true); err != nil {
			return nil, 0, 0, err
		}
		latencies = append(latencies, time.Since(sent))
	}
	elapsed = time.Since(begin)
	if wait == 0 {
		err = next(false)
	}
	return latencies, elapsed, wait, err
}

// judge compares the measurements with the targets. The variation of the measurement itself is
// allowed in addition.
func (rep *silentReport) judge(waits []float64) {
	for i, row := range rep.Rows {
		if row.Route != silent {
			continue
		}
		noise := rep.Rows[i-1]
		p50, p99 := maxSilentP50*max(1, noise.P50Ratio), maxSilentP99*max(1, noise.P99Ratio)
		rep.Targets = append(rep.Targets,
			target{Name: "p50 / without a model, " + row.Situation, Seen: row.P50Ratio, Limit: p50, Unit: "x", Pass: row.P50Ratio <= p50},
			target{Name: "p99 / without a model, " + row.Situation, Seen: row.P99Ratio, Limit: p99, Unit: "x", Pass: row.P99Ratio <= p99})
	}
	longest, limit := quantile(waits, 1), (modelBudget + budgetSlack).Seconds()
	rep.Targets = append(rep.Targets, target{Name: fmt.Sprintf("longest wait of a failing call, budget %v", modelBudget), Seen: longest, Limit: limit, Unit: "s", Pass: longest <= limit})
	rep.Pass = true
	for _, t := range rep.Targets {
		rep.Pass = rep.Pass && t.Pass
	}
}

func (rep *silentReport) print(w io.Writer) {
	printRows(w, rep.Rows)
	fmt.Fprintf(w, "\nquestions to the silent model: %d, all about failing calls\n\n", rep.Questions)
	printTargets(w, rep.Targets)
}

func printRows(w io.Writer, rows []silentRow) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "healthy calls\troute\tp50 us\tp99 us\tp50 ratio\tp99 ratio\t")
	for _, row := range rows {
		fmt.Fprintf(t, "%s\t%s\t%.1f\t%.1f\t%.3f\t%.2f\t\n", row.Situation, row.Route, row.P50, row.P99, row.P50Ratio, row.P99Ratio)
	}
	t.Flush()
}
