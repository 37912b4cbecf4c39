package kernel

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

func TestOurIDsAreReadBack(t *testing.T) {
	t.Parallel()
	for _, n := range []uint64{1, 2, 10, 1 << 53, 9_999_999_999_999_999_999} {
		id := AppendID(nil, n)
		for _, sent := range []string{string(id), `"` + string(id) + `"`, string(id) + ".0"} {
			if got, ok := parseID([]byte(sent)); !ok || got != n {
				t.Errorf("%s is read as %d, %v", sent, got, ok)
			}
			if !whole.MatchString(sent) {
				t.Errorf("%s is not found in a broken answer", sent)
			}
		}
		if !json.Valid(id) || len(id) > 48 {
			t.Errorf("%s is no short JSON", id)
		}
	}
}

var whole = regexp.MustCompile("^" + idPattern + "$")

func TestNothingElseIsAnIDOfOurs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{
		``, `0`, `-1`, `+1`, `01`, `1.5`, `1.00`, `1e1`, `"1`, `1"`, `""`, `"`, `"0"`, `"1 "`, `" 1"`, `null`, `.0`, `"\u0031"`, `"१"`, `"g1-1"`, `"g1-s1"`, `18446744073709551616`,
	} {
		if n, ok := parseID([]byte(id)); ok {
			t.Errorf("%s is taken for %d", id, n)
		}
	}
}

func TestRandomIDsAreExactInFloatingPoint(t *testing.T) {
	t.Parallel()
	seen := map[uint64]bool{}
	for range 1000 {
		n := RandomID()
		if n < 1<<50 || n >= 1<<51 || seen[n] {
			t.Fatalf("%d", n)
		}
		seen[n] = true
	}
}

// FuzzIDMapping: what parseID reads is a spelling of what AppendID writes, and
// putting an id of ours into a message and the client's back in leaves every
// other byte as it was.
func FuzzIDMapping(f *testing.F) {
	for _, id := range []string{`1`, `"1"`, `1.0`, `01`, `1e2`, `""`, `"\u0031"`, `9007199254740993`, `18446744073709551615`} {
		f.Add([]byte(id), []byte(`{"jsonrpc":"2.0","method":"a","params":{"id":1},"id":`+id+`}`), uint64(1))
	}
	f.Fuzz(func(t *testing.T, id, line []byte, n uint64) {
		if m, ok := parseID(id); ok {
			spelled := string(AppendID(nil, m))
			if bare := strings.TrimSuffix(strings.Trim(string(id), `"`), ".0"); bare != spelled {
				t.Errorf("%q is read as %d", id, m)
			}
		}
		if n < 1 || n > 9_999_999_999_999_999_999 {
			return // never given
		}
		ours := AppendID(nil, n)
		if m, ok := parseID(ours); !ok || m != n {
			t.Errorf("%s is read as %d, %v", ours, m, ok)
		}
		message, _, err := wire.Scan(line)
		if err != nil || message.ID == nil {
			return
		}
		there := message.AppendWithID(nil, ours)
		before, behind := message.AroundID()
		if string(there) != string(before)+string(ours)+string(behind)+"\n" {
			t.Errorf("%q around the id, %q and %q in two parts", there, before, behind)
		}
		arrived, rest, err := wire.Scan(there)
		if err != nil || len(rest) > 0 || string(arrived.ID) != string(ours) {
			t.Fatalf("%q arrives with the id %q, rest %q, %v", there, arrived.ID, rest, err)
		}
		if string(arrived.Params) != string(message.Params) || string(arrived.Result) != string(message.Result) ||
			string(arrived.Error) != string(message.Error) || arrived.Method != message.Method {
			t.Errorf("%q became %q", message.Raw, arrived.Raw)
		}
		if back := arrived.AppendWithID(nil, message.ID); strings.TrimSuffix(string(back), "\n") != string(message.Raw) {
			t.Errorf("%q came back as %q", message.Raw, back)
		}
	})
}
