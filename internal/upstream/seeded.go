//go:build !seededbugs

package upstream

// Seeded is always false in what we ship. Built with the tag seededbugs, it
// breaks one safeguard by name, so that the kill storm can show its checker
// would notice.
func Seeded(string) bool { return false }
