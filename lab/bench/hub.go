package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// Limits of issue 34: what many servers behind one entry may cost.
const (
	maxColdList   = 2500 * time.Millisecond
	maxWarmList   = 100 * time.Millisecond
	maxIsolation  = 1.05 // p50 beside bad servers, compared with without them
	maxConnectKB  = 8 << 10
	maxHubRatio   = 1.15 // of a call through gauze serve
	goodServers   = 47
	clientsOfMany = 10
	serversOfMany = 30
)

// hubRun is one run of the benchmark.
type hubRun struct {
	b      *binaries
	gauze  string
	calls  int
	rounds int
	failed bool
	out    *tabwriter.Writer
}

// runHub measures many servers behind one entry: gauze up and gauze connect.
func runHub(args []string) error {
	flags := flag.NewFlagSet("hub", flag.ContinueOnError)
	r := &hubRun{out: tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)}
	flags.IntVar(&r.calls, "calls", 400, "calls of one measurement")
	flags.IntVar(&r.rounds, "rounds", 7, "measurements of each kind, in alternation")
	part := flags.String("part", "", "measure only this: isolation, many or cost")
	flags.StringVar(&r.gauze, "gauze", "", "use this binary instead of building one")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if r.b, err = newBinaries(); err != nil {
		return err
	}
	defer r.b.remove()
	if r.gauze == "" {
		if r.gauze, err = r.b.gauze(""); err != nil {
			return err
		}
	}
	many := func() error {
		return errors.Join(r.many("session", 3*clientsOfMany), r.many("principal", 3), r.direct())
	}
	for _, one := range []struct {
		name    string
		measure func() error
	}{{"isolation", r.isolation}, {"many", many}, {"cost", r.cost}} {
		if *part == "" || *part == one.name {
			err = errors.Join(err, one.measure())
		}
	}
	if err != nil {
		return err
	}
	r.out.Flush()
	if r.failed {
		return errors.New("a limit was exceeded")
	}
	return nil
}

// row prints one result; ok says whether it is within its limit.
func (r *hubRun) row(what string, value, limit any, ok bool) {
	verdict := "ok"
	if !ok {
		verdict, r.failed = "EXCEEDED", true
	}
	fmt.Fprintf(r.out, "%s\t%v\tlimit %v\t%s\n", what, value, limit, verdict)
}

// note prints a result without a limit.
func (r *hubRun) note(what string, value any) { fmt.Fprintf(r.out, "%s\t%v\t\t\n", what, value) }

// write writes a file of gauze up with this many good servers and further lines.
func (r *hubRun) write(name string, good int, more ...string) (string, error) {
	var b strings.Builder
	b.WriteString("servers:\n")
	for i := range good {
		fmt.Fprintf(&b, "  s%02d: {command: [%q, %s]}\n", i, r.b.self, roleMinimal)
	}
	for _, line := range more {
		b.WriteString("  " + line + "\n")
	}
	path := filepath.Join(r.b.dir, name)
	return path, os.WriteFile(path, []byte(b.String()), 0o600)
}

// entry is a client of gauze connect.
func (r *hubRun) entry(state, file string) (*lineClient, error) {
	return dialTo(io.Discard, []string{r.gauze, "connect", "--file", file}, "GAUZE_STATE_DIR="+filepath.Join(r.b.dir, state), "GAUZE_JOURNAL=off")
}

// ask sends one request and returns its response and the time until then.
func (c *lineClient) ask(method, params string) (string, time.Duration, error) {
	c.nextID++
	sent := time.Now()
	if _, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.nextID, method, params); err != nil {
		return "", 0, err
	}
	line, err := c.answer()
	return string(line), time.Since(sent), err
}

// callAll calls echo of the good servers in turn and returns the median of the latencies.
func (c *lineClient) callAll(servers, calls int) (time.Duration, error) {
	var took []time.Duration
	for i := range calls {
		answer, d, err := c.ask("tools/call", fmt.Sprintf(`{"name":"s%02d__echo","arguments":{"text":"hello"}}`, i%servers))
		if err != nil || !strings.Contains(answer, "hello") {
			return 0, fmt.Errorf("call %d: %.200s %w", i, answer, err)
		}
		took = append(took, d)
	}
	return median(took), nil
}

// isolation measures what one dead, one frozen and one slow server do to the others.
func (r *hubRun) isolation() error {
	good, err := r.write("good.yaml", goodServers)
	if err != nil {
		return err
	}
	bad, err := r.write("bad.yaml", goodServers, r.soon("dead", "-exit-at-start"), r.soon("frozen", "-ignore-initialize"), r.soon("slow", "-slow-start=after=60s"))
	if err != nil {
		return err
	}
	if err := r.whileWell(bad); err != nil {
		return err
	}
	alone, err := r.entry("state-good", good)
	if err != nil {
		return err
	}
	defer alone.close()
	beside, err := r.entry("state-bad", bad)
	if err != nil {
		return err
	}
	list, cold, err := beside.ask("tools/list", "{}")
	if err != nil {
		beside.close()
		return err
	}
	r.row(fmt.Sprintf("first tools/list without a cache, %d of %d servers", strings.Count(list, `__echo"`), goodServers+3), cold.Round(time.Millisecond), maxColdList, cold <= maxColdList)
	if _, err := alone.callAll(goodServers, goodServers); err != nil { // starts them
		return err
	}
	if _, err := beside.callAll(goodServers, goodServers); err != nil {
		return err
	}
	var ratios []float64
	for range r.rounds {
		with, err := beside.callAll(goodServers, r.calls)
		if err != nil {
			return err
		}
		without, err := alone.callAll(goodServers, r.calls)
		if err != nil {
			return err
		}
		ratios = append(ratios, float64(with)/float64(without))
	}
	ratio := median(ratios)
	r.row("p50 of calls beside the three bad servers, to without them", fmt.Sprintf("%.3f (%.3f to %.3f)", ratio, quantile(ratios, 0), quantile(ratios, 1)), maxIsolation, ratio <= maxIsolation)
	beside.close()
	again, err := r.entry("state-warm", bad)
	if err != nil {
		return err
	}
	defer again.close()
	list, warm, err := again.ask("tools/list", "{}")
	r.row(fmt.Sprintf("first tools/list with a cache, %d of %d servers", strings.Count(list, `__echo"`), goodServers+3), warm.Round(time.Millisecond), maxWarmList, warm <= maxWarmList)
	return err
}

// soon returns a server that works until the file bad exists, and from then on has a fault.
func (r *hubRun) soon(key, fault string) string {
	script := fmt.Sprintf("if [ -e %[1]s/bad ]; then exec %[2]s %[3]s %[4]s; else exec %[2]s %[5]s; fi", r.b.dir, r.b.self, roleFaulty, fault, roleMinimal)
	return fmt.Sprintf("%s: {command: [sh, -c, %q]}", key, script)
}

// whileWell lets gauze see all servers once, and then breaks three of them.
func (r *hubRun) whileWell(file string) error {
	c, err := r.entry("state-warm", file)
	if err != nil {
		return err
	}
	defer c.close()
	if _, _, err := c.ask("tools/list", "{}"); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.b.dir, "bad"), nil, 0o600)
}

// many measures ten clients of thirty servers, each of which uses three of them, with one way to share processes.
func (r *hubRun) many(share string, limit int) error {
	var servers []string
	for i := range serversOfMany {
		servers = append(servers, fmt.Sprintf("s%02d: {command: [%q, %s], share: %s, env: {BENCH_SHARE: %[4]s}}", i, r.b.self, roleMinimal, share))
	}
	file, err := r.write("many-"+share+".yaml", 0, servers...)
	if err != nil {
		return err
	}
	if err := r.remember("state-"+share, file); err != nil {
		return err
	}
	began := time.Now()
	clients := make([]*lineClient, clientsOfMany)
	failed := make([]error, clientsOfMany)
	var starting sync.WaitGroup
	for i := range clients {
		starting.Go(func() {
			if clients[i], failed[i] = r.entry("state-"+share, file); failed[i] == nil {
				_, _, failed[i] = clients[i].ask("tools/list", "{}")
			}
		})
	}
	starting.Wait()
	ready := time.Since(began)
	defer func() {
		for _, c := range clients {
			if c != nil {
				c.close()
			}
		}
	}()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	before, _ := r.processes(share)
	for _, c := range clients {
		if _, err := c.callAll(3, 3); err != nil {
			return err
		}
	}
	running, pss := r.processes(share)
	r.note(fmt.Sprintf("share: %s, %d clients of %d servers: until all have their tools", share, clientsOfMany, serversOfMany), ready.Round(time.Millisecond))
	r.row("server processes before a call", before, 0, before == 0)
	r.row("server processes after each client has used three", running, limit, running <= limit)
	worst := 0
	for _, c := range clients {
		m, err := memoryOf(c.cmd.Process.Pid)
		if err != nil {
			return err
		}
		worst, pss = max(worst, m.Anonymous), pss+m.PSS
	}
	r.row("private memory of gauze connect, the largest, kB", worst, maxConnectKB, worst <= maxConnectKB)
	r.note("memory of all processes together (PSS), kB", pss+r.memoryOfUp("state-"+share))
	return nil
}

// remember lets gauze learn the tools of all servers once.
func (r *hubRun) remember(state, file string) error {
	c, err := r.entry(state, file)
	if err != nil {
		return err
	}
	defer c.close()
	_, _, err = c.ask("tools/list", "{}")
	return err
}

// direct measures the same clients without gauze.
func (r *hubRun) direct() error {
	began := time.Now()
	var all []*lineClient
	defer func() {
		for _, c := range all {
			c.close()
		}
	}()
	for range clientsOfMany * serversOfMany {
		c, err := dialTo(io.Discard, []string{r.b.self, roleMinimal})
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	pss := 0
	for _, c := range all {
		if m, err := memoryOf(c.cmd.Process.Pid); err == nil {
			pss += m.PSS
		}
	}
	r.note("the same without gauze: server processes", len(all))
	r.note("the same without gauze: until all are ready", time.Since(began).Round(time.Millisecond))
	r.note("the same without gauze: memory of all (PSS), kB", pss)
	return nil
}

// processes returns how many servers run that are shared in this way, and their memory.
func (r *hubRun) processes(share string) (n, pss int) {
	r.eachProcess(roleMinimal, "BENCH_SHARE="+share, func(pid int) {
		n++
		if m, err := memoryOf(pid); err == nil {
			pss += m.PSS
		}
	})
	return n, pss
}

// memoryOfUp returns the memory of the gauze up that gauze connect has started.
func (r *hubRun) memoryOfUp(state string) (pss int) {
	r.eachProcess("--on-demand", "GAUZE_STATE_DIR="+filepath.Join(r.b.dir, state), func(pid int) {
		if m, err := memoryOf(pid); err == nil {
			pss += m.PSS
		}
	})
	return pss
}

// eachProcess calls do for each process with this argument and this variable.
func (r *hubRun) eachProcess(argument, variable string, do func(pid int)) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range lines {
		line, _ := os.ReadFile(file)
		env, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "environ"))
		var pid int
		fmt.Sscanf(filepath.Base(filepath.Dir(file)), "%d", &pid)
		if bytes.Contains(line, []byte("\x00"+argument+"\x00")) && bytes.Contains(env, []byte(variable+"\x00")) {
			do(pid)
		}
	}
}
