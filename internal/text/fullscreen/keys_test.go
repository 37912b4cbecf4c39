package fullscreen

import (
	"slices"
	"strings"
	"testing"
)

func TestKeys(t *testing.T) {
	for sent, want := range map[string]string{
		"aZ?日é":                      "a Z ? 日 é",
		"\r\t \x7f\b":                "enter tab space backspace backspace",
		"\x03\x1a\x15\x00":           "ctrl+c ctrl+z ctrl+u ctrl+@",
		"\x1b[A\x1b[B\x1bOA\x1bOB":   "up down up down",
		"\x1b[H\x1b[F\x1b[1~\x1b[4~": "home end home end",
		"\x1b[5~\x1b[6~\x1b[Z":       "pgup pgdown shift+tab",
		"\x1b":                       "esc",
		"\x1b\x1b\x1b[A":             "esc esc up",
		"\x1bx\x1bé":                 "alt+x alt+é",
		"\x1b[1;5A\x1b[?1;2c\x1b[Ij": "j", // a modifier, answers of the terminal, and a key
		"\x1b[200~ry\x1b\x1b[A\r\x1b[201~q\x1b[200~\x1b[201~j": "q j",
		"\xff\xc3(j": "( j", // not UTF-8
		"\xc3":       "",
		"\x1b[":      "",
		"\x1bO":      "",
		"\x1b[12;":   "",
	} {
		for size := range len(sent) { // however the bytes are split
			var d decoder
			var keys []string
			add := func(more []Key) {
				for _, k := range more {
					keys = append(keys, string(k))
				}
			}
			for part := range slices.Chunk([]byte(sent), size+1) {
				add(d.decode(part))
			}
			if incomplete := d.deadline() != nil; incomplete != (len(d.pending) > 0) {
				t.Errorf("%q: deadline %v with %q pending", sent, incomplete, d.pending)
			}
			add(d.flush())
			if got := strings.Join(keys, " "); got != want || len(d.pending) > 0 || d.deadline() != nil {
				t.Errorf("%q in parts of %d: %q, %q pending, want %q", sent, size+1, got, d.pending, want)
			}
		}
	}
}

// The key that leaves a program works even if the end of a paste never arrives.
func TestCtrlCEndsAPaste(t *testing.T) {
	var d decoder
	if keys := d.decode([]byte("\x1b[200~pasted")); len(keys) > 0 {
		t.Fatalf("%v during a paste", keys)
	}
	if keys := d.decode([]byte("q\x03q")); !slices.Equal(keys, []Key{"ctrl+c", "q"}) {
		t.Errorf("%v after a paste without an end", keys)
	}
}

// A paste that arrives slowly stays a paste.
func TestAPasteHasNoDeadline(t *testing.T) {
	var d decoder
	if keys := d.decode([]byte("\x1b[200~r\x1b[20")); len(keys) > 0 || d.deadline() != nil {
		t.Errorf("%v during a paste", keys)
	}
	if keys := d.decode([]byte("1~y")); !slices.Equal(keys, []Key{"y"}) {
		t.Errorf("%v after a paste", keys)
	}
}

func TestTextOfAKey(t *testing.T) {
	for key, want := range map[Key]string{"a": "a", "é": "é", "space": " ", "enter": "", "ctrl+c": "", "alt+x": ""} {
		if got := key.Text(); got != want {
			t.Errorf("%s writes %q", key, got)
		}
	}
}

func FuzzKeys(f *testing.F) {
	f.Add([]byte("\x1b[1;5A\x1b[200~x"), []byte("\x1b[201~\xc3"))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		var d decoder
		keys := append(d.decode(one), d.decode(two)...)
		keys = append(keys, d.flush()...)
		if len(d.pending) > 0 && !d.pasting {
			t.Errorf("%q and %q: %q stays pending", one, two, d.pending)
		}
		if slices.Contains(keys, "") || slices.Contains(keys, pasteStart) {
			t.Errorf("%q and %q: %q", one, two, keys)
		}
	})
}
