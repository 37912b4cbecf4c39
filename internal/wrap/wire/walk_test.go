package wire

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestWalkVisitsEveryString(t *testing.T) {
	text := []byte(`{"a":"x","b":{"c":["y",{"d\"":"z, {"}],"e":1},"f":[],"g":{},"h":[["w"]], "i" : true}`)
	var got []string
	Walk(text, func(path [][]byte, raw []byte, at int, key bool) {
		if !bytes.HasPrefix(text[at:], raw) {
			t.Errorf("%s is not at byte %d", raw, at)
		}
		got = append(got, fmt.Sprintf("%s %s %t", bytes.Join(path, []byte("/")), raw, key))
	})
	want := []string{
		` "a" true`, `a "x" false`,
		` "b" true`, `b "c" true`, `b/c/ "y" false`, `b/c/ "d\"" true`, `b/c//d\" "z, {" false`, `b "e" true`,
		` "f" true`, ` "g" true`, ` "h" true`, `h// "w" false`, ` "i" true`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
