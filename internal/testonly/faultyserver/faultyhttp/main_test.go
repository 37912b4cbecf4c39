package faultyhttp

import (
	"io"
	"log"
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	RunIfAsked()
	log.SetOutput(io.Discard) // net/http logs the broken connections
	os.Exit(m.Run())
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in %.500s", part, text)
		}
	}
}
