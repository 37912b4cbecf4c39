package clientconfig

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/clientconfig/reference"
	"github.com/gauze-mcp/gauze/internal/splice"
)

// paths checks whether the program will be found.
func (l entryLinter) paths() {
	f := l.e.fields
	command := l.e.Spec.Command
	anywhere := f.Cwd == "" || !has(l.e.node, f.Cwd)
	for _, v := range l.texts() {
		switch {
		case v.part&(reference.Command|reference.Args|reference.Cwd) == 0, l.inCode(v):
		case tilde(v.text) >= 0:
			var fix Edit
			if !l.shared() && l.Home.Home != "" {
				at := tilde(v.text)
				fix = Edit{set(v.text[:at]+strings.TrimRight(l.Home.Home, `/\`)+v.text[at+1:], v.path)}
			}
			l.report("tilde", v.node, fmt.Sprintf("%s contains ~ for the home directory", quoted(v.name)), "write the full path", fix...)
		case anywhere && !l.InProject() && v.part != reference.Cwd && relative(v.text):
			l.report("relative-path", v.node, fmt.Sprintf("%s contains a path relative to the working directory", quoted(v.name)), "")
		}
	}
	name := program(command)
	at, ok := member(l.e.node, f.Command)
	if !ok || command == "" {
		return
	}
	if l.Home.OS == "windows" && l.Client.CmdShim && slices.Contains([]string{"npx", "npm", "pnpm", "yarn"}, strings.ToLower(command)) && at.Kind() == splice.StringKind {
		args, hasArgs := member(l.e.node, f.Args)
		fix := Edit{set("cmd", l.at(f.Command)), set(list(append([]string{"/c", command}, words(args)...)), l.at(f.Args))}
		if hasArgs && (args.Kind() != splice.ListKind || len(words(args)) != len(args.Items())) {
			fix = nil
		}
		l.report("windows-needs-cmd", at, fmt.Sprintf("%s cannot start %s on Windows without cmd", l.Client.Name, name), fmt.Sprintf(`set the command to "cmd" and start the arguments with "/c", %q`, command), fix...)
	}
	if l.Home.OS == "darwin" && l.Client.GUIPath && !strings.Contains(command, "/") && slices.Contains(runners, name) && !slices.Contains([]string{"sh", "bash", "zsh", "java", "ruby", "php"}, name) {
		l.report("gui-path", at, fmt.Sprintf("%s may not find %s", l.Client.Name, name), "write the full path, as printed by: which "+name)
	}
}

// tilde returns where a home directory starts in a word, or -1.
func tilde(word string) int {
	if word == "~" || strings.HasPrefix(word, "~/") {
		return 0
	}
	if at := strings.Index(word, "=~/"); at >= 0 && strings.HasPrefix(word, "-") {
		return at + 1
	}
	return -1
}

// relative reports whether a path depends on the working directory.
func relative(word string) bool {
	for _, start := range []string{"./", "../", `.\`, `..\`} {
		if strings.HasPrefix(word, start) {
			return true
		}
	}
	script := false
	for _, ending := range []string{".js", ".mjs", ".cjs", ".ts", ".py", ".sh", ".jar"} {
		script = script || strings.HasSuffix(word, ending)
	}
	return script && !strings.HasPrefix(word, "/") && !strings.HasPrefix(word, "~") && !strings.HasPrefix(word, "-") && !strings.ContainsAny(word, ":${%@") && !strings.HasPrefix(word, `\`)
}

// withValue are docker's flags that are followed by a value.
var withValue = []string{"-e", "--env", "-v", "--volume", "-p", "--publish", "--name", "--network", "--net", "--mount", "-w", "--workdir", "--env-file", "-u", "--user", "--entrypoint",
	"--platform", "-l", "--label", "--add-host", "-m", "--memory", "--cpus", "--pull", "--gpus", "-h", "--hostname", "--dns", "--ip", "--security-opt", "--cap-add", "--cap-drop",
	"--device", "--tmpfs", "--ulimit", "--shm-size", "--restart", "--log-driver", "--cidfile", "--ipc", "--pid", "--userns", "--runtime"}

// docker checks that a container is connected to stdin and stdout.
func (l entryLinter) docker() {
	f := l.e.fields
	field, first := f.Args, 0
	if f.Argv {
		field, first = f.Command, 1
	}
	args, ok := member(l.e.node, field)
	all := words(args)
	if !ok || !slices.Contains([]string{"docker", "podman"}, program(l.e.Spec.Command)) || len(all) != len(args.Items()) || len(all) < first+1 || all[first] != "run" {
		return
	}
	interactive, items := false, args.Items()
	for i := first + 1; i < len(all) && strings.HasPrefix(all[i], "-"); i++ {
		word, item := all[i], items[i]
		at := l.at(field, i)
		short := len(word) > 1 && word[1] != '-' && strings.Trim(word[1:], "itdP") == ""
		switch {
		case word == "--interactive" || word == "--interactive=true":
			interactive = true
		case word == "--detach" || word == "-d":
			l.report("docker-detached", item, "the container runs detached", "remove "+word, remove(at))
		case word == "--tty" || word == "-t":
			l.report("docker-terminal", item, "the container is started with a terminal", "remove "+word, remove(at))
		case short:
			interactive = interactive || strings.Contains(word, "i")
			change := remove(at)
			if rest := strings.NewReplacer("d", "", "t", "").Replace(word); rest != "-" {
				change = set(rest, at)
			}
			if strings.Contains(word, "d") {
				l.report("docker-detached", item, "the container runs detached", "remove the d from "+word, change)
			} else if strings.Contains(word, "t") {
				l.report("docker-terminal", item, "the container is started with a terminal", "remove the t from "+word, change)
			}
		case slices.Contains(withValue, word):
			i++
		}
	}
	if !interactive {
		more := slices.Insert(slices.Clone(all), first+1, "-i")
		l.report("docker-without-input", items[first], "the container is started without -i", "add -i after run", set(list(more), l.at(field)))
	}
}

// timeouts checks numbers and their units.
func (l entryLinter) timeouts() {
	const minUnlikely = 10000 // seconds: a timeout of hours is unlikely to be intended
	f := l.e.fields
	isSet := false
	for _, t := range f.Timeouts {
		m, ok := member(l.e.outer, t.Field)
		if !ok || m.Kind() == splice.MapKind {
			isSet = isSet || ok
			continue
		}
		isSet = isSet || t.Start
		path := below(l.e.Path, t.Field)
		n, isNumber := number(m)
		switch {
		case !isNumber:
			var fix Edit
			if s, ok := text(m); ok {
				if n, err := strconv.ParseFloat(s, 64); err == nil && n >= 0 && n < 1e9 && n == math.Trunc(n) {
					fix = Edit{set(int(n), path)}
				}
			}
			p := l.report("timeout-not-a-number", m, fmt.Sprintf("%q is not a number", t.Field), "write a number of "+unitName(t.Unit), fix...)
			if t.Text && fix != nil {
				p.Severity = Warning
			}
		case n < 0:
			l.report("timeout-negative", m, fmt.Sprintf("%q is negative", t.Field), "remove the field, or write a positive number", remove(path))
		case t.Unit == time.Second && n >= 1000 && math.Mod(n, 500) == 0:
			var fix Edit
			next := "if you meant milliseconds, convert the number to seconds"
			if n >= minUnlikely && n < minUnlikely*1000 && math.Mod(n, 1000) == 0 {
				fix, next = Edit{set(int(n/1000), path)}, "convert the number to seconds"
			}
			l.report("timeout-unit", m, fmt.Sprintf("%q is in seconds here, so %v means %v", t.Field, n, roughly(n)), next, fix...)
		case t.Unit == time.Millisecond && n > 0 && n <= 600:
			var fix Edit
			if n == math.Trunc(n) {
				fix = Edit{set(int(n)*1000, path)}
			}
			l.report("timeout-unit", m, fmt.Sprintf("%q is in milliseconds here, so %v is less than a second", t.Field, n), "convert the number to milliseconds", fix...)
		case t.Max > 0 && n > t.Max.Seconds():
			l.report("timeout-out-of-range", m, fmt.Sprintf("%q is greater than the maximum of %v", t.Field, t.Max), fmt.Sprintf("use %d", int(t.Max/t.Unit)), set(int(t.Max/t.Unit), path))
		case t.Min > 0 && n < t.Min.Seconds():
			l.report("timeout-out-of-range", m, fmt.Sprintf("%q is less than the minimum of %v", t.Field, t.Min), fmt.Sprintf("use %d", int(t.Min/t.Unit)), set(int(t.Min/t.Unit), path))
		}
	}
	const minStart = time.Minute
	if i := slices.IndexFunc(f.Timeouts, func(t Timeout) bool { return t.Start && t.Default > 0 && t.Default < minStart }); i >= 0 && !isSet && l.e.Spec.Command != "" && l.e.Spec.Downloads() && !l.e.Wrapped {
		t := f.Timeouts[i]
		l.report("timeout-short", l.e.outer, fmt.Sprintf("%s waits %v for a server to start, but this one may have to be downloaded first", l.Client.Name, t.Default), fmt.Sprintf("add %q: %d", t.Field, time.Minute/t.Unit),
			set(int(time.Minute/t.Unit), l.e.Path, t.Field))
	}
}

func unitName(unit time.Duration) string {
	if unit == time.Millisecond {
		return "milliseconds"
	}
	return "seconds"
}

// roughly returns a number of seconds in hours or minutes.
func roughly(seconds float64) string {
	if seconds >= 2*3600 {
		return fmt.Sprintf("%.0f hours", seconds/3600)
	}
	return fmt.Sprintf("%.0f minutes", seconds/60)
}
