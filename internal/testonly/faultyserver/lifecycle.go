package faultyserver

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// start applies the faults at the start of a generation. It reports whether the server has already
// ended.
func (s *server) start() (code int, over bool) {
	if s.active["ignore-sigterm"] != nil {
		ignoreTerm()
	}
	if a := s.active["stderr"]; a != nil {
		for _, kind := range a.words("kind") {
			io.WriteString(s.stderr, stderrLines[kind])
		}
	}
	if a := s.active["grandchild"]; a != nil {
		apart := a.text("setsid") == "true"
		for range a.number("n") {
			if _, err := s.spawn(a.words("kind"), apart, a.duration("after")); err != nil {
				fmt.Fprintln(s.stderr, "faultyserver: -grandchild:", err)
			}
		}
	}
	if s.active["daemonise"] != nil {
		if err := startAgain(withoutFlag(s.args, "daemonise")); err != nil {
			fmt.Fprintln(s.stderr, "faultyserver: -daemonise:", err)
			return exitBroken, true
		}
		return exitClean, true
	}
	s.bendOutput()
	if a := s.active["exit-at-start"]; a != nil {
		s.exit(a)
	}
	if a := s.active["exit-after"]; a != nil && a.has("after") {
		time.AfterFunc(a.duration("after"), func() { s.exit(a) })
	}
	if a := s.active["stderr-flood"]; a != nil {
		go func() {
			flood(s.stderr, a.number("n"))
			s.execute(Entry{Op: "flood", Key: "flooded"})
		}()
	}
	if a := s.active["slow-start"]; a != nil {
		time.Sleep(a.duration("after"))
	}
	return 0, false
}

func (s *server) bendOutput() {
	if a := s.active["shape"]; a != nil {
		s.out.shape = a.words("kind")
	}
	if a := s.active["stray"]; a != nil {
		var text strings.Builder
		for _, kind := range a.words("kind") {
			text.WriteString(strays[kind])
		}
		if a.text("at") == "each" {
			s.out.each = text.String()
		} else {
			// The text is written now and not with the first response: a banner comes before any
			// request.
			s.out.writeRaw([]byte(text.String()))
		}
	}
}

// spawn starts a sleeping child and records its pid in the ledger, so that a test can clean it up.
func (s *server) spawn(holds []string, apart bool, d time.Duration) (pid int, err error) {
	pid, err = startSleeper(holds, apart, d)
	if err == nil {
		s.execute(Entry{Op: "spawn", Key: strconv.Itoa(pid)})
	}
	return pid, err
}

// execute records an effect in the ledger. From then on it has happened.
func (s *server) execute(e Entry) {
	e.PID, e.Generation = os.Getpid(), s.generation
	if s.ledger == nil {
		return
	}
	if err := s.ledger.Append(e); err != nil {
		fmt.Fprintln(s.stderr, "faultyserver: ledger:", err)
	}
}

// exit ends the process as the fault specifies. It does not return.
func (s *server) exit(a *armed) {
	if text := a.text("stderr"); text != "" {
		fmt.Fprintln(s.stderr, text)
	}
	code := 1
	if a.has("code") {
		code = a.number("code")
	}
	end(a.text("signal"), code)
}

// checkSignal returns an error that lists the signals if name is not one of them.
func checkSignal(name string) error {
	if _, ok := signals[name]; ok {
		return nil
	}
	return fmt.Errorf("unknown signal %q: must be one of %s", name, strings.Join(namesOf(signals), ", "))
}

// end ends the process by the signal if there is one, otherwise with the code.
func end(signal string, code int) {
	if signal == "" {
		os.Exit(code)
	}
	raise(signal)
	sleepForever() // a signal to oneself may be delayed, and a process continues after STOP
}

// sleepForever blocks without using CPU. The runtime would report an empty select as a deadlock.
func sleepForever() {
	for {
		time.Sleep(time.Hour)
	}
}

// spinForever uses one CPU.
func spinForever() {
	for n := uint64(0); ; n++ {
		spun.Store(n)
	}
}

// spun keeps the loop from being optimized away.
var spun atomic.Uint64

// writeAndEnd writes the text unaltered and ends the process with the output still locked, so that
// nothing follows.
func (s *server) writeAndEnd(text string, end func()) {
	s.out.writeAlone(func(w io.Writer) {
		_, _ = io.WriteString(w, text)
		end()
	})
}

func flood(w io.Writer, n int) {
	line := []byte(strings.Repeat("stderr flood ", 78) + "line end\n") // 1,023 bytes
	for written := 0; n == 0 || written < n; written += len(line) {
		if n > 0 && n-written < len(line) {
			line = line[len(line)-(n-written):]
		}
		if _, err := w.Write(line); err != nil {
			return
		}
	}
}
