package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// example is a report of a causes/*.examples file.
type example struct {
	cause string
	not   bool // it must have any other cause
	where string
	Case
	evidence string
}

// examples reads causes/*.examples; docs/CAUSES.md describes the format.
func examples(t testing.TB) (all []example) {
	t.Helper()
	files, err := filepath.Glob("causes/*.examples")
	if err != nil || len(files) == 0 {
		t.Fatal("no examples", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		line, cause, not := 1, "", false
		for report := range strings.SplitSeq(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n\n") {
			at := line
			line += strings.Count(report, "\n") + 2
			heading, rest, _ := strings.Cut(strings.Trim(report, "\n"), "\n")
			if word, name, _ := strings.Cut(heading, " "); (word == "cause" || word == "not") && causeNamed(name).name != "" {
				cause, not, report = name, word == "not", rest
			}
			if report = strings.Trim(report, "\n"); report == "" {
				continue
			}
			e, err := newExample(report)
			if err != nil || cause == "" {
				t.Fatalf("%s:%d: %v (after cause %q)", file, at, err, cause)
			}
			e.cause, e.not, e.where = cause, not, fmt.Sprintf("%s:%d", file, at)
			all = append(all, e)
		}
	}
	return all
}

// newExample reads "$ COMMAND", "@ WHAT GAUZE SAW" and the evidence.
func newExample(report string) (e example, err error) {
	command := ""
	var seen []string
	for {
		line, rest, _ := strings.Cut(report, "\n")
		if text, ok := strings.CutPrefix(line, "$ "); ok && command == "" {
			command = text
		} else if text, ok := strings.CutPrefix(line, "@ "); ok {
			seen = append(seen, text)
		} else {
			break
		}
		report = rest
	}
	e.Case, e.evidence = fromLog(command, report), report
	for _, text := range seen {
		if err := e.see(text); err != nil {
			return e, err
		}
	}
	return e, nil
}

// see adds what gauze, or a client, saw besides the text.
func (e *example) see(text string) (err error) {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "live": // gauze started the server, or connected to it
		e.Live, e.Stage, e.Log, e.Stderr = true, Started, "", e.evidence
	case "exit":
		e.Exit = Exit{Known: true, Said: "exit status " + rest}
		e.Exit.Code, err = strconv.Atoi(rest)
	case "signal":
		e.Exit = Exit{Known: true, Code: -1, Signal: rest, Said: "signal: " + rest}
	case "spawn":
		e.Stage = Nowhere
		if e.Spawn.Errno, e.Spawn.Path, _ = strings.Cut(rest, " "); e.Spawn.Errno == "cwd" {
			e.Spawn.Errno, e.Spawn.Of = "ENOENT", "cwd"
		}
	case "stdout":
		e.Stdout = rest
	case "http":
		e.HTTP, err = appendHTTP(e.HTTP, rest)
	case "rpc":
		code, message, _ := strings.Cut(rest, " ")
		r := RPC{Message: message}
		r.Code, err = strconv.Atoi(code)
		e.RPC = append(e.RPC, r)
	case "waited":
		e.Limit.Passed, e.Limit.Alive = true, true
		e.Limit.After, err = time.ParseDuration(rest)
	case "listening":
		e.Limit.Listening, err = strconv.Atoi(rest)
	case "downloading":
		e.Limit.Downloading = true
	case "env":
		e.Env = strings.Fields(rest)
	case "set":
		e.Set = strings.Fields(rest)
	case "required":
		e.Required = strings.Fields(rest)
	case "unfilled":
		e.Unfilled = strings.Fields(rest)
	case "os":
		e.OS = rest
	case "keyed":
		e.Keyed = true
	case "client":
		e.NoURL, e.NoSSE = rest == "without urls", rest == "without sse"
	default:
		err = fmt.Errorf("unknown %q", "@ "+text)
	}
	return err
}

// appendHTTP adds a response such as "401 WWW-Authenticate: Bearer".
func appendHTTP(all []HTTP, text string) ([]HTTP, error) {
	status, header, _ := strings.Cut(text, " ")
	key, value, _ := strings.Cut(header, ": ")
	h := HTTP{}
	switch key {
	case "WWW-Authenticate":
		h.Authenticate = value
	case "Content-Type":
		h.ContentType = value
	case "Location":
		h.Location = value
	}
	var err error
	h.Status, err = strconv.Atoi(status)
	return append(all, h), err
}

// fewExamples returns three examples of each cause.
func fewExamples(t testing.TB) (few []example) {
	count := map[string]int{}
	for _, e := range examples(t) {
		if count[e.cause]++; count[e.cause] <= 3 {
			few = append(few, e)
		}
	}
	return few
}

func TestEveryCauseHasExamples(t *testing.T) {
	count := map[string]int{}
	for _, e := range examples(t) {
		if !e.not {
			count[e.cause]++
		}
	}
	for _, c := range knowledge().causes {
		if count[c.name] < 3 {
			t.Errorf("%s has %d examples, want 3: add reports that show it to %s", c.name, count[c.name], strings.Replace(c.clues[0].file, ".cause", ".examples", 1))
		}
	}
}

// fromLog returns the case of a log that a person reads on Linux.
func fromLog(command, text string) Case {
	c := FromLog(command, text)
	c.OS = "linux"
	return c
}
