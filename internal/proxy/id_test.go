package proxy

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/wire"
)

func TestOurIDsAreReadBack(t *testing.T) {
	for _, generation := range []int{1, 2, 9, 10, 12345, math.MaxInt32} {
		for _, n := range []uint64{1, 2, 10, 1 << 53, 9_999_999_999_999_999_999} {
			id := appendID(nil, generation, n)
			g, got, ok := parseID(id)
			if !ok || g != generation || got != n {
				t.Errorf("%s is read as %d, %d, %v", id, g, got, ok)
			}
			if !json.Valid(id) || len(id) > 48 {
				t.Errorf("%s is no short JSON", id)
			}
		}
	}
}

func TestNothingElseIsAnIDOfOurs(t *testing.T) {
	for _, id := range []string{
		``, `1`, `"1"`, `null`, `g1-1`, `"g1-1`, `g1-1"`, `"g-1"`, `"g1-"`, `"g1"`, `"G1-1"`, `"g1-01"`, `"g01-1"`, `"g0-1"`, `"g1-0"`, `"g+1-1"`, `"g1-+1"`, `"g-1-1"`,
		`"g1--1"`, `"g1-1-1"`, `"g1-1 "`, `" g1-1"`, `"g1-1.0"`, `"g1-1e1"`, `"g1-s1"`, `"\u0067"`, `"\u00671-1"`, `"g1-१"`, `"g1-18446744073709551616"`, `"g2147483648-1"`, `"g1_1"`,
	} {
		if g, n, ok := parseID([]byte(id)); ok {
			t.Errorf("%s is taken for %d of generation %d", id, n, g)
		}
	}
}

// FuzzIDMapping: what parseID reads is what appendID writes, to the byte, and
// putting an id of ours into a message and the client's back in leaves every
// other byte as it was.
func FuzzIDMapping(f *testing.F) {
	for _, id := range []string{`"g1-1"`, `"g01-1"`, `1e2`, `""`, `"\u0067"`, `9007199254740993`, `"g1-18446744073709551615"`} {
		f.Add([]byte(id), []byte(`{"jsonrpc":"2.0","method":"a","params":{"id":1},"id":`+id+`}`), 1, uint64(1))
	}
	f.Fuzz(func(t *testing.T, id, line []byte, generation int, n uint64) {
		if g, m, ok := parseID(id); ok && !bytes.Equal(appendID(nil, g, m), id) {
			t.Errorf("%q is read as %d of generation %d, which is %s", id, m, g, appendID(nil, g, m))
		}
		if generation < 1 || generation > math.MaxInt32 || n < 1 || n > 9_999_999_999_999_999_999 {
			return // never given
		}
		ours := appendID(nil, generation, n)
		if g, m, ok := parseID(ours); !ok || g != generation || m != n {
			t.Errorf("%s is read as %d of generation %d, %v", ours, m, g, ok)
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
