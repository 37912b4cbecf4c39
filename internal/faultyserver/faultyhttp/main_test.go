package faultyhttp

import (
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	RunIfAsked()
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
