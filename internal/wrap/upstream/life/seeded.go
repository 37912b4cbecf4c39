//go:build !seededbugs

package life

// Seeded returns false. Built with the tag seededbugs, it disables one safeguard by name, to show
// that the checker of the kill storm would notice.
func Seeded(string) bool { return false }
