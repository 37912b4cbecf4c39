package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/hub"
	"github.com/gauze-mcp/gauze/internal/hub/upfile"
)

// A new version of a file is used unless it, or what it includes, is broken; whatever it depends on is
// looked at again.
func TestReload(t *testing.T) {
	home, project := upHome(t)
	path := filepath.Join(project, "up.yaml")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := newReloader(path)
	if _, err := r.reload(); err == nil {
		t.Error("reloaded before there is anything")
	}
	file, err := r.read()
	if err != nil {
		t.Fatal(err)
	}
	h, err := hub.New(file, hub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.End()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(path, "servers: {}\n")
	r.use(h)
	if !r.changed() {
		t.Error("a change between the first read and the first look is not seen")
	}
	write(path, string(before))
	failed := func(when, want string) {
		t.Helper()
		if got := r.file().Error; !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: the error is %q, want %q", when, got, want)
		}
	}
	expect := func(when, want string) {
		t.Helper()
		r.reload()
		var keys []string
		for _, s := range h.File().Servers {
			keys = append(keys, s.Key)
		}
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	cursor, other := filepath.Join(home, ".cursor", "mcp.json"), filepath.Join(project, "other.json")
	entries, err := os.ReadFile(cursor)
	if err != nil {
		t.Fatal(err)
	}
	write(path, "include: [cursor]\nservers: {web: {command: [web]}}\n")
	expect("a new version", "notes theirs web")
	failed("a new version", "")
	if got, want := r.file().Note, "3 servers; changed: web; removed: more; profiles or tokens changed"; got != want {
		t.Errorf("changed: %q, want %q", got, want)
	}
	write(cursor, "{")
	expect("a client's file is broken", "notes theirs web")
	failed("a client's file is broken", "cannot include cursor")
	write(cursor, string(entries))
	write(path, "include: [cursor, ./other.json]\nservers: {web: {idle: 5m}}\n")
	expect("an error", "notes theirs web")
	failed("an error", "up.yaml:2: servers.web")
	if r.changed() {
		t.Error("changed before anything did")
	}
	write(other, `{"mcpServers": {"more": {"command": "more"}}}`)
	if !r.changed() {
		t.Error("an include of a file with an error is not looked at")
	}
	write(path, "include: [cursor, ./other.json]\nservers: {web: {command: [web]}}\n")
	expect("mended", "notes theirs more web")
	failed("mended", "")
	write(path, "include: [./other.json, ./none.json]\n")
	expect("an include without its file", "notes theirs more web")
}

// A token that is no longer its own keeps the previous version in use, and so its clients as they are.
func TestReloadWithATokenOfGauzeUp(t *testing.T) {
	_, project := upHome(t)
	path := filepath.Join(project, "up.yaml")
	r := newReloader(path)
	file, err := r.read()
	if err != nil {
		t.Fatal(err)
	}
	h, err := hub.New(file, hub.Options{Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, Pinned: func(file *upfile.File) (map[string]string, error) {
		return file.Pinned(os.Getenv, []string{"pQ7mX2vR9tK4bW8nZ3cL"})
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.End()
	r.use(h)
	t.Setenv("UP_OTHER", "pQ7mX2vR9tK4bW8nZ3cL")
	if err := os.WriteFile(path, []byte("servers: {web: {command: [web]}}\ntokens: {me: {env: UP_OTHER}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "up.yaml:2: tokens.me.env: the token in UP_OTHER is also that of gauze up itself"
	if _, err := r.reload(); err == nil || !strings.Contains(err.Error(), want) || h.File() != file || !strings.Contains(r.file().Error, want) {
		t.Errorf("%v, and %d servers", err, len(h.File().Servers))
	}
}

func TestConnectCompletesKeys(t *testing.T) {
	_, project := upHome(t)
	f := &connectFlags{file: filepath.Join(project, "up.yaml")}
	for prefix, want := range map[string]string{"": "notes theirs web more", "t": "theirs", "x": ""} {
		if keys, _ := f.completeKeys(nil, nil, prefix); strings.Join(keys, " ") != want {
			t.Errorf("%q: %v, want %s", prefix, keys, want)
		}
	}
	if keys, _ := f.completeKeys(nil, []string{"web"}, ""); keys != nil {
		t.Errorf("a second server: %v", keys)
	}
}
