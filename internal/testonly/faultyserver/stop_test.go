package faultyserver

import (
	"net"
	"testing"
)

func TestStoppedServerIsContinuedByItsChild(t *testing.T) {
	p := greeted(t, "")
	contains(t, "stop", p.call("1", "stop", `{"ms":10}`), `"id":1`, "continued")
}

func TestSuspendedServerAnswersWhenResumed(t *testing.T) {
	p := greeted(t, "")
	pid := p.cmd.Process.Pid
	if err := Suspend(pid); err != nil {
		t.Fatal(err)
	}
	if !Running(pid) {
		t.Error("a suspended process still exists")
	}
	p.write(ping)
	if err := Resume(pid); err != nil {
		t.Fatal(err)
	}
	p.want(`"ping"`)
}

func TestGateHoldsAServerUntilItOpens(t *testing.T) {
	gate, err := NewGate()
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	ended, err := net.Dial("tcp", gate.Addr())
	if err != nil {
		t.Fatal(err)
	}
	ended.Close() // a process that was killed at the gate is first in the queue
	waiting := talk(t, "-gate="+gate.Addr())
	waiting.write(ping)
	if err := gate.Open(); err != nil {
		t.Fatal(err)
	}
	waiting.want(`"ping"`)
}
