package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"
)

const (
	triosPerRound = 4 // a trio is a new process for each route: equal processes differ more than equal calls
	triosTogether = 6 // trios that run at the same time, of which one is measured and the others are idle
	roundsPerTrio = 3
	maxCellTime   = time.Minute             // then there are fewer trios
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
	if !rep.Pass {
		return errors.New("a target was missed")
	}
	return nil
}

// trio is the p50 of one process of each route, in microseconds.
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
// another, the three processes of each in turn.
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
	text := bytes.Repeat([]byte("x"), c.Payload)
	trios := make([]trio, len(all))
	for n, clients := range all {
		calls, err := o.warmUp(c, clients, text)
		if err != nil {
			return nil, err
		}
		p50 := map[route][]float64{}
		for turn := range roundsPerTrio {
			for _, r := range rotated(o.routes, first+n+turn) {
				latencies, elapsed, err := clients[r].burst(c.Callers, calls, text)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", r, err)
				}
				p50[r] = append(p50[r], newBurst(latencies, elapsed).p50)
			}
		}
		trios[n] = trio{}
		for r, values := range p50 {
			trios[n][r] = median(values)
		}
	}
	return trios, nil
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
