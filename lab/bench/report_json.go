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

// openLog returns a function that appends a line of JSON to a file, and one that closes the file.
// Both do nothing if to is empty.
func openLog[T any](to string) (record func(T) error, done func() error, err error) {
	if to == "" {
		return func(T) error { return nil }, func() error { return nil }, nil
	}
	file, err := os.Create(to)
	if err != nil {
		return nil, nil, err
	}
	encoder := json.NewEncoder(file)
	encoder.SetEscapeHTML(false)
	return func(line T) error { return encoder.Encode(line) }, file.Close, nil
}
