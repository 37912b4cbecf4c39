package launch

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/shell"
)

func TestSpecIsShownAsAPersonWouldTypeIt(t *testing.T) {
	t.Parallel()
	for want, spec := range map[string]Spec{
		`npx -y server`: {Command: "npx", Args: []string{"-y", "server"}},
		`server`:        {Command: "server"},
		`sh -c ` + shell.Here().Quote(`echo $HOME`):                    {Command: "sh", Args: []string{"-c", "echo $HOME"}},
		shell.Here().Quote(`my server`) + ` ` + shell.Here().Quote(``): {Command: "my server", Args: []string{""}},
	} {
		if got := spec.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestTheServerDoesNotSeeOurOwnSettings(t *testing.T) {
	t.Setenv("GAUZE_SECRET_SETTING", "x")
	t.Setenv("ITS_OWN_SETTING", "y")
	env := Spec{Command: "a"}.Environment()
	if !slices.Contains(env, "ITS_OWN_SETTING=y") {
		t.Error("its own setting is missing")
	}
	for _, pair := range env {
		if strings.HasPrefix(pair, "GAUZE_") {
			t.Errorf("it sees %s", pair)
		}
	}
	if len(env) >= len(os.Environ()) {
		t.Errorf("%d variables of %d", len(env), len(os.Environ()))
	}
	given := Spec{Command: "a", Env: []string{"GAUZE_X=1"}}
	if got := given.Environment(); !slices.Equal(got, given.Env) {
		t.Errorf("%q instead of what was given", got)
	}
}

func TestACommandThatMayDownloadHasMoreTime(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]time.Duration{
		"npx": time.Minute, "/usr/local/bin/uvx": time.Minute, "docker": time.Minute, "NPX.CMD": time.Minute, "uv.exe": time.Minute,
		"server": 10 * time.Second, "/opt/npx/server": 10 * time.Second, "python3": 10 * time.Second, "node": 10 * time.Second,
	} {
		if got := (Spec{Command: command}).StartTimeout(); got != want {
			t.Errorf("%s: %v, want %v", command, got, want)
		}
	}
}

// Every field counts, and no two different Specs are written the same way.
func TestFingerprintCoversEveryField(t *testing.T) {
	t.Parallel()
	specs := []Spec{
		{},
		{Command: "a"},
		{Command: "a b"},
		{Command: "a", Args: []string{"b"}},
		{Command: "a", Args: []string{"b", "c"}},
		{Command: "a", Args: []string{"b c"}},
		{Command: "a", Args: []string{`b" "c`}},
		{Command: "a", Args: []string{"\xff"}},
		{Command: "a", Args: []string{"\ufffd"}},
		{Command: "a", Dir: "b"},
		{Command: "a", Env: []string{}},
		{Command: "a", Env: []string{"KEY=one"}},
		{Command: "a", Env: []string{"KEY=two"}},
		{Command: "a", Others: []string{"envFile=\".env\""}},
		{URL: "https://example.com/mcp"},
		{URL: "https://example.com/mcp?key=one"},
		{URL: "https://example.com/mcp?key=two"},
		{URL: "https://example.com/mcp", Header: []Header{{Name: "A", Value: "one"}}},
		{URL: "https://example.com/mcp", Header: []Header{{Name: "A", Value: "two"}}},
		{URL: "https://example.com/mcp", Header: []Header{{Name: "A", Value: "two", Source: "$TOKEN"}}},
		{URL: "https://example.com/mcp", Login: Login{Account: "work"}},
	}
	seen := map[string]Spec{}
	for _, s := range specs {
		if other, ok := seen[s.Fingerprint()]; ok {
			t.Errorf("%#v and %#v have the same fingerprint", s, other)
		}
		seen[s.Fingerprint()] = s
	}
	if fields := reflect.TypeFor[Spec]().NumField(); fields != 8 {
		t.Errorf("Spec has %d fields: add a Spec for each new one above", fields)
	}
	if (Spec{Command: "a"}).Fingerprint() != (Spec{Command: "a", Args: []string{}, Header: []Header{}}).Fingerprint() {
		t.Error("no arguments and an empty list of arguments are the same server")
	}
}

func TestWhichHeadersAUserMaySet(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"Mcp-Session-Id": "x", "mcp-method": "x", "Content-Type": "x", "Idempotency-Key": "x", "X\r\nY": "x", "": "x", "X-A": "a\r\nb", "Accept": "x", "Connection": "x",
	} {
		if CheckHeader(name, value) == nil {
			t.Errorf("%q: %q may be set", name, value)
		}
	}
	for _, name := range []string{"Authorization", "X-API-Key", "Cookie"} {
		if err := CheckHeader(name, "v"); err != nil {
			t.Error(err)
		}
	}
	for _, address := range []string{"", "example.com/mcp", "ftp://example.com", "http://", "http://a b/", "https://x/#y", "://", "127.0.0.1:7300/mcp", "http://host:99999/mcp", "http://host:0/"} {
		if CheckURL(address) == nil {
			t.Errorf("%q is a URL", address)
		}
	}
	if err := CheckURL("http://user:hunter2hunter2@[::1"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
}
