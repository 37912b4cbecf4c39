package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gauze-mcp/gauze/internal/views/live"
)

// observed is the route of gauze that is announced, records its events, and is asked about itself.
const observed route = "observed"

// Limits of what being observed may cost.
const (
	maxObservedCost   = 3.0   // percent of the CPU time of a call that nothing observes
	maxObservedMemory = 2_000 // kB of private memory
	maxLookCost       = 3.0   // milliseconds of CPU time for an answer to a status reader and a scrape of /metrics
)

// runObservedOverhead compares gauze with everything that shows it to its user to gauze without any
// of it, and the latter with itself, which is how much the measurement varies. What it costs to be asked
// is measured without calls.
func runObservedOverhead(o overhead, gauze, jsonTo string) error {
	b, err := newBinaries()
	if err != nil {
		return err
	}
	defer b.remove()
	if gauze == "" {
		if gauze, err = b.gauze(""); err != nil {
			return err
		}
	}
	off := []string{"GAUZE_JOURNAL=off", "GAUZE_LIVE=off"}
	o.routes, o.env = []route{wrap, again, observed}, map[route][]string{wrap: off, again: off}
	if err := o.prepare(b, gauze); err != nil {
		return err
	}
	w, err := startWatching(gauze)
	if err != nil {
		return err
	}
	defer w.stop()
	o.look = w.look
	rep := &costReport{of: observed, without: "observation", maxCost: maxObservedCost, maxMemory: maxObservedMemory, maxLook: maxLookCost}
	if rep.Look, err = o.lookCost(); err != nil {
		return err
	}
	err = o.measureCost(rep, jsonTo)
	fmt.Printf("\nanswers to the status reader: %d, scrapes of /metrics with a wrap: %d\n", w.asked.Load(), w.scraped.Load())
	if w.asked.Load() == 0 || w.scraped.Load() == 0 {
		return errors.Join(err, errors.New("no wrap was observed, so nothing was measured"))
	}
	return err
}

// watching asks every wrap about itself, as gauze status and Prometheus do.
type watching struct {
	dashboard      *exec.Cmd
	url, token     string
	asked, scraped atomic.Int64 // answers with calls, and scrapes with a healthy wrap
}

// startWatching starts gauze dashboard, which is scraped.
func startWatching(gauze string) (*watching, error) {
	cmd := exec.Command(gauze, "dashboard", "--listen", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	w := &watching{dashboard: cmd}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		w.stop()
		return nil, fmt.Errorf("gauze dashboard did not print its address: %w", err)
	}
	token, err := os.ReadFile(filepath.Join(os.Getenv("GAUZE_STATE_DIR"), "dashboard-token"))
	if err != nil {
		w.stop()
		return nil, err
	}
	address, _, _ := strings.Cut(line, "#")
	w.url, w.token = address+"metrics", strings.TrimSpace(string(token))
	return w, nil
}

func (w *watching) stop() {
	w.dashboard.Process.Kill()
	w.dashboard.Wait()
}

// look asks once.
func (w *watching) look() error {
	all, err := live.All(context.Background(), os.Getenv("GAUZE_STATE_DIR"))
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.Counts.Calls > 0 {
			w.asked.Add(1)
		}
	}
	request, err := http.NewRequest(http.MethodGet, w.url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+w.token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("/metrics answered %s: %s", response.Status, text)
	case strings.Contains(string(text), `state="healthy"} 1`):
		w.scraped.Add(1)
	}
	return nil
}

// lookCost returns the CPU time of gauze for each time it is asked, in milliseconds.
func (o *overhead) lookCost() (float64, error) {
	const processes, looks = 5, 20
	var all []float64
	for range processes {
		c, err := dial(o.command("minimal", observed))
		if err != nil {
			return 0, err
		}
		time.Sleep(eventsWritten)
		_, _, err = c.burst(1, looks, []byte("x"))
		err = errors.Join(err, o.look()) // the first answer prepares for the others
		before := cpuOf(c.cmd.Process.Pid)
		for range looks {
			err = errors.Join(err, o.look())
		}
		all = append(all, float64((cpuOf(c.cmd.Process.Pid)-before).Microseconds())/1000/looks)
		c.close()
		if err != nil {
			return 0, err
		}
	}
	return median(all), nil
}
