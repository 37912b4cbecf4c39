// Package upfile reads the file of gauze up: which servers it has, which of them each profile shows,
// and which token is for which profile.
//
//	include: [cursor, claude-code/notes, ./other.json, "./other.json#notes"]
//	servers:
//	  github: {url: https://example.com/mcp, login: work, tools: {allow: ["get_*", create_issue], deny: ["*delete*"]}}
//	  files:  {command: [npx, -y, "@modelcontextprotocol/server-filesystem", /home/me/notes], idle: 10m}
//	  notes:  {from: cursor/notes, share: principal, policies: {search: {timeout: 20s}}}
//	profiles:
//	  review: {servers: [github, files], tools: {deny: ["*delete*"]}, list: direct}
//	tokens:
//	  ci: {env: GAUZE_CI_TOKEN, profile: review}
//
// A file is valid as a whole, or nothing of it is used; Read returns all its problems together. But a
// client's file that is broken, or has lost an entry, costs only the servers that come from it.
//
//	upfile.go   File: what a file says
//	read.go     Read: its sections
//	server.go   one server; settings.go what else it says about it; login.go how gauze logs in to it
//	include.go  entries of clients' files
//	profile.go  profiles
//	token.go    tokens
//	origin.go   At: a server as a session starts it
//	trust.go    servers that the user has to confirm
//	filter.go   which tools are listed
//	diff.go     Diff: what a new version of a file changes
//	gather.go   Gather: servers of clients in the file; InFleet: its servers among those of clients; write.go its text
//	problem.go  what is wrong with a file
//
// Clients' entries are looked up from the directory of the file, whose project counts: which servers a
// file has does not depend on where gauze up was started. An entry of a project, or of a file that is
// in a repository, is not started until the user has seen it as it is now (fleet/seen.go).
package upfile

import (
	"os"
	"path/filepath"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/document"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// DefaultPath returns where the user's own file is, or "" if the user has no configuration directory.
func DefaultPath() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "gauze", "up.yaml")
}

// File is a file that was read and is valid.
type File struct {
	Path     string   // absolute
	Servers  []Server // in the order of the file, includes expanded where they stand
	Profiles []Profile
	Tokens   []Token
	Skipped  []Skip   // entries of includes that are not among Servers
	Missing  Problems // what the file refers to and cannot be used, because another file is broken or has changed
	Watch    []string // the file, those that it includes, and where confirmations are kept, whether they exist or not

	shown    string                       // the path as it was given
	tokensAt map[string]document.Position // by name
}

// Server is one server of a file.
type Server struct {
	Key         string
	Spec        launch.Spec             // how it is started or reached in the environment of gauze; At has that of a session
	Source      string                  // where it is written: "up.yaml:12" or "cursor/notes"
	Pending     string                  // why it is not started until the user has confirmed it, and how; empty: it may be started
	Tools       Filter                  // which tools are listed and may be called
	Policies    map[string]proxy.Policy // by tool
	Share       string                  // ShareSession or SharePrincipal; empty: the default of the command
	Idle        time.Duration           // it is stopped after this long without use; 0: the default of the command
	MaxInFlight int                     // calls at the same time; 0: no limit
	Lock        string                  // what happens to calls of tools that have changed: one of those of proxy.Known; empty: the default
	Renamed     string                  // why an included entry has another key than its name proposes
	Unset       []string                // environment variables that it refers to and that gauze does not have

	origin origin
}

// Values of Server.Share.
const (
	ShareSession   = "session"   // one process for each session of a client
	SharePrincipal = "principal" // one process for all sessions of a user with the same directory and environment
)

// Skip is an entry of an include that is left out.
type Skip struct{ Source, Why string }

// Profile is a selection of servers and tools.
type Profile struct {
	Name    string
	Servers []string // keys
	Tools   Filter
	List    string // ListDirect, ListSearch or ListAuto
}

// Values of Profile.List.
const (
	ListDirect = "direct" // every tool is listed
	ListSearch = "search" // tools are found by a search
	ListAuto   = "auto"   // search, if there are many tools and the client does not search itself
)

// Token is a token with which clients may use a profile.
type Token struct {
	Name    string
	Env     string // the environment variable with the token
	Profile string // empty: every server
}

// Server returns the server with this key, or nil.
func (f *File) Server(key string) *Server {
	for i := range f.Servers {
		if f.Servers[i].Key == key {
			return &f.Servers[i]
		}
	}
	return nil
}

// Profile returns the profile with this name, or nil.
func (f *File) Profile(name string) *Profile {
	for i := range f.Profiles {
		if f.Profiles[i].Name == name {
			return &f.Profiles[i]
		}
	}
	return nil
}
