package main

import (
	"encoding/json"
	"os"
	"slices"
)

// wrapStatus is the status that gauze writes when it exits.
type wrapStatus struct {
	Restarts   int       `json:"restarts"`
	Replays    int       `json:"replays"`
	Unknowns   int       `json:"unknowns"`
	RecoveryMS []float64 `json:"recovery_ms"` // from the detected exit to the restored session
	StartMS    []float64 `json:"start_ms"`    // the server's own share of the same recoveries: from spawn to first response
}

// readStatus returns nil if gauze wrote no status.
func readStatus(file string) *wrapStatus {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var s wrapStatus
	if json.Unmarshal(data, &s) != nil {
		return nil
	}
	return &s
}

// recovery summarizes how long recoveries took, and how much of it was not the server's own start.
type recovery struct {
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	StartP50  float64 `json:"start_p50_ms"`
	BeyondP99 float64 `json:"beyond_start_p99_ms"`
}

func (s *wrapStatus) recovery() *recovery {
	if s == nil || len(s.RecoveryMS) == 0 || len(s.RecoveryMS) != len(s.StartMS) {
		return nil
	}
	var beyond []float64
	for i, took := range s.RecoveryMS {
		beyond = append(beyond, took-s.StartMS[i])
	}
	all, start := slices.Clone(s.RecoveryMS), slices.Clone(s.StartMS)
	return &recovery{
		P50: quantile(all, 0.5), P99: quantile(all, 0.99),
		StartP50: quantile(start, 0.5), BeyondP99: quantile(beyond, 0.99),
	}
}
