//go:build !race

package faultyserver

func raceEnv() []string { return nil }
