// Package live shows which wraps run on this machine, without a daemon: every gauze run and gauze
// serve announces itself with a small file in the state directory and answers questions on a socket.
// gauze status, gauze top and the dashboard ask all of them. A wrap that is not asked does nothing.
// A wrap that was killed is recognized because nothing answers at its address and its process is gone.
//
//	live.go      what a wrap says about itself: Server, Detail, Tool, Call, Line
//	file.go      File: the file of gauze up, and Reload
//	json.go      their JSON
//	announce.go  Announce: the file and the socket of one wrap
//	ask.go       All, One, Log and Restart ask the wraps of this user
//	running_*.go whether a process runs
package live

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/health"
)

// Server is one wrapped server. All texts are cleaned and secrets are masked.
type Server struct {
	ID      string `json:"id"`      // identifies the wrap among those of this user
	Name    string `json:"name"`    // what the user called the server, or its command line or URL
	Client  string `json:"client"`  // the name with which the client introduced itself
	PID     int    `json:"pid"`     // gauze's process
	Via     string `json:"via"`     // run, serve or task
	Version string `json:"version"` // gauze's

	State     string    `json:"state"`     // a health state, starting before the first connection, StateAsleep or StateSilent
	Since     time.Time `json:"since"`     // when the wrap began
	Up        time.Time `json:"up"`        // since when the server is connected; zero: it is not
	ServerPID int       `json:"serverPid"` // the server's process; 0: none, or at a URL
	Sessions  int       `json:"sessions"`  // the number of client sessions

	Restarts   uint64    `json:"restarts"`
	LastReason string    `json:"lastReason,omitempty"` // why the server was last restarted
	LastDeath  time.Time `json:"lastDeath,omitzero"`

	ConsecutiveFailures int       `json:"consecutiveFailures"`  // those since the last response, failed starts included
	LastFailure         time.Time `json:"lastFailure,omitzero"` // when a call, a probe, a connection or a start last failed
	LastCause           string    `json:"lastCause,omitempty"`  // what that failure was
	LastSuccess         time.Time `json:"lastSuccess,omitzero"` // when the server last answered
	NextTry             time.Time `json:"nextTry,omitzero"`     // when the next attempt to connect is due; zero: none is

	File *File `json:"file,omitempty"` // nil: it is not a server of gauze up

	Counts Counts `json:"-"` // in the same object, see json.go
}

// Counts are the numbers of a wrapped server, since its wrap began.
type Counts struct {
	ToolCount int    `json:"tools"`
	Calls     uint64 `json:"calls"` // tool calls from the client. Each is answered, failed or cancelled, or still open.
	Failed    uint64 `json:"failed"`
	Unknown   uint64 `json:"unknown"` // those of Failed whose outcome is unknown
	Cancelled uint64 `json:"cancelled"`
	Open      int    `json:"open"`

	Healed    uint64 `json:"healed"`    // crashes, hangs and lost connections after which the session was restored
	Replayed  uint64 `json:"replayed"`  // calls that were sent again
	Repaired  uint64 `json:"repaired"`  // calls that gauze changed by rules so that they match the tool's schema
	Corrected uint64 `json:"corrected"` // calls that a model corrected
	Saved     uint64 `json:"saved"`     // calls that would have failed without gauze, and succeeded

	Latency    health.Histogram  `json:"latency"` // how long answered tool calls took for the client
	P95        float64           `json:"p95Ms"`
	Closures   map[string]uint64 `json:"closures,omitempty"`   // ended connections by reason, from a small set of words
	Recovery   health.Histogram  `json:"recovery"`             // how long the server was away
	Rules      map[string]uint64 `json:"rules,omitempty"`      // counts repairs by rule
	Faults     map[string]uint64 `json:"faults,omitempty"`     // counts calls answered with a fault, by its code
	Verdicts   map[string]uint64 `json:"-"`                    // counts what a task decided about the server. The journal has them also after the task, so they are not asked for.
	Unrecorded int               `json:"unrecorded,omitempty"` // events that are missing from the journal

	NotRecorded bool `json:"notRecorded,omitempty"` // the user turned the journal off
}

// Unsummed reports whether the journal lacks some of what gauze did for these servers.
func Unsummed(servers []Server) bool {
	return slices.ContainsFunc(servers, func(s Server) bool {
		c := s.Counts
		return (c.NotRecorded || c.Unrecorded > 0) && c.Healed+c.Repaired+c.Corrected+c.Saved > 0
	})
}

// States of a wrap beside those of its server's health.
const (
	StateAsleep = "asleep"         // nothing needs the server, and it is not running: the next call starts it
	StateSilent = "not responding" // the wrap does not answer although its process runs
)

// Detail is everything about one wrapped server.
type Detail struct {
	Server  Server   `json:"-"`       // in the same object, see json.go
	Command string   `json:"command"` // how the server is started or reached, secrets masked
	Tools   []Tool   `json:"toolList,omitempty"`
	Recent  []Call   `json:"recent,omitempty"` // the last calls, newest last
	Log     []string `json:"log,omitempty"`    // the end of the server's stderr
}

// Tool is one tool of a server.
type Tool struct {
	Name    string           `json:"name"`
	Class   string           `json:"class"`            // read-only, idempotent or unsafe: whether a call may be repeated
	Policy  string           `json:"policy,omitempty"` // what the user configured for it
	Calls   uint64           `json:"calls"`
	Failed  uint64           `json:"failed"`
	Latency health.Histogram `json:"latency"`
}

// Call is one tool call. Results are never part of it, and arguments only as far as gauze changed them.
type Call struct {
	ID      string         `json:"id"`
	Time    time.Time      `json:"time"`
	Client  string         `json:"client,omitempty"`
	Tool    string         `json:"tool"`
	Outcome string         `json:"outcome"` // ok, error (the tool's own), cancelled, or the code of a fault
	Took    time.Duration  `json:"tookNs"`
	Without time.Duration  `json:"withoutNs,omitempty"` // when it would have failed without gauze; 0: it would not have
	Healed  string         `json:"healed,omitempty"`    // replayed, waited, repaired or corrected
	Changes []event.Change `json:"changes,omitempty"`
	Told    string         `json:"told,omitempty"` // what gauze added for the caller's model
}

// Line is a line that a server printed, cleaned and with secrets masked.
type Line struct {
	Time time.Time `json:"time"`
	From string    `json:"from"` // Stderr or Stdout
	Text string    `json:"text"`
	Open bool      `json:"open,omitempty"` // its end has not arrived
}

// Where a server prints a line.
const (
	Stderr = "stderr"
	Stdout = "stdout" // and the line is not a message
)

// Source is what a wrap can be asked.
type Source struct {
	Server  func() Server
	Detail  func() Detail
	Log     func() []Line // the last lines that the server printed, oldest first
	Restart func() error  // replaces the server's process, as after a crash but when no call is in flight

	Reload func() (changed string, err error) // reads the file of gauze up again; nil: there is none
}

// request is one line from who asks.
type request struct {
	Nonce string `json:"nonce"`
	Ask   string `json:"ask"` // server, detail, log, restart or reload
	Proof []byte `json:"proof"`
}

// response is one line.
type response struct {
	Error string          `json:"error,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
	Proof []byte          `json:"proof"`
}
