package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Messages are listed; queries, JSON, commands, and texts that are only searched for are not.
func TestMessages(t *testing.T) {
	const source = "package p\n\nvar (\n" +
		"	_ = \"the task is already running\"\n" +
		"	_ = \"gauze has not recorded any output since then\"\n" +
		"	_ = \"gauze add: nothing was written\"\n" +
		"	_ = `{\"code\":1,\"message\":\"this client does not accept requests\"}`\n" +
		"	_ = strings.ToUpper(\"this one is shown\")\n" +
		"	_ = \"gauze list\\ngauze list --client cursor\"\n" +
		"	_ = \"docker image rm example.com/gauze\"\n" +
		"	_ = `{\"city\":\"Oslo\",\"days\":\"a few\",\"unit\":\"celsius\"}`\n" +
		"	_ = \"SELECT seq FROM events\"\n" +
		"	_ = \"entries ORDER BY task\"\n" +
		"	_ = strings.Contains(x, \"no such file or directory\")\n" +
		"	_ = bytes.HasPrefix(x, []byte(\"the server said this\"))\n" +
		")\n"
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "p.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := extract(root, "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range found {
		got = append(got, m.text)
	}
	want := []string{"the task is already running", "gauze has not recorded any output since then", "gauze add: nothing was written",
		"this client does not accept requests", "this one is shown"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
