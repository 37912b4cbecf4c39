//go:build linux

package realtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// The moments at which a call with their name in it kills the server: before anything was done, when it was done and
// nobody was told, when half of the answer was written, when all of it was.
const (
	dieOnReceipt    = "die-on-receipt"
	dieBeforeAnswer = "die-before-answer"
	dieMidAnswer    = "die-mid-answer"
	dieAfterAnswer  = "die-after-answer"
)

var meeting struct {
	sync.Mutex
	there map[string]int
}

// meet kills the server when as many callers as it has are at the same moment of a call with that fate. Those that
// come first wait for their end, so that one death is the same exact moment for all of them.
func meet(moment, text string) {
	if !strings.Contains(text, moment) {
		return
	}
	callers, _ := strconv.Atoi(os.Getenv(envCrowd))
	meeting.Lock()
	if meeting.there == nil {
		meeting.there = map[string]int{}
	}
	meeting.there[moment]++
	if meeting.there[moment] == callers {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	meeting.Unlock()
	select {}
}

// mortal is an HTTP handler whose server can die while an answer is written.
type mortal struct{ http.Handler }

func (m mortal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	m.Handler.ServeHTTP(&lastWords{ResponseWriter: w, question: string(body)}, r)
}

type lastWords struct {
	http.ResponseWriter
	question string
}

func (w *lastWords) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(`"result"`)) {
		half := len(p) / 2
		for _, end := range []struct {
			moment string
			at     int
		}{{dieMidAnswer, half}, {dieAfterAnswer, len(p)}} {
			if strings.Contains(w.question, end.moment) {
				_, _ = w.ResponseWriter.Write(p[:end.at])
				w.Flush()
				meet(end.moment, w.question)
			}
		}
	}
	return w.ResponseWriter.Write(p)
}

func (w *lastWords) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

var ledgerLock sync.Mutex

// appendLine writes a line of JSON in one go, and returns how often it is in the file now.
func appendLine(file string, value any) int {
	line, err := json.Marshal(value)
	if err == nil {
		ledgerLock.Lock()
		defer ledgerLock.Unlock()
		var f *os.File
		if f, err = os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err == nil {
			_, err = f.Write(append(line, '\n'))
			f.Close()
		}
	}
	all, readErr := os.ReadFile(file)
	if err != nil || readErr != nil {
		fmt.Fprintln(os.Stderr, "the ledger:", err, readErr)
		os.Exit(1) // what it does not write down, it must not do
	}
	n := 0
	for _, known := range bytes.Split(all, []byte{'\n'}) {
		if bytes.Equal(known, line) {
			n++
		}
	}
	return n
}
