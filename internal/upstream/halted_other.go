//go:build !linux

package upstream

// halted reports whether the server is stopped.
func (p *pipes) halted() bool { return p.vitals().Stopped }
