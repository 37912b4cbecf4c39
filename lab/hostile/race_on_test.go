//go:build race

package hostile

// defaultProjects is how many projects are tried under the race detector, which
// watches the test and not gauze: the check runs all of them without it.
const defaultProjects = 48
