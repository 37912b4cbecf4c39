package kernel

import (
	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// emit emits an event. c is the call that it is about, nil if there is none.
func (s *Session) emit(c *Call, e event.Event) {
	e.Server = s.config.Name
	if c != nil {
		e.Method, e.Call, e.Client = c.msg.Method, c.number, c.client
		if e.Tool == "" {
			e.Tool = c.tool
		}
	}
	if e.Client == "" {
		e.Client = s.client.clientName()
	}
	for _, stage := range s.config.Stages {
		stage.Event(c, e)
	}
	s.config.Events.Emit(e)
}

// clientInfo is how a client introduced itself.
type clientInfo struct {
	raw  string
	name string
}

// introduced returns the name in a clientInfo, or that of the session's client if it has none. A
// modern client introduces itself with every request, so the last name is kept.
func (k *client) introduced(raw []byte) string {
	last := k.info.Load()
	if raw == nil {
		if last == nil {
			return ""
		}
		return last.name
	}
	if last != nil && last.raw == string(raw) {
		return last.name
	}
	value, _ := wire.Field(raw, "name")
	name, _ := wire.Text(value)
	info := &clientInfo{name: k.s.config.Words.Name(name)}
	if len(raw) <= 4<<10 { // a larger one is read again each time
		info.raw = string(raw)
	}
	k.info.Store(info)
	return info.name
}

// clientName returns the name of the client, empty before it has introduced itself.
func (k *client) clientName() string { return k.introduced(nil) }
