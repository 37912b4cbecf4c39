//go:build race

package main

// underRace: the race detector makes a hundred starts of gauze take minutes.
const underRace = true
