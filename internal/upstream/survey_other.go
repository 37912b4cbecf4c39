//go:build !linux

package upstream

// survey returns nothing: it is implemented only for Linux.
func (g *group) survey([]string) Survey { return Survey{} }
