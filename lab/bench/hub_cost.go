package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"time"
)

const (
	// callsInTurn is how many calls go one way before as many go the next. They are few, so that what else the machine does
	// meets all alike.
	callsInTurn = 20
	// costRounds is how many times as many rounds as of the other measurements there are: the difference is small.
	costRounds = 2
)

// cost compares a call through /mcp of gauze up with the same call through gauze serve, and through /mcp/SERVER of the same
// process: in one session each, in turns.
func (r *hubRun) cost() error {
	file, err := r.write("cost.yaml", 3)
	if err != nil {
		return err
	}
	up, err := startHTTP(exec.Command(r.gauze, "up", "--no-token", "--listen", "127.0.0.1:0", "--quiet", "--no-dashboard", file))
	if err != nil {
		return err
	}
	defer up.stop()
	serve, err := startHTTP(exec.Command(r.gauze, "serve", "--no-token", "--listen", "127.0.0.1:0", "--quiet", "--no-dashboard", "--", r.b.self, roleMinimal))
	if err != nil {
		return err
	}
	defer serve.stop()
	var all [3]*postClient
	for i, to := range []struct {
		p          *httpProcess
		path, tool string
	}{{up, "", "s01__echo"}, {serve, "", "echo"}, {up, "/s01", "echo"}} {
		if all[i], err = dialPosts(to.p, to.path, to.tool); err != nil {
			return err
		}
	}
	for turn := range costRounds * r.rounds * r.calls / callsInTurn {
		for i := range all {
			if err := all[(turn+i)%len(all)].turn(); err != nil {
				return err
			}
		}
	}
	r.compare(all[0], all[1], "gauze serve")
	r.compare(all[0], all[2], "/mcp/SERVER")
	return nil
}

// compare prints the ratios of the medians, and of the quarter that the rest of the machine disturbed least.
func (r *hubRun) compare(many, one *postClient, name string) {
	for _, what := range []struct {
		name string
		a, b []time.Duration
	}{{"p50", many.took, one.took}, {"CPU", many.cpu, one.cpu}} {
		ratio := func(q float64) float64 { return float64(quantile(what.a, q)) / float64(quantile(what.b, q)) }
		r.row(what.name+" of a call through /mcp, to "+name, fmt.Sprintf("%.3f (%v to %v; the lower quartiles: %.3f)", ratio(0.5),
			median(what.a).Round(100*time.Nanosecond), median(what.b).Round(100*time.Nanosecond), ratio(0.25)), maxHubRatio, ratio(0.5) <= maxHubRatio)
	}
}

// postClient is a session over HTTP that calls one tool.
type postClient struct {
	*httpProcess
	address string
	tool    string
	session string
	last    int             // id of a call
	took    []time.Duration // by calls
	cpu     []time.Duration // of the process, for a call of each turn
}

// dialPosts begins a session at a path below that of the process, and warms it up.
func dialPosts(p *httpProcess, path, tool string) (*postClient, error) {
	c := &postClient{httpProcess: p, address: p.url + path, tool: tool}
	for _, line := range []string{initializeLine, initializedLine, `{"jsonrpc":"2.0","id":"tools","method":"tools/list"}`} {
		if _, err := c.post(line); err != nil {
			return nil, err
		}
	}
	for range 10 {
		if err := c.turn(); err != nil {
			return nil, err
		}
	}
	c.took, c.cpu = nil, nil
	return c, nil
}

func (c *postClient) post(body string) (string, error) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, c.address, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		request.Header.Set("Mcp-Session-Id", c.session)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if id := response.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// turn makes calls, one after another.
func (c *postClient) turn() error {
	before := cpuOf(c.cmd.Process.Pid)
	for range callsInTurn {
		c.last++
		began := time.Now()
		text, err := c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"text":"hello"}}}`, c.last, c.tool))
		if err != nil || !strings.Contains(text, "hello") {
			return fmt.Errorf("%s: %.200s %w", c.tool, text, err)
		}
		c.took = append(c.took, time.Since(began))
	}
	c.cpu = append(c.cpu, (cpuOf(c.cmd.Process.Pid)-before)/callsInTurn)
	return nil
}
