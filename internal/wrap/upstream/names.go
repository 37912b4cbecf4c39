package upstream

import (
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/access/login"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/life"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/process"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream/web"
)

// What users of an Upstream see of the packages below.
type (
	Evidence = life.Evidence
	Line     = life.Line
	Stage    = life.Stage
	Loss     = life.Loss
	RPCError = life.RPCError
	Response = life.Response
	AtLimit  = life.AtLimit
	Survey   = life.Survey
	Program  = launch.Program

	Vitals = process.Vitals

	Sending      = web.Sending
	Remote       = web.Remote
	Confirm      = web.Confirm
	Access       = web.Access
	Logins       = web.Logins
	LoginAttempt = web.LoginAttempt
)

// How far a connection got.
const (
	Nowhere     = life.Nowhere
	Located     = life.Located
	Started     = life.Started
	Spoke       = life.Spoke
	Initialized = life.Initialized
	Listed      = life.Listed
)

// Reasons of an end that is not a failure.
const (
	ClientLeft  = life.ClientLeft
	UserRestart = life.UserRestart
	NewCommand  = life.NewCommand
	NotNeeded   = life.NotNeeded
)

// What a process and a URL can be relied on for.
const (
	ProvesUnread   = process.ProvesUnread
	CPUTick        = process.CPUTick
	MaxStopTime    = process.MaxStopTime
	StickySessions = web.StickySessions
)

// NewRemote prepares to reach the server at the URL of spec, with the login that the user has for it.
func NewRemote(spec launch.Spec) (*Remote, error) { return web.NewRemote(spec, Access{}) }

// NewRemoteVia is NewRemote with requests that are sent as access specifies.
func NewRemoteVia(spec launch.Spec, access Access) (*Remote, error) {
	return web.NewRemote(spec, access)
}

// LoginCause describes a login that a person has to make. failed is why an attempt failed, nil if
// there was none.
func LoginCause(n *login.Needed, failed error) fault.Cause { return life.LoginCause(n, failed) }

// Seeded reports whether a safeguard is disabled by name, in a build with the tag seededbugs.
func Seeded(bug string) bool { return life.Seeded(bug) }
