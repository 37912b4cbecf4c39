package clientconfig

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// common is what is true of all clients.
var common = parsed[struct {
	// The names of each field of an entry in different clients, and common mistakes.
	Command, Args, Env, URL, Headers, Cwd, Type []string

	OffIfTrue, OffIfFalse []string // fields that disable a server
	Harmless              []string // fields that change nothing about what a client runs, sends or allows
	AllowTools, DenyTools []string // fields that select tools
	Approvals             []string // fields with what the user allows without being asked
	OtherLogins           []string // fields for a login that gauze run has no flags for
	Stdio, HTTP, SSE      []string // the names of transports, without punctuation
	OtherTransports       []string
	CommonVariables       []string // those that desktop programs start with
	SecretVariables       []string // patterns: what some clients do not pass on
	Loading               []string // patterns of variables that control what code runs, what it trusts or where it connects
	Scripts               []string // how their names end
	DockerValues          []string // flags that are followed by a value
	CodeFlags             []string // those of interpreters that introduce code
	CommandLines          []string // programs that are followed by what they run, besides those that fetch it
	Interpreters          []string // programs that run code from their arguments
	Placeholders          []string // what placeholders in examples contain
}]("common.txt")

// matches reports whether the name of a variable matches one of several patterns such as LD_*.
func matches(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, _ := path.Match(pattern, strings.ToUpper(name))
		return ok
	})
}

// switchOff returns the value with which a field of some client disables a server.
func switchOff(name string) (value, is bool) {
	value = slices.Contains(common().OffIfTrue, name)
	return value, value || slices.Contains(common().OffIfFalse, name)
}

// allPlaces are the places of all clients.
func allPlaces(yield func(Place, *Client) bool) {
	for _, c := range clients() {
		for _, p := range c.Places {
			if !yield(p, c) {
				return
			}
		}
	}
}

// serverKeys returns the keys under which clients keep their servers, folded, and a common mistake.
var serverKeys = sync.OnceValue(func() []string {
	keys := []string{"mcpserver"}
	for p := range allPlaces {
		for _, key := range p.Keys {
			if len(key) == 1 && p.Old == "" {
				keys = append(keys, fold(key[0]))
			}
		}
	}
	return keys
})
