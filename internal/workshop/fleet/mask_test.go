package fleet

import (
	"testing"

	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// A diff shows references to variables also on a line with a secret.
func TestMaskedKeepsReferences(t *testing.T) {
	secrets := redact.KnownSecrets("${NOTES_TOKEN}", "hunter2-and-more", "Bearer abc${X}def")
	for line, want := range map[string]string{
		`"TOKEN": "${NOTES_TOKEN}"`:                              `"TOKEN": "${NOTES_TOKEN}"`,
		`{"TOKEN": "${NOTES_TOKEN}", "KEY": "hunter2-and-more"}`: `{"TOKEN": "${NOTES_TOKEN}", "KEY": "` + redact.Redacted + `"}`,
		`{"KEY": "hunter2-and-more", "TOKEN": "${NOTES_TOKEN}"}`: `{"KEY": "` + redact.Redacted + `", "TOKEN": "${NOTES_TOKEN}"}`,
		`{"A": "Bearer abc${X}def", "KEY": "hunter2-and-more"}`:  `{"A": "` + redact.Redacted + `", "KEY": "` + redact.Redacted + `"}`,
	} {
		if got := Masked(line, secrets); got != want {
			t.Errorf("%s\n got %s\nwant %s", line, got, want)
		}
	}
}

// The sign of a removed line does not make its key a flag.
func TestSignsOfADiffAreNotFlags(t *testing.T) {
	diff := "--- a\n+++ b\n@@ -1,3 +1,2 @@\n-TIME_TOKEN = \"abc123secretvalue\"\n+TIME_TOKEN = \"abc123othervalue1\"\n-- item\n+  indented\n same"
	want := "--- a\n+++ b\n@@ -1,3 +1,2 @@\n-TIME_TOKEN = \"«secret 1»\"\n+TIME_TOKEN = \"«secret 2»\"\n-- item\n+  indented\n same"
	if got := maskedDiff(diff); got != want {
		t.Errorf("%s", got)
	}
}
