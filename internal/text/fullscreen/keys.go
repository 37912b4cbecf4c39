package fullscreen

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"
)

// Key is the message that a key was pressed: the character, or a name such as enter, esc, tab,
// shift+tab, space, backspace, up, pgdown, home, ctrl+c or alt+x.
type Key string

// Text returns the character that the key writes, empty if it writes none.
func (k Key) Text() string {
	if k == "space" {
		return " "
	}
	if utf8.RuneCountInString(string(k)) != 1 {
		return ""
	}
	return string(k)
}

// Control sequences end with a letter, or with a tilde and have a number (ECMA-48 5.4, and what xterm
// and others send).
var sequences = map[string]Key{
	"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end", "Z": "shift+tab", "M": "enter",
	"1~": "home", "2~": "insert", "3~": "delete", "4~": "end", "5~": "pgup", "6~": "pgdown", "7~": "home", "8~": "end",
}

const (
	ctrlC      = 0x03
	escape     = 0x1b
	pasteStart = "200~"
)

var pasteEnd = []byte("\x1b[201~")

// decoder makes keys from the bytes that a terminal sends. It ignores what is pasted, whose letters
// are not keys.
type decoder struct {
	pending []byte // the beginning of a key
	pasting bool
}

// decode returns the keys that are complete.
func (d *decoder) decode(b []byte) []Key {
	d.pending = append(d.pending, b...)
	return d.keys(false)
}

// flush returns the key that has begun, because nothing follows.
func (d *decoder) flush() []Key { return d.keys(true) }

// deadline returns when to flush, nil if nothing is incomplete.
func (d *decoder) deadline() <-chan time.Time {
	if len(d.pending) == 0 || d.pasting {
		return nil
	}
	return time.After(escapeTimeout)
}

func (d *decoder) keys(last bool) (keys []Key) {
	for len(d.pending) > 0 {
		if d.pasting {
			if !d.skipPaste() {
				break
			}
			continue
		}
		key, n := first(d.pending, last)
		if n == 0 {
			break
		}
		d.pending = d.pending[n:]
		switch key {
		case "":
		case pasteStart:
			d.pasting = true
		default:
			keys = append(keys, key)
		}
	}
	return keys
}

// skipPaste reports whether the paste has ended. It keeps what may be the beginning of the end. Terminals
// do not paste ctrl+c, so that key ends a paste whose end was lost.
func (d *decoder) skipPaste() bool {
	pasted, rest, found := bytes.Cut(d.pending, pasteEnd)
	if key := bytes.IndexByte(pasted, ctrlC); key >= 0 {
		rest, found = d.pending[key:], true
	}
	if !found {
		rest = d.pending[max(0, len(d.pending)-len(pasteEnd)+1):]
	}
	d.pending, d.pasting = rest, !found
	return found
}

// first returns the first key and how many bytes it has, 0 if it is incomplete and may be continued.
// The key is empty if the bytes are not one.
func first(b []byte, last bool) (Key, int) {
	switch {
	case b[0] == escape:
		return escaped(b, last)
	case b[0] < ' ' || b[0] == 0x7f:
		return control(b[0]), 1
	case b[0] == ' ':
		return "space", 1
	case !utf8.FullRune(b) && !last:
		return "", 0
	}
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError {
		return "", n
	}
	return Key(b[:n]), n
}

func control(b byte) Key {
	switch b {
	case '\r':
		return "enter"
	case '\t':
		return "tab"
	case 0x7f, '\b':
		return "backspace"
	}
	return Key("ctrl+" + strings.ToLower(string(rune(b|0x40))))
}

// escaped returns the key of bytes that begin with escape: that key itself, a sequence, or a key with
// alt.
func escaped(b []byte, last bool) (Key, int) {
	switch {
	case len(b) == 1 && last, len(b) > 1 && b[1] == escape:
		return "esc", 1
	case len(b) == 1:
		return "", 0
	case b[1] == '[' || b[1] == 'O':
		return sequence(b, last)
	}
	key, n := first(b[1:], last)
	switch {
	case n == 0:
		return "", 0
	case key == "":
		return "", n + 1
	}
	return "alt+" + key, n + 1
}

// sequence returns the key of a control sequence. It ignores those with a modifier and what
// the terminal sends by itself.
func sequence(b []byte, last bool) (Key, int) {
	n := 2
	for b[1] == '[' && n < len(b) && b[n] >= ' ' && b[n] < '@' {
		n++
	}
	if n == len(b) {
		if last {
			return "", n
		}
		return "", 0
	}
	name := string(b[2 : n+1])
	if b[1] == '[' && name == pasteStart {
		return pasteStart, n + 1
	}
	return sequences[name], n + 1
}
