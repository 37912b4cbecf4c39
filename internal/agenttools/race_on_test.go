//go:build race

package agenttools

const raceEnabled = true
