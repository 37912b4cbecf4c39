// Package service makes gauze up a service of the user's session: a systemd user unit, a launchd agent or a
// Windows task. It says what is written and what is run; others show it, ask, and do it.
//
//	service.go  For: the service on one system
//	systemd.go, launchd.go, windows.go  its definition there
package service

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/shell"
)

// Name is the name of the service.
const Name = "gauze-up"

// mark is in each definition that gauze wrote, and in no other.
const mark = "This file was written by gauze up, which also uninstalls it."

// Spec is what the service runs.
type Spec struct {
	Program string   // the absolute path of gauze
	Args    []string // after the name of the program
	File    string   // of gauze up
	Env     []string // variables that it gets, as NAME=VALUE
	EnvFile string   // a file with further variables, which need not exist; only systemd reads it
	Home    string
	Config  string // the user's configuration directory
	State   string // gauze's state directory
	User    string // for Windows: DOMAIN\NAME
	UID     string // for launchd
}

// Definition is a service on one system.
type Definition struct {
	Kind    string // what it is called there
	Path    string // its file
	Content string // of the file

	Exists []string  // a command that prints a <Task if the system has such a service, whatever file there is; nil: the file is all
	Start  []Command // make the system use the file, and start it now
	Stop   []Command // stop it, before the file is removed
	Forget []Command // after that
	Keep   string    // what else the user may want to run; empty: nothing
	Log    Command   // shows what the service has said
}

// Command is a command line.
type Command struct {
	Words   []string
	MayFail bool // as it does if the service is not running
}

// Line returns the command as the user would type it on an operating system.
func (c Command) Line(goos string) string { return shell.For(goos).Line(c.Words...) }

// run returns a command that must succeed.
func run(words ...string) Command { return Command{Words: words} }

// For returns the service on an operating system.
func For(goos string, s Spec) Definition {
	switch goos {
	case "darwin":
		return launchd(s)
	case "windows":
		return windowsTask(s)
	}
	return systemd(s)
}

// IsOurs reports whether gauze wrote the content of a file.
func IsOurs(content []byte) bool { return strings.Contains(string(Plain(content)), mark) }

// Carried are the variables of the environment that decide which programs, files and state gauze finds.
var Carried = []string{"PATH", "GAUZE_STATE_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"}

// Carry returns those of an environment that the service gets.
func Carry(environ []string) (all []string) {
	for _, pair := range environ {
		if name, value, _ := strings.Cut(pair, "="); value != "" && slices.Contains(Carried, name) {
			all = append(all, pair)
		}
	}
	slices.Sort(all)
	return all
}
