package main

import (
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

func TestBlackHoleAcceptsAndNeverAnswers(t *testing.T) {
	hole, err := newBlackHole()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", hole.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
	conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	for ctx := patience.Context(t); hole.accepted.Load() == 0 && ctx.Err() == nil; runtime.Gosched() {
	}
	hole.listener.Close()
	if got := hole.accepted.Load(); got != 1 {
		t.Errorf("%d connections", got)
	}
}

func TestSilentModelIsComparedWithTheMeasurementItself(t *testing.T) {
	at := func(p50 float64) burst { return burst{latencies: []float64{p50}, p50: p50} }
	for name, test := range map[string]struct {
		again, silent float64
		waits         []float64
		want          bool
	}{
		"nothing differs":             {100, 100, []float64{2}, true},
		"slower":                      {100, 140, []float64{2}, false},
		"slower, but so is the noise": {135, 140, []float64{2}, true},
		"a call waits too long":       {100, 100, []float64{2, 9}, false},
	} {
		var rep silentReport
		rep.compare("calls", []round{{wrap: at(100), again: at(test.again), silent: at(test.silent)}})
		rep.judge(test.waits)
		if rep.Pass != test.want {
			t.Errorf("%s: %+v", name, rep.Targets)
		}
		var out strings.Builder
		rep.print(&out)
		if !strings.Contains(out.String(), "longest wait of a failing call") {
			t.Error(out.String())
		}
	}
}
