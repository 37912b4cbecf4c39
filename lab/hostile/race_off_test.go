//go:build !race

package hostile

// defaultProjects is how many projects are tried.
const defaultProjects = 504
