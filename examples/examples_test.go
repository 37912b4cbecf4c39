// Package examples_test builds the examples, and the code in the documentation, as other modules would.
package examples_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	// The programs are built from these: the go command runs the tests again if they change.
	_ "github.com/gauze-mcp/gauze"
	_ "github.com/gauze-mcp/gauze/doctor"
	_ "github.com/gauze-mcp/gauze/llm"
	_ "github.com/gauze-mcp/gauze/repair"

	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
)

// programs are the examples. Each is a program.
var programs = []string{"agent", "healedclient", "server"}

// outside makes a module of its own that requires this one, with a copy of every example and of the
// code in the documentation, builds and vets it, and returns the directory of the programs.
func outside(t *testing.T) (bin string) {
	t.Helper()
	windowstest.Skip(t)
	dir := t.TempDir()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob("*/main.go")
	if err != nil || len(found) != len(programs) {
		t.Fatalf("examples %v, %v; want %v", found, err, programs)
	}
	for _, name := range programs {
		write(t, filepath.Join(dir, name, "main.go"), read(t, filepath.Join(name, "main.go")))
	}
	write(t, filepath.Join(dir, "docs", "main.go"), snippets(t))
	// The same versions as ours, so that nothing has to be downloaded.
	mod := regexp.MustCompile(`(?m)^module .*$`).ReplaceAllString(read(t, filepath.Join(root, "go.mod")), "module example.com/outside")
	mod = regexp.MustCompile(`(?m)^tool .*$`).ReplaceAllString(mod, "")
	mod += fmt.Sprintf("\nrequire github.com/gauze-mcp/gauze v0.0.0\n\nreplace github.com/gauze-mcp/gauze => %s\n", filepath.ToSlash(root))
	write(t, filepath.Join(dir, "go.mod"), mod)
	write(t, filepath.Join(dir, "go.sum"), read(t, filepath.Join(root, "go.sum")))
	bin = filepath.Join(dir, "bin")
	for _, args := range [][]string{{"build", "-o", bin + string(filepath.Separator), "./..."}, {"vet", "./..."}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod "+os.Getenv("GOFLAGS"), "GOPROXY=off", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", args[0], err, out)
		}
	}
	return bin
}

// snippets returns a program with every Go snippet of the README and docs, each in a function.
func snippets(t *testing.T) string {
	t.Helper()
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var snippets [][]string
	for _, page := range append(pages, "../README.md", "../CONTRIBUTING.md") {
		snippets = append(snippets, regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(read(t, page), -1)...)
	}
	if len(snippets) < 4 {
		t.Fatalf("%d snippets of Go in the documentation", len(snippets))
	}
	var b strings.Builder
	b.WriteString(`package main

import (
	"context"
	"encoding/json"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze"
	"github.com/gauze-mcp/gauze/doctor"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/llm"
	"github.com/gauze-mcp/gauze/repair"
	"github.com/gauze-mcp/gauze/task"
)

var (
	schema, arguments json.RawMessage
	text              []byte
	search            func(context.Context, json.RawMessage) (string, error)

	ctx    = context.Background()
	params *mcp.CallToolParams
	server *mcp.Server
	_      = log.Fatal
	_      = doctor.Test
)

func main() {}

func use(...any) {}
`)
	declared := regexp.MustCompile(`(?m)^(\w+(?:, \w+)*) := `)
	for i, snippet := range snippets {
		var names []string
		for _, m := range declared.FindAllStringSubmatch(snippet[1], -1) {
			names = append(names, strings.Split(m[1], ", ")...)
		}
		fmt.Fprintf(&b, "\nfunc _() {\n\t// snippet %d\n%s\tuse(%s)\n}\n", i+1, snippet[1], strings.Join(names, ", "))
	}
	return b.String()
}

func TestThePrograms(t *testing.T) {
	bin := outside(t)
	run := func(t *testing.T, name string, args ...string) (out string, failed bool) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program(bin, name), args...)
		cmd.Dir = t.TempDir()
		text, err := cmd.Output()
		return string(text), err != nil
	}

	t.Run("the agent adds every note once", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "notes.txt")
		out, failed := run(t, "agent", program(bin, "server"), "-crash", file)
		if failed || out != "outcome-unknown: \"buy milk\" was added\nbuy milk, call the bank\n" {
			t.Errorf("failed %v, %q", failed, out)
		}
		if notes := read(t, file); notes != "buy milk\ncall the bank\n" {
			t.Errorf("the notes are %q", notes)
		}
	})
	t.Run("the client lists the tools", func(t *testing.T) {
		out, failed := run(t, "healedclient", program(bin, "server"), filepath.Join(t.TempDir(), "notes.txt"))
		if failed || out != "add_note\nlist_notes\nhealthy, 0 restarts, 2 of 2 requests answered\n" {
			t.Errorf("failed %v, %q", failed, out)
		}
	})
	t.Run("the client reports what is missing", func(t *testing.T) {
		if out, failed := run(t, "healedclient", "no-such-bin-xyz"); !failed {
			t.Errorf("%q", out)
		}
	})
}

func program(bin, name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(bin, name)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
