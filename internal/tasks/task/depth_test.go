package task

import (
	"strings"
	"testing"
)

// The YAML library would take minutes for these.
func TestDeepTextIsRejectedBeforeItIsParsed(t *testing.T) {
	for name, text := range map[string]string{
		"lists":    strings.Repeat("[", 1_000_000),
		"mappings": strings.Repeat("{a: ", 200_000),
		"lines":    strings.Repeat("[\n", 200_000),
		"dashes":   strings.Repeat("- ", 200_000),
		"keys":     "a:\n" + strings.Repeat("? ", 200_000) + "x",
	} {
		_, err := Parse("x", []byte(text))
		if err == nil || !strings.Contains(err.Error(), "levels deep") {
			t.Errorf("%s: %v", name, err)
		}
	}
	text := "servers: {s: a/b}\nsteps: [{id: a, server: s, tool: t, arguments: {text: \"" + strings.Repeat("[{", 200) + "\"}}]\n"
	if _, err := Parse("x", []byte(text)); err != nil {
		t.Errorf("brackets in a string: %v", err)
	}
}
