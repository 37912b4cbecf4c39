//go:build seededbugs

package life

import "os"

// Seeded reports whether the named safeguard is disabled.
func Seeded(bug string) bool { return os.Getenv("GAUZE_SEEDED_BUG") == bug }
