package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// onlyParsed are commands that are not run here, but parsed with all their flags and arguments: those whose line
// matches, and why.
var onlyParsed = []struct{ line, reason string }{
	{`https://|ghcr\.io|^gauze (upgrade|search)\b`, "needs a network"},
	{`^gauze (login|logout) [^-]|^gauze wrap --remote`, "needs a remote server and a browser"},
	{`--temporal\b`, "needs a Temporal cluster"},
	{`^gauze top\b`, "needs a terminal: top_linux_test.go runs it"},
	{`^(gauze|go run \./cmd/gauze) demo\b`, "takes long: internal/views/demo and lab/release run it"},
}

// untilStopped are commands that run until they are stopped.
var untilStopped = regexp.MustCompile(`^gauze (dashboard|serve|up)\b`)

// upReturns are the commands of gauze up that do not serve.
var upReturns = regexp.MustCompile(`^gauze up --(check|confirm|install|uninstall)\b`)

// serves reports whether a command runs until it is stopped.
func serves(command string) bool {
	return untilStopped.MatchString(command) && !upReturns.MatchString(command)
}

// byHand are lines for those who release gauze: they need its key, its tag or what was published.
var byHand = []string{"openssl ", "sha256sum ", "gh ", "cp ~/gauze-release.key.pub "}

// line checks one line of a shell block.
func (s *stage) line(line string) error {
	command, _, _ := strings.Cut(line, " # ")
	command = strings.TrimSpace(command)
	words, err := s.split(command)
	if err != nil || len(words) == 0 || strings.HasPrefix(line, "#") {
		return err
	}
	switch {
	case testedElsewhere(s.t, "sh: "+command+" "):
		return nil
	case words[0] == "export":
		return s.export(words[1:])
	case words[0] == "go":
		return s.goCommand(words[1:])
	case words[0] == "make":
		return s.inFile("Makefile", "\n"+words[1]+":")
	case words[0] == "git" && s.page == "CONTRIBUTING.md", words[0] == "cd":
		return nil
	case words[0] == "docker":
		for i, word := range words {
			if strings.HasPrefix(word, "ghcr.io/gauze-mcp/gauze") {
				return parse(words[i+1:])
			}
		}
	case words[0] == "gauze":
		return errors.Join(parse(words[1:]), s.really(command))
	}
	for _, begin := range byHand {
		if strings.HasPrefix(command, begin) && s.page == "docs/RELEASING.md" {
			return nil
		}
	}
	return errors.New("no rule tests this line")
}

// really runs a command of gauze, unless it is only parsed.
func (s *stage) really(command string) error {
	for _, only := range onlyParsed {
		if regexp.MustCompile(only.line).MatchString(command) {
			return nil
		}
	}
	if serves(command) {
		_, err := s.serve(command)
		return err
	}
	out, status := s.run(command)
	switch {
	case status == 0, status == 1 && strings.Contains(out, "confirmation requires a terminal"):
	case status == 1 && strings.HasPrefix(command, "gauze doctor") && strings.Contains(out, "broken"):
	default:
		return fmt.Errorf("exit status %d\n%s", status, out)
	}
	if strings.HasPrefix(command, "gauze run") && !strings.Contains(command, "--help") && !strings.Contains(out, `"tools":[`) {
		return fmt.Errorf("the client got no tools:\n%s", out)
	}
	return nil
}

// printed returns what a command prints.
func (s *stage) printed(command string) (string, error) {
	if serves(command) {
		return s.serve(command)
	}
	out, _ := s.run(command)
	return out, nil
}

// parse checks that gauze has the command, its flags, and as many arguments.
func parse(words []string) error {
	if at := slices.Index(words, "--temporal"); onTemporal(words) && at >= 0 {
		words = slices.Delete(slices.Clone(words), at, at+2) // a flag of a different program, gauze-temporal
	}
	cmd, rest, err := commands().Find(words)
	if err != nil {
		return err
	}
	if !cmd.Runnable() {
		return fmt.Errorf("%s is not a command", strings.Join(words, " "))
	}
	if err := cmd.ParseFlags(rest); errors.Is(err, pflag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// goCommand checks that what a go command names exists: the directory, the package, and the flags of the program.
func (s *stage) goCommand(words []string) error {
	module := "../.."
	if words[0] == "-C" {
		module, words = filepath.Join(module, words[1]), words[2:]
	}
	dir := module
	for i, word := range words[1:] {
		switch path := strings.TrimSuffix(word, "/..."); {
		case word == "github.com/gauze-mcp/gauze/cmd/gauze@latest", strings.HasPrefix(word, "-") && words[0] == "test":
			return s.inFile("go.mod", "module github.com/gauze-mcp/gauze\n")
		case path == "." || strings.HasPrefix(path, "./"):
			dir = filepath.Join(module, path)
			if found, _ := filepath.Glob(filepath.Join(dir, "*.go")); len(found) == 0 && path == word {
				return fmt.Errorf("%s has no package", dir)
			}
			if path == "./cmd/gauze" && words[0] == "run" {
				return parse(words[i+2:])
			}
		case strings.HasPrefix(word, "-"):
			if err := hasFlag(dir, strings.TrimLeft(word, "-")); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasFlag checks that a program in dir declares a flag.
func hasFlag(dir, name string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, file := range files {
		text, readErr := os.ReadFile(file)
		if err = errors.Join(err, readErr); strings.Contains(string(text), `"`+name+`"`) {
			return err
		}
	}
	return errors.Join(err, fmt.Errorf("%s has no flag -%s", dir, name))
}

func (s *stage) inFile(file, text string) error {
	if !strings.Contains(readPage(s.t, file), text) {
		return fmt.Errorf("%s has no %q", file, strings.TrimSpace(text))
	}
	return nil
}

// export sets variables for the commands after it.
func (s *stage) export(words []string) error {
	for _, word := range words {
		if !strings.Contains(word, "=") {
			return fmt.Errorf("%s has no value", word)
		}
		s.env = append(s.env, s.actual(word))
	}
	return nil
}

// split returns the words of a command as a shell reads them. It refuses what would make the shell run or
// write anything.
func (s *stage) split(command string) ([]string, error) {
	command = strings.TrimSuffix(command, "&&")
	switch {
	case command == "":
		return nil, nil
	case strings.ContainsAny(command, ";|&<>`") || strings.Contains(command, "$("):
		return nil, fmt.Errorf("%s: more than one command", command)
	}
	cmd := exec.Command("sh", "-c", `printf '%s\0' `+command)
	cmd.Env = s.env
	out, err := cmd.Output()
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), err
}

// console runs the commands of a block, which begin with $, and compares what they print with the lines after
// them. A last line … stands for the rest. It returns the block as it should be.
func (s *stage) console(b block) string {
	s.t.Helper()
	return s.session(b, "$ ", func(command string) (string, error) {
		words, err := s.split(command)
		if err == nil && words[0] != "gauze" {
			err = errors.New("not a command of gauze")
		}
		if err = errors.Join(err, parse(words[1:])); err != nil {
			return "", err
		}
		return s.printed(command)
	})
}

// session runs what is after each prompt of a block, and compares the answers.
func (s *stage) session(b block, prompt string, answer func(command string) (string, error)) string {
	s.t.Helper()
	var is strings.Builder
	for i, part := range strings.Split("\n"+b.text, "\n"+prompt) {
		if i == 0 {
			continue
		}
		command, shown, _ := strings.Cut(part, "\n")
		out, err := answer(command)
		if err != nil {
			s.wrong("%s: %s: %v", b.where(), command, err)
		}
		out = strings.Trim(s.asShown(out), "\n")
		shown, cut := strings.CutSuffix(strings.Trim(shown, "\n"), "\n…")
		if want := normal(shown); want != normal(out) && !(cut && strings.HasPrefix(normal(out), want)) {
			if !s.update {
				s.wrong("%s: %s\nprints\n%s\nand not\n%s\nRun go test ./cmd/gauze -run TestDocs -update, and read what changed.", b.where(), command, out, shown)
			}
			if lines := strings.SplitAfter(out, "\n"); cut && len(lines) > strings.Count(shown, "\n")+1 {
				out = strings.Join(lines[:strings.Count(shown, "\n")+1], "") + "…"
			}
			shown, cut = out, false
		}
		if i > 1 {
			is.WriteString("\n")
		}
		is.WriteString(prompt + command + "\n" + shown + "\n")
		if cut {
			is.WriteString("…\n")
		}
	}
	return is.String()
}

var (
	dates    = regexp.MustCompile(`\b(20\d\d-\d\d-\d\d|\d\d? [A-Z][a-z][a-z]) \d\d:\d\d(:\d\d)?\b`)
	times    = regexp.MustCompile(`\b\d+(\.\d+)? ?(µs|ms|s|min|m|h)\b`)
	hashes   = regexp.MustCompile(`\b[0-9a-f]{32}\b|\b(weekly-report)-[a-z0-9]{6}\b`)
	machines = regexp.MustCompile(`\bgo1\.[0-9.]+|\blinux/[a-z0-9]+\b|\bpid \d+|\bprocess \d+`)
)

// normal returns text without what differs between two runs or machines: times, hashes, ids, and how lines are broken.
func normal(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, differs := range []*regexp.Regexp{dates, times, hashes, machines} {
		text = differs.ReplaceAllString(text, "~")
	}
	return text
}
