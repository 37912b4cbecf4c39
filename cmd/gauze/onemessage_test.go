package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "write the golden files")

// Each failure is one message with one remedy: for the terminal, for the model and for programs.
func TestATroubleIsOneMessageWithOneRemedy(t *testing.T) {
	t.Parallel()
	login := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="notes"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(login.Close)
	for name, command := range map[string][]string{
		"no-such-program":  {"--", "nosuchprog"},
		"crash-loop":       {"--", "faultyserver", "-exit-at-start=code=1,stderr=Segmentation fault"},
		"login-required":   {"--url", login.URL + "/mcp"},
		"wrong-path":       {"--", "/nonexistent/server.py"},
		"missing-variable": {"--", "faultyserver", "-exit-at-start=code=1,stderr=Error: GITHUB_TOKEN environment variable is required"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := program(t, "gauze", append([]string{"run"}, command...)...)
			cmd.Env = append(os.Environ(), "GAUZE_STATE_DIR="+t.TempDir())
			var said bytes.Buffer
			cmd.Stderr = &said
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			in.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` + "\n"))
			answers, err := bufio.NewReader(out).ReadBytes('\n') // the diagnosis may take longer than gauze waits after the input has ended
			in.Close()
			cmd.Wait()
			if err != nil {
				t.Fatalf("%v: %s", err, said.String())
			}

			var answer struct {
				Error struct {
					Message string
					Data    map[string]any
				}
			}
			if err := json.Unmarshal(answers, &answer); err != nil {
				t.Fatalf("%v: %s", err, answers)
			}
			_, box, _ := strings.Cut(said.String(), "── ")
			if n := strings.Count(said.String(), "gauze explain "); n != 1 {
				t.Errorf("%d messages name their code, want 1:\n%s", n, said.String())
			}
			for line := range strings.Lines(box) {
				if utf8.RuneCountInString(line) > 81 {
					t.Errorf("wider than 80 columns: %s", line)
				}
			}
			cause, _ := answer.Error.Data["cause"].(map[string]any)
			if remedy, _ := cause["remedy"].(string); remedy == "" || strings.Count(answer.Error.Message, remedy) != 1 {
				t.Errorf("the model does not read the remedy %q once: %s", remedy, answer.Error.Message)
			}
			program, err := json.MarshalIndent(map[string]any{"code": answer.Error.Data["code"], "retry": answer.Error.Data["retry"], "delivery": answer.Error.Data["delivery"], "cause": cause}, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got := "=== terminal\n── " + box + "=== model\n" + answer.Error.Message + "\n=== program\n" + string(program) + "\n"
			if runtime.GOOS != "windows" { // where paths and the commands to type differ
				golden(t, filepath.Join("testdata", "onemessage", name+".golden"), settled(got, login.URL))
			}
		})
	}
}

// settled replaces what differs between runs.
func settled(text, url string) string {
	text = strings.NewReplacer(url, "URL", strings.TrimPrefix(url, "http://"), "HOST").Replace(text)
	return regexp.MustCompile(`(dead for|waited) [0-9.m]+s`).ReplaceAllString(text, "$1 TIME")
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update and look at the diff. got:\n%s", file, got)
	}
}
