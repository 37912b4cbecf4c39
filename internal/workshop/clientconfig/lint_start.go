package clientconfig

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig/reference"
	"github.com/gauze-mcp/gauze/internal/workshop/splice"
)

// paths checks paths that the client does not resolve as a shell would.
func (l entryLinter) paths() {
	anywhere := !has(l.node, l.fields.Cwd) && !l.c.InProject()
	for _, v := range l.texts() {
		at := tilde(v.text)
		switch {
		case v.part&(reference.Command|reference.Args|reference.Cwd) == 0, l.inCode(v):
		case at >= 0:
			full := v.text[:at] + strings.TrimRight(l.c.Home.Home, `/\`) + v.text[at+1:]
			fix := when(!l.c.shared() && l.c.Home.Home != "", set(full, v.path))
			l.report("tilde", v.node, quoted(v.name)+" uses ~ for the home directory", "use the full path", fix...)
		case anywhere && v.part != reference.Cwd && relative(v.text):
			l.report("relative-path", v.node, quoted(v.name)+" uses a path relative to the working directory", "")
		}
	}
}

// program checks whether the client can start the program.
func (l entryLinter) program() {
	f, command := l.fields, l.e.Spec.Command
	name := program(command)
	at, ok := member(l.node, f.Command)
	if !ok || command == "" {
		return
	}
	isScript := slices.Contains([]string{"npx", "npm", "pnpm", "yarn"}, strings.ToLower(command)) && at.Kind() == splice.StringKind
	if isScript && l.c.Home.OS == "windows" && l.c.Client.CmdShim {
		args, hasArgs := member(l.node, f.Args)
		all := list(append([]string{"/c", command}, words(args)...))
		fix := when(!hasArgs || areWords(args), set("cmd", l.e.at(f.Command)), set(all, l.e.at(f.Args)))
		next := fmt.Sprintf(`set the command to "cmd" and start the arguments with "/c", %q`, command)
		l.report("windows-needs-cmd", at, fmt.Sprintf("%s cannot start %s on Windows without cmd", l.client, name), next, fix...)
	}
	installed := takesCommandLine(name) && !slices.Contains([]string{"sh", "bash", "zsh", "java", "ruby", "php"}, name) // not with macOS
	if installed && !strings.Contains(command, "/") && l.c.Home.OS == "darwin" && l.c.Client.GUIPath {
		l.report("gui-path", at, fmt.Sprintf("%s may not find %s", l.client, name), "use the full path, as printed by: which "+name)
	}
}

// gauze checks that the client finds the gauze that the entry starts. The fix names the one that is running.
func (l entryLinter) gauze() {
	command, home := l.e.Spec.Command, l.c.Home
	at, ok := member(l.node, l.fields.Command)
	if !ok || !l.e.RunsGauze() {
		return
	}
	word := l.e.at(l.fields.Command)
	if l.fields.Argv {
		word = below(word, 0)
	}
	isOurs := command == home.Gauze
	known := isOurs && command != home.Copy // which may not have been made
	next, fix := "", when(home.Gauze != "" && !isOurs, set(l.c.Program(home.Gauze), word))
	if fix != nil {
		next = "start " + quoted(l.c.Program(home.Gauze)) + " instead"
	}
	switch {
	case command == "gauze" && home.absolute(home.Gauze) && !setsPath(l.e.Spec.Env, home.Environ) && !home.onPath():
		if l.c.shared() {
			next, fix = "add "+home.parent(home.Gauze)+" to your PATH", nil
		}
		l.report("gauze-by-name", at, "gauze is not on your PATH", next, fix...)
	case known || !home.absolute(command) || home.exists(command):
	case isOurs:
		l.report("gauze-missing", at, "gauze is no longer at "+quoted(command), "run gauze doctor --fix, which copies this gauze binary there")
	default:
		l.report("gauze-missing", at, "gauze is no longer at "+quoted(command), next, fix...)
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
	isScript := slices.ContainsFunc(common().Scripts, func(ending string) bool { return strings.HasSuffix(word, ending) })
	return isScript && !strings.ContainsAny(word[:1], `/~-\`) && !strings.ContainsAny(word, ":${%@")
}

// docker checks that a container is connected to stdin and stdout.
func (l entryLinter) docker() {
	field, first := l.fields.Args, 0
	if l.fields.Argv {
		field, first = l.fields.Command, 1
	}
	args, ok := member(l.node, field)
	all, items := words(args), args.Items()
	isContainer := slices.Contains([]string{"docker", "podman"}, program(l.e.Spec.Command))
	if !ok || !isContainer || !areWords(args) || len(all) <= first || all[first] != "run" {
		return
	}
	interactive := false
	for i := first + 1; i < len(all) && strings.HasPrefix(all[i], "-"); i++ {
		word, item, change := all[i], items[i], remove(l.e.at(field, i))
		letters := map[string]string{"--interactive": "i", "--interactive=true": "i", "--detach": "d", "--tty": "t"}[word]
		switch {
		case slices.Contains(common().DockerValues, word):
			i++
		case strings.Trim(word[1:], "itdP") == "":
			letters = word[1:]
			if rest := strings.NewReplacer("d", "", "t", "").Replace(word); rest != "-" {
				change = set(rest, change.Path)
			}
		}
		next := "remove " + word
		if len(letters) > 1 {
			next = "remove the %s from " + word
		}
		interactive = interactive || strings.Contains(letters, "i")
		switch {
		case strings.Contains(letters, "d"):
			l.report("docker-detached", item, "the container runs detached", strings.Replace(next, "%s", "d", 1), change)
		case strings.Contains(letters, "t"):
			l.report("docker-terminal", item, "the container is started with a terminal", strings.Replace(next, "%s", "t", 1), change)
		}
	}
	if !interactive {
		more := slices.Insert(slices.Clone(all), first+1, "-i")
		l.report("docker-without-input", items[first], "the container is started without -i", "add -i after run", set(list(more), l.e.at(field)))
	}
}

// timeouts checks numbers and their units.
func (l entryLinter) timeouts() {
	for _, t := range l.fields.Timeouts {
		m, ok := member(l.outer, t.Field)
		if !ok || m.Kind() == splice.MapKind {
			continue
		}
		path, name := below(l.e.Path, t.Field), strconv.Quote(t.Field)
		n, isNumber := number(m)
		switch {
		case !isNumber:
			l.notANumber(t, m, path)
		case n < 0:
			l.report("timeout-negative", m, name+" is negative", "remove the field, or use a positive number", remove(path))
		case t.Unit == time.Second && n >= 1000 && math.Mod(n, 500) == 0:
			var fix Edit
			next := "if you meant milliseconds, convert the number to seconds"
			const minUnlikely = 10000 // a timeout of hours is unlikely to be intended
			if n >= minUnlikely && n < minUnlikely*1000 && math.Mod(n, 1000) == 0 {
				fix, next = Edit{set(int(n/1000), path)}, "convert the number to seconds"
			}
			l.report("timeout-unit", m, fmt.Sprintf("%s is in seconds here, so %v means %v", name, n, roughly(n)), next, fix...)
		case t.Unit == time.Millisecond && n > 0 && n <= 600:
			fix := when(n == math.Trunc(n), set(int(n)*1000, path))
			what := fmt.Sprintf("%s is in milliseconds here, so %v is less than a second", name, n)
			l.report("timeout-unit", m, what, "convert the number to milliseconds", fix...)
		case t.Max > 0 && (n > t.Max.Seconds() || n < t.Min.Seconds()):
			what, bound := "greater than the maximum", t.Max
			if n < t.Min.Seconds() {
				what, bound = "less than the minimum", t.Min
			}
			what = fmt.Sprintf("%s is %s of %v", name, what, bound)
			l.report("timeout-out-of-range", m, what, fmt.Sprintf("use %d", t.count(bound)), set(t.count(bound), path))
		}
	}
}

func (l entryLinter) notANumber(t Timeout, m splice.Node, path []any) {
	s, _ := text(m)
	n, err := strconv.ParseFloat(s, 64)
	fix := when(err == nil && n >= 0 && n < 1e9 && n == math.Trunc(n), set(int(n), path))
	unit := map[time.Duration]string{time.Millisecond: "milliseconds", time.Second: "seconds"}[t.Unit]
	p := l.report("timeout-not-a-number", m, fmt.Sprintf("%q is not a number", t.Field), "use a number of "+unit, fix...)
	if t.Text && fix != nil {
		p.Severity = Warning
	}
}

// slowStart reports a server that may start more slowly than the client waits.
func (l entryLinter) slowStart() {
	mayTakeLong := l.e.Spec.Command != "" && l.e.Spec.Downloads() && !l.e.Wrapped
	isSet := slices.ContainsFunc(l.fields.Timeouts, func(t Timeout) bool { return t.Start && has(l.outer, t.Field) })
	t, ok := l.fields.start()
	if !ok || t.Default == 0 || t.Default >= time.Minute || isSet || !mayTakeLong {
		return
	}
	what := fmt.Sprintf("%s waits %v for a server to start, but this one may have to be downloaded first", l.client, t.Default)
	enough := int(time.Minute / t.Unit)
	l.report("timeout-short", l.outer, what, fmt.Sprintf("add %q: %d", t.Field, enough), set(enough, l.e.Path, t.Field))
}

// roughly returns a number of seconds in hours or minutes.
func roughly(seconds float64) string {
	if seconds >= 2*3600 {
		return fmt.Sprintf("%.0f hours", seconds/3600)
	}
	return fmt.Sprintf("%.0f minutes", seconds/60)
}
