package kernel_test

import (
	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"github.com/gauze-mcp/gauze/internal/wrap/proxy"
)

// The stories are told with whole sessions: the kernel and its stages.
type (
	Options      = proxy.Options
	Session      = proxy.Session
	Timing       = proxy.Timing
	Limits       = proxy.Limits
	Policy       = proxy.Policy
	Told         = proxy.Told
	EndedCall    = proxy.EndedCall
	Observation  = proxy.Observation
	ObservedTool = proxy.ObservedTool
	Counters     = proxy.Counters
	Trace        = proxy.Trace
	TracedCall   = proxy.TracedCall
	Sampler      = proxy.Sampler
	Shelf        = proxy.Shelf
)

var (
	New   = proxy.New
	Renew = proxy.Renew
)

const (
	ReadOnly      = kernel.ReadOnly
	Idempotent    = kernel.Idempotent
	Unsafe        = kernel.Unsafe
	StateStarting = kernel.StateStarting
	AllTools      = proxy.AllTools
	LookEvery     = proxy.LookEvery
)
