package main

import (
	"encoding/json"
	"os"
)

// writeJSON writes a report as JSON to a file, or to stdout if to is "-". It does nothing if to is
// empty.
func writeJSON(to string, report any) error {
	if to == "" {
		return nil
	}
	data, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if to == "-" {
		_, err = os.Stdout.Write(data)
		return err
	}
	return os.WriteFile(to, data, 0o644)
}
