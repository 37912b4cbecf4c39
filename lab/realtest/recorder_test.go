//go:build linux

package realtest

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A recorder stands between a client and gauze, and writes down every message. It is this test binary, started again
// with envRecord set to the name of a file, and with the command line of gauze.
const envRecord = "REALTEST_RECORD"

// recorded is one message of a recording. Several recorders may write to one file.
type recorded struct {
	Recorder   int // its pid
	At         time.Time
	FromClient bool
	Message    json.RawMessage
}

// beTheRecorder never returns if this process was started to be one.
func beTheRecorder() {
	name := os.Getenv(envRecord)
	if name == "" {
		return
	}
	os.Unsetenv(envRecord)
	if err := recordTo(name, os.Args[1:]); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(0)
}

func recordTo(name string, argv []string) error {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_SH); err != nil { // until the end: see recording
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, unix.SIGTERM)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s) // it may have ended
		}
	}()
	pass := func(to io.WriteCloser, from io.Reader, fromClient bool) {
		for lines := bufio.NewReader(from); ; {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				to.Close()
				return
			}
			text, _ := json.Marshal(recorded{os.Getpid(), time.Now(), fromClient, line})
			file.Write(append(text, '\n'))
			to.Write(line)
		}
	}
	go pass(in, os.Stdin, true)
	pass(os.Stdout, out, false)
	return cmd.Wait()
}

// recording opens a recording when all its recorders have ended, and gauze with them: clients do not wait for that.
func recording(t *testing.T, name string) *os.File {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	locked := make(chan error, 1)
	go func() { locked <- unix.Flock(int(file.Fd()), unix.LOCK_EX) }()
	select {
	case err := <-locked:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(testPatience):
		t.Fatalf("what writes %s does not end", name)
	}
	return file
}

// opening is a request that begins a session, with its answer.
type opening struct {
	method string
	answer string // empty: there is none
	took   time.Duration
}

// openings returns those of a recording.
func openings(t *testing.T, name string) (all []opening) {
	t.Helper()
	type request struct {
		recorder int
		id       string
	}
	type question struct {
		index int // in all
		at    time.Time
	}
	asked := map[request]question{}
	for lines := json.NewDecoder(recording(t, name)); ; {
		var r recorded
		if err := lines.Decode(&r); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		var message struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal(r.Message, &message); err != nil {
			t.Fatal(err)
		}
		key := request{r.Recorder, string(message.ID)}
		if r.FromClient && (message.Method == "initialize" || message.Method == "server/discover") {
			asked[key] = question{len(all), r.At}
			all = append(all, opening{method: message.Method})
		} else if q, ok := asked[key]; ok && !r.FromClient && message.Method == "" {
			all[q.index].answer, all[q.index].took = string(r.Message), r.At.Sub(q.at)
			delete(asked, key)
		}
	}
}
