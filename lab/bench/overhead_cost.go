package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

const (
	triosPerRound = 4                       // a trio is a new process for each route: equal processes differ more than equal calls
	triosTogether = 6                       // trios that run at the same time, of which one is measured and the others are idle
	turnsPerTrio  = 60                      // in a turn, each process of a trio makes one short burst of calls
	maxCellTime   = 2 * time.Minute         // then there are fewer trios
	eventsWritten = 1500 * time.Millisecond // from the start of gauze until its first events are written
)

// measureCost measures what a route costs compared with wrap, and reports whether the targets are met.
func (o *overhead) measureCost(rep *costReport, jsonTo string) (err error) {
	for _, c := range []cell{{"go-sdk", 1, 100}, {"go-sdk", 32, 100}, {"minimal", 1, 100}} {
		var trios []trio
		for begin := time.Now(); len(trios) < triosPerRound*o.rounds && time.Since(begin) < maxCellTime; {
			some, err := o.measureTrios(c, len(trios))
			if err != nil {
				return err
			}
			trios = append(trios, some...)
		}
		rep.compare(fmt.Sprintf("%s, %d x %s", c.Server, c.Callers, size(c.Payload)), trios)
	}
	if rep.Memory, err = o.privateMemory(); err != nil {
		return err
	}
	rep.judge()
	rep.print(os.Stdout)
	if err := writeJSON(jsonTo, rep); err != nil {
		return err
	}
	return rep.failure()
}

// trio is the CPU time of a call for one process of each route, in microseconds.
type trio map[route]float64

// dialTrio starts a process of each route, beginning with the n-th.
func (o *overhead) dialTrio(server string, n int) (map[route]*lineClient, error) {
	clients := map[route]*lineClient{}
	for _, r := range rotated(o.routes, n) {
		client, err := dial(o.command(server, r), o.env[r]...)
		if err != nil {
			closeAll(clients)
			return nil, err
		}
		clients[r] = client
	}
	return clients, nil
}

func closeAll(clients map[route]*lineClient) {
	for _, client := range clients {
		client.close()
	}
}

// measureTrios starts some trios, waits until their first events are written, and measures one after
// another.
func (o *overhead) measureTrios(c cell, first int) ([]trio, error) {
	all := make([]map[route]*lineClient, triosTogether)
	for n := range all {
		clients, err := o.dialTrio(c.Server, first+n)
		if err != nil {
			return nil, err
		}
		defer closeAll(clients)
		all[n] = clients
	}
	time.Sleep(eventsWritten)
	trios := make([]trio, len(all))
	for n, clients := range all {
		var err error
		if trios[n], err = o.measureTrio(c, clients); err != nil {
			return nil, err
		}
	}
	return trios, nil
}

// measureTrio lets the processes of a trio make bursts of calls in turn, in random order. Other load only
// adds to the CPU time of a call, by cold caches and more switches, so the least of the turns counts.
func (o *overhead) measureTrio(c cell, clients map[route]*lineClient) (trio, error) {
	text := bytes.Repeat([]byte("x"), c.Payload)
	calls, err := o.warmUp(c, clients, text)
	if err != nil {
		return nil, err
	}
	if o.calls == 0 {
		calls = max(calls/4, c.Callers, 40) // a short burst is more often undisturbed
	}
	least := trio{}
	for range turnsPerTrio {
		for _, i := range rand.Perm(len(o.routes)) {
			r := o.routes[i]
			cpu, err := clients[r].cpuPerCall(c.Callers, calls, text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r, err)
			}
			if before, known := least[r]; !known || cpu < before {
				least[r] = cpu
			}
		}
	}
	return least, nil
}

// cpuPerCall makes a burst of calls and returns the CPU time of each, in microseconds.
func (c *lineClient) cpuPerCall(callers, calls int, text []byte) (float64, error) {
	before := cpuOf(c.cmd.Process.Pid)
	latencies, _, err := c.burst(callers, calls, text)
	if err != nil {
		return 0, err
	}
	used := cpuOf(c.cmd.Process.Pid) - before
	if used <= 0 {
		return 0, errors.New("this system does not report the CPU time of a process")
	}
	return float64(used.Nanoseconds()) / 1000 / float64(len(latencies)), nil
}

// privateMemory returns the private memory of gauze after its first events are written and some
// calls, on each route, in kB. A system that does not report it has none.
func (o *overhead) privateMemory() (map[route]int, error) {
	const processes, calls = 9, 2000
	all := map[route][]int{}
	for n := range processes {
		clients, err := o.dialTrio("minimal", n)
		if err != nil {
			return nil, err
		}
		time.Sleep(eventsWritten)
		for r, c := range clients {
			_, _, burstErr := c.burst(1, calls, []byte("x"))
			if o.look != nil {
				burstErr = errors.Join(burstErr, o.look())
			}
			m, _ := memoryOf(c.cmd.Process.Pid)
			all[r], err = append(all[r], m.Anonymous), errors.Join(err, burstErr)
		}
		closeAll(clients)
		if err != nil {
			return nil, err
		}
	}
	medians := map[route]int{}
	for r, values := range all {
		medians[r] = median(values)
	}
	return medians, nil
}
