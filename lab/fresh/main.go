//go:build unix

// Command fresh measures gauze's diagnosis on failures that were caused on purpose: real MCP
// servers from npm and PyPI whose set-up is broken in a known way. The truth of a case is what was
// broken. The cases in cases.jsonl were written without knowledge of the rules of the diagnosis.
//
//	go -C lab run ./fresh -gauze BINARY
//
// A live case is built in a temporary home and run with gauze test --json. A recorded case is what
// a real launcher, client or shell printed (bash, npx, uvx, docker, mcp-remote, and clients on the
// official TypeScript and Python SDKs), and is read with gauze diagnose --batch. Three cases need
// the npm registry, or its absence; the others work offline once the packages are installed.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

//go:embed cases.jsonl
var casesText []byte

// oneCase is a broken set-up and the truth about it. In its strings, {home}, {nm}, {py}, {node},
// {files}, {port}, {port2} and {port3} stand for the places of the run.
type oneCase struct {
	ID     string   // ID is the name of the case.
	Kind   string   // Kind is "live" or "log".
	Server string   // Server is the package, and what started it.
	Broken string   // Broken is what was broken.
	Truth  string   // Truth is the category of what was broken.
	Accept []string // Accept lists other categories that are as right.

	Setup   string   // Setup is a bash script that builds the set-up, in the home.
	Serve   []string // Serve lists bash commands that run during the test.
	Wait    []string // Wait lists the addresses that must accept connections before the test.
	Freeze  bool     // Freeze stops the first of Serve with SIGSTOP.
	Env     []string // Env lists variables of the environment; PATH replaces the default one.
	Flags   []string // Flags lists flags of gauze test.
	Command []string // Command starts the server.
	URL     string   // URL is the server's address.

	Evidence string // Evidence is the recorded log.
	Recorded string // Recorded is the command line of the log, as in a client's configuration.
}

// diagnosis is the part of gauze's answers that is measured.
type diagnosis struct{ Category, Cause, Explanation string }

// result is what gauze answered.
type result struct {
	category, cause string
	works           bool
	err             error
	took            time.Duration
	details         []string // what gauze saw, for the misses of live cases
}

func main() {
	gauze := flag.String("gauze", "", "`binary` to measure")
	only := flag.String("only", "", "run only the cases whose ID contains this `text`")
	raw := flag.Bool("raw", false, "start the live cases without gauze and print what they do")
	flag.Parse()
	if err := run(*gauze, *only, *raw); err != nil {
		fmt.Fprintln(os.Stderr, "fresh:", err)
		os.Exit(1)
	}
}

func run(gauze, only string, raw bool) error {
	cases, err := readCases(casesText, only)
	if err != nil {
		return err
	}
	ctx := context.Background()
	parts, err := install(ctx, os.Stderr)
	if err != nil {
		return err
	}
	if raw {
		return eachLive(ctx, parts, cases, printRaw)
	}
	if gauze == "" {
		return errors.New("pass the binary to measure: -gauze BINARY")
	}
	if gauze, err = filepath.Abs(gauze); err != nil {
		return err
	}
	began := time.Now()
	results := map[string]result{}
	if err := diagnoseLogs(ctx, gauze, cases, results); err != nil {
		return err
	}
	err = eachLive(ctx, parts, cases, func(ctx context.Context, c oneCase, s *stage) {
		results[c.ID] = testLive(ctx, gauze, c, s)
	})
	if err != nil {
		return err
	}
	report(cases, results)
	fmt.Printf("the run took %.0f s\n", time.Since(began).Seconds())
	return nil
}

func readCases(text []byte, only string) ([]oneCase, error) {
	var cases []oneCase
	for line := range bytes.Lines(text) {
		var c oneCase
		if err := json.Unmarshal(line, &c); err != nil {
			return nil, fmt.Errorf("cases.jsonl: %w: %.80s", err, line)
		}
		if strings.Contains(c.ID, only) {
			cases = append(cases, c)
		}
	}
	return cases, nil
}

// diagnoseLogs reads the recorded cases with one call of gauze diagnose.
func diagnoseLogs(ctx context.Context, gauze string, cases []oneCase, results map[string]result) error {
	var batch bytes.Buffer
	for _, c := range cases {
		if c.Kind == "log" {
			json.NewEncoder(&batch).Encode(map[string]string{"id": c.ID, "command": c.Recorded, "evidence": c.Evidence})
		}
	}
	cmd := exec.CommandContext(ctx, gauze, "diagnose", "--batch", "-")
	cmd.Stdin = &batch
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("gauze diagnose: %w\n%s", err, out)
	}
	for line := range bytes.Lines(out) {
		var r struct {
			ID string
			diagnosis
		}
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		results[r.ID] = result{category: r.Category, cause: r.Cause}
	}
	return nil
}

// testLive runs gauze test on a set-up.
func testLive(ctx context.Context, gauze string, c oneCase, s *stage) result {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	args := append([]string{"test", "--json"}, s.all(c.Flags)...)
	if c.URL != "" {
		args = append(args, s.fill(c.URL))
	} else {
		args = append(append(args, "--"), s.all(c.Command)...)
	}
	cmd := exec.CommandContext(ctx, gauze, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = s.home, s.environ(c.Env), 5*time.Second
	began := time.Now()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	r := result{took: time.Since(began)}
	var answer struct {
		Works   bool
		Note    string
		Stopped string
		Stderr  []string
		Report  struct{ Diagnosis diagnosis }
	}
	if json.Unmarshal(out, &answer) != nil {
		r.err = fmt.Errorf("no report: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	d := answer.Report.Diagnosis
	r.works, r.category, r.cause = answer.Works, d.Category, d.Cause
	r.details = append([]string{answer.Note, answer.Stopped, d.Explanation}, answer.Stderr...)
	return r
}

// report prints each case and the two figures.
func report(cases []oneCase, results map[string]result) {
	var right, answered int
	for _, c := range cases {
		r := results[c.ID]
		verdict := "wrong"
		switch {
		case r.err != nil:
			verdict = "unknown"
			r.cause = r.err.Error()
		case r.works:
			r.category = "(works)"
			answered++
		case r.category == "" || r.category == "unknown":
			verdict = "unknown"
		default:
			answered++
			if r.category == c.Truth || slices.Contains(c.Accept, r.category) {
				verdict = "right"
				right++
			}
		}
		fmt.Printf("%-8s %-4s %-28s truth %s, said %s/%s (%.1f s)\n", verdict, c.Kind, c.ID, c.Truth, r.category, r.cause, r.took.Seconds())
		if verdict == "right" {
			continue
		}
		for _, line := range r.details {
			if line != "" {
				fmt.Printf("         | %.300s\n", line)
			}
		}
	}
	fmt.Printf("right %d of %d = %.1f %%; when it answers %d of %d = %.1f %%\n",
		right, len(cases), percent(right, len(cases)), right, answered, percent(right, answered))
}

func percent(a, b int) float64 { return 100 * float64(a) / float64(max(b, 1)) }
