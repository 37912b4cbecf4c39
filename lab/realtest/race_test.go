//go:build linux && race

package realtest

const underRace = true
