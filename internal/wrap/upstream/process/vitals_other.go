//go:build !linux && !darwin && !windows

package process

// vitals returns nothing: it is not implemented for this system. What is not known does not count
// against the server.
func (g *group) vitals() Vitals { return Vitals{} }
