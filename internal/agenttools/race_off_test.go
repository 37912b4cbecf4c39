//go:build !race

package agenttools

const raceEnabled = false
