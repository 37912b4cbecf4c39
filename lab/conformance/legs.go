package main

import (
	"slices"
	"strings"
)

// leg is one way to run the suite through gauze.
type leg struct {
	version string // protocol version
	kind    kind
}

type kind string

const (
	httpToHTTP  kind = "http"   // suite -> gauze -> server over HTTP
	httpToStdio kind = "stdio"  // suite -> gauze -> server over stdio
	client      kind = "client" // client -> gauze -> the suite's own servers
	upOne       kind = "up-one" // suite -> gauze up, /mcp/SERVER -> one of three servers
	upAll       kind = "up-all" // suite -> names mapped -> gauze up, /mcp -> three servers
	agents      kind = "agents" // suite -> gauze serve -> gauze mcp, our own server
)

var allLegs = []leg{
	{"2025-11-25", httpToHTTP},
	{"2025-11-25", httpToStdio},
	{"2025-11-25", upOne},
	{"2025-11-25", upAll},
	{"2025-11-25", client},
	{"2026-07-28", httpToHTTP},
	{"2026-07-28", httpToStdio},
	{"2026-07-28", upOne},
	{"2026-07-28", upAll},
	{"2026-07-28", client},
	{"2025-11-25", agents},
	{"2026-07-28", agents},
}

func (l leg) String() string { return l.version + "-" + string(l.kind) }

// direct returns the leg without gauze. It always uses HTTP, the only transport of the suite.
func (l leg) direct() leg {
	if l.kind == httpToStdio || l.kind == upOne || l.kind == upAll {
		l.kind = httpToHTTP
	}
	return l
}

// chooseLegs returns the legs with one of these names, versions or kinds, which commas separate. It
// returns none if one of them names no leg.
func chooseLegs(only string) []leg {
	if only == "" {
		return slices.Clone(allLegs)
	}
	chosen := map[leg]bool{}
	for word := range strings.SplitSeq(only, ",") {
		known := false
		for _, l := range allLegs {
			if word == l.String() || word == l.version || word == string(l.kind) {
				chosen[l], known = true, true
			}
		}
		if !known {
			return nil
		}
	}
	return slices.DeleteFunc(slices.Clone(allLegs), func(l leg) bool { return !chosen[l] })
}

func legNames(legs []leg) string {
	var names []string
	for _, l := range legs {
		names = append(names, l.String())
	}
	return strings.Join(names, ", ")
}
