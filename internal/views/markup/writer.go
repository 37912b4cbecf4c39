package markup

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// writer writes values so that they cannot change the meaning of the markup around them.
type writer struct {
	*bytes.Buffer
	scanner
	scanned int // bytes
}

// scan follows what was written since the last time.
func (w *writer) scan() error {
	for ; w.scanned < w.Len(); w.scanned++ {
		if err := w.next(w.Bytes()[w.scanned]); err != nil {
			return err
		}
	}
	return nil
}

// finish returns an error unless the page ends between tags.
func (w *writer) finish() error {
	err := w.scan()
	if err == nil && (w.place != between || w.raw != "") {
		err = errors.New("the page ends inside the element " + w.element)
	}
	return err
}

// value writes a value where it is safe.
func (w *writer) value(v reflect.Value) error {
	for v.IsValid() && (v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer && !isText(v)) {
		v = v.Elem()
	}
	if !v.IsValid() {
		return nil
	}
	if err := w.scan(); err != nil {
		return err
	}
	markup, isMarkup := v.Interface().(HTML)
	switch {
	case w.raw != "" && (isMarkup || w.raw != "title" || w.place != between):
		return errors.New("a value is not allowed in the element " + w.raw)
	case w.place == quoted && isMarkup:
		return errors.New("markup is not allowed in an attribute")
	case w.place == quoted:
		return w.inAttribute(fmt.Sprint(v.Interface()))
	case w.place != between:
		return errors.New("a value in a tag must be inside the quotes of an attribute")
	case isMarkup:
		w.WriteString(string(markup))
	default:
		escaper.WriteString(w, fmt.Sprint(v.Interface()))
	}
	return nil
}

// inAttribute writes a text into the value of an attribute.
func (w *writer) inAttribute(text string) error {
	switch {
	case addresses[w.attribute]:
		text = address(text)
		if !local(string(w.written) + text) {
			return errNotLocal
		}
		w.filled = true
	case !plain[w.attribute]:
		return errors.New("a value is not allowed in the attribute " + w.attribute)
	}
	escaper.WriteString(w, text)
	return nil
}

// escaper escapes a text as html/template does.
var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "+", "&#43;", "\x00", "\uFFFD")

// isText reports whether v has a text of its own.
func isText(v reflect.Value) bool {
	switch v.Interface().(type) {
	case fmt.Stringer, error:
		return !v.IsNil()
	}
	return false
}

// Values may be in these attributes alone: browsers follow the first, and only show or compare the second.
var (
	addresses = words("href src action hx-get")
	plain     = words("aria-label aria-labelledby class data-live datetime id max title value")
)

var errNotLocal = errors.New("the address does not begin with a single /")

// local reports whether an address stays on this server: a path, or only a query or fragment.
func local(address string) bool {
	if len(address) < 2 || address[0] == '?' || address[0] == '#' {
		return address == "" || strings.IndexByte("/?#", address[0]) >= 0
	}
	return address[0] == '/' && address[1] > ' ' && strings.IndexByte(`/\&`, address[1]) < 0
}

// address encodes the bytes of text that a URL cannot have.
func address(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~!#$&*+,/:;=?@[]%", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	return b.String()
}
