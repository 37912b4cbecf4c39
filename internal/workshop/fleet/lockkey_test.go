package fleet

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/probe"
)

const valued = `{"mcpServers": {
  "a": {"command": "srv", "args": ["-p", "old-word-1"], "cwd": "/old", "env": {"NODE_OPTIONS": "--old", "PATH": "/old/bin", "PIN": "1234"}},
  "b": {"url": "https://b.example/mcp?key=old", "headers": {"X-Team": "old"}},
  "c": {"url": "https://me:old@c.example/mcp"}
}}`

// onlyValued is a home with the servers of valued and no others.
func onlyValued(t *testing.T) *home {
	h := newHome(t)
	for name := range settings {
		os.Remove(filepath.Join(h.dir, name))
	}
	h.write(".cursor/mcp.json", valued)
	return h
}

func TestVerifyNamesTheValueThatChanged(t *testing.T) {
	for _, test := range []struct{ old, new, want string }{
		{`"--old"`, `"--require=/tmp/evil.js"`, "the value of the variable NODE_OPTIONS changed"},
		{`"/old/bin"`, `"/tmp/evil:/old/bin"`, "the value of the variable PATH changed"},
		{`"1234"`, `"1235"`, "the value of the variable PIN changed"},
		{`"X-Team": "old"`, `"X-Team": "new"`, "the value of the header X-Team changed"},
		{`?key=old`, `?key=new`, "the URL's query string changed"},
		{`me:old@`, `me:new@`, "a hidden part of the URL changed"},
		{`old-word-1`, `new-word-2`, "a hidden argument of the command changed"},
	} {
		h := onlyValued(t)
		lock := h.locked()
		h.edit(".cursor/mcp.json", test.old, test.new)
		drifts := h.fleet.Verify(lock, h.seen("d"))
		if len(drifts) != 1 || drifts[0].What != test.want {
			t.Errorf("%s becomes %s: %+v", test.old, test.new, drifts)
		}
		if why := h.fleet.Uncompared(lock); why != "" {
			t.Error(why)
		}
	}
}

// A short value cannot be guessed from the lock: its hashes are worth nothing without the key.
func TestALockWithoutItsKeyComparesEverythingElse(t *testing.T) {
	h := onlyValued(t)
	lock := h.lock(h.seen("d"))
	key := filepath.Join(h.dir, "lock.key")
	info, err := os.Stat(key)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", info, err)
	}
	for _, other := range []func(){func() { os.Remove(key) }, func() { os.WriteFile(key, make([]byte, lockKeySize), 0o600) }} {
		other()
		if why := h.fleet.Uncompared(lock); !strings.Contains(why, "3 servers") || !strings.Contains(why, "not compared") {
			t.Errorf("%q", why)
		}
		if drifts := h.fleet.Verify(lock, h.seen("d")); len(drifts) > 0 {
			t.Errorf("what cannot be compared is called different: %+v", drifts)
		}
		if drifts := h.fleet.Verify(lock, h.seen("other")); len(drifts) != 3 {
			t.Errorf("tools are not compared: %+v", drifts)
		}
	}
	h.lock(h.seen("d"))
	again := h.lock(h.seen("d"))
	for i, s := range again.Servers {
		for what, hash := range s.Values {
			if hash == lock.Servers[i].Values[what] {
				t.Errorf("%s has the same hash under another key", what)
			}
		}
	}
}

func TestALockOfAnOlderGauzeSaysWhatItLacks(t *testing.T) {
	h := onlyValued(t)
	lock := h.lock(h.seen("d"))
	for i := range lock.Servers {
		lock.Servers[i].Key, lock.Servers[i].Values = "", nil
	}
	if why := h.fleet.Uncompared(lock); !strings.Contains(why, "gauze lock") {
		t.Errorf("%q", why)
	}
	if drifts := h.fleet.Verify(lock, h.seen("d")); len(drifts) > 0 {
		t.Errorf("%+v", drifts)
	}
}

// A server repeats its secrets in its name, its version and the names of its tools.
func TestALockIsClearedOfWhatAServerRepeats(t *testing.T) {
	h := onlyValued(t)
	h.edit(".cursor/mcp.json", "old-word-1", "s3cr3t-w0rd")
	all := h.seen("d")
	for _, c := range all {
		c.Attempt.Found = probe.Found{Name: "n s3cr3t-w0rd", Version: "1 s3cr3t-w0rd", Tools: []probe.Tool{
			{Name: "get_s3cr3t-w0rd", Definition: "d1"}, {Name: "get_S3CR3T-W0RD", Definition: "d2"}}}
	}
	lock := h.lock(all)
	if text := string(lock.Bytes()); strings.Contains(strings.ToLower(text), "s3cr3t") {
		t.Errorf("%s", text)
	}
	if n := len(lock.Servers[0].Tools); n != 2 {
		t.Errorf("%d tools are left of 2: %v", n, lock.Servers[0].Tools)
	}
	if err := lock.Check(h.fleet.Look().Secrets()); err != nil {
		t.Error(err)
	}
}

func TestALockThatHoldsASecretIsRefused(t *testing.T) {
	h := onlyValued(t)
	h.edit(".cursor/mcp.json", "old-word-1", "s3cr3tw0rd99")
	h.edit(".cursor/mcp.json", `"a":`, `"mine-s3cr3tw0rd99":`)
	lock, _, err := h.fleet.Lock(h.seen("d"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var held *SecretError
	err = lock.Check(h.fleet.Look().Secrets())
	if !errors.As(err, &held) || held.Field != "name" || strings.Contains(err.Error(), "s3cr3tw0rd99") || !strings.Contains(err.Error(), "rename") {
		t.Errorf("%v", err)
	}
}

// Restore cannot bring a value back, and does not touch an entry because of one.
func TestRestoreLeavesChangedValuesAlone(t *testing.T) {
	h := onlyValued(t)
	h.edit(".cursor/mcp.json", `["-p", "old-word-1"]`, `["-v"]`)
	lock := h.lock(h.seen("d"))
	h.edit(".cursor/mcp.json", `"--old"`, `"--new"`)
	plan, err := h.fleet.Look().Restore(lock)
	if err != nil || !plan.Empty() {
		t.Errorf("%v %s", err, plan.Diff())
	}
}

// Any program can be called gauze, and its flags decide, too: a wrap is recorded like everything else that is started.
func TestVerifyNoticesAnotherGauzeInFront(t *testing.T) {
	const plain, wrapped = `"command": "srv", "args": ["a"]`, `"command": "/ours/gauze", "args": ["run", "--", "srv", "a"]`
	const impostor, flags = `"command": "/tmp/evil/gauze", "args": ["run", "--", "srv", "a"]`, `"command": "/ours/gauze", "args": ["run", "--cwd", "/tmp/evil", "--", "srv", "a"]`
	const changed, notOurs = "the gauze binary that wraps it, or one of its flags, changed", "the server is wrapped by another gauze binary, or with flags that gauze wrap does not add"
	for _, test := range []struct{ old, new, want string }{
		{wrapped, impostor, changed}, {wrapped, flags, changed},
		{plain, impostor, notOurs}, {plain, flags, notOurs},
		{wrapped, plain, ""}, {plain, wrapped, ""}, // gauze wrap and unwrap change nothing about the server
	} {
		h := onlyValued(t)
		h.fleet.Gauze = "/ours/gauze"
		h.write(".cursor/mcp.json", `{"mcpServers": {"a": {`+test.old+`}}}`)
		lock := h.lock(h.seen("d"))
		h.edit(".cursor/mcp.json", test.old, test.new)
		var got []string
		for _, d := range h.fleet.Verify(lock, h.seen("d")) {
			got = append(got, d.What)
		}
		if strings.Join(got, "; ") != test.want {
			t.Errorf("%s becomes %s: %q, want %q", test.old, test.new, got, test.want)
		}
	}
}
