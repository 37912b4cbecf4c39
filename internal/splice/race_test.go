//go:build race

package splice

// The race detector makes everything ten times slower, and there is nothing
// here for it to find: a tenth of the documents is enough.
func init() { rounds /= 10 }
