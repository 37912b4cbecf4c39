package kernel

import (
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// callAfter returns how a call with this name is read whose room an answered call of the tool had before.
func callAfter(t *testing.T, s *Session, tool, name string) *Call {
	t.Helper()
	var last *Call
	for _, raw := range []string{`"` + tool + `"`, name} {
		m, _, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":` + raw + `,"arguments":{}}}`))
		if err != nil {
			t.Fatal(err)
		}
		if last != nil {
			s.spare.giveBack(last)
		}
		last = s.newCall(&m)
		if err := s.client.inspect(last); err != nil {
			t.Fatal(err)
		}
	}
	return last
}

func TestTheNameOfAToolIsAString(t *testing.T) {
	t.Parallel()
	s := bare(launch.Spec{Command: "server"})
	for _, c := range []struct{ before, name, want string }{
		{"echo", `"echo"`, "echo"},
		{"echo", `"read"`, "read"},
		{"echo", `"\u0065cho"`, "echo"},
		{"ul", `null`, ""},
		{"ru", `true`, ""},
		{"23", `1234`, ""},
		{"1,2", `[1,2]`, ""},
		{`\"a\"`, `["a"]`, ""},
		{`a\\u0062`, `"a\u0062"`, "ab"},
	} {
		if got := callAfter(t, s, c.before, c.name).tool; got != c.want {
			t.Errorf("%s after %s is a call of %q, want %q", c.name, c.before, got, c.want)
		}
	}
}

// A session that rests keeps little of a message that was large.
func TestASpareCallKeepsLittle(t *testing.T) {
	t.Parallel()
	s := bare(launch.Spec{Command: "server"})
	s.spare.giveBack(callAfter(t, s, "echo", `"`+strings.Repeat("x", 10*maxSpareRoom)+`"`))
	for _, c := range s.spare.free {
		if kept := cap(c.body.room) + len(c.body.before); kept > 2*maxSpareRoom {
			t.Errorf("%d bytes are kept", kept)
		}
	}
}
