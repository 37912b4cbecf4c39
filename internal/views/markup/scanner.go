package markup

import (
	"errors"
	"fmt"
	"strings"
)

// place is where in a page the next byte is.
type place int

const (
	between     place = iota // tags
	opening                  // after <, in the name of an element
	inside                   // a tag, between its attributes
	naming                   // an attribute
	before                   // its value
	quoted                   // its value
	bare                     // its value, which has no quotes
	declaration              // such as <!doctype html>
)

// scanner follows a page byte by byte, so that the place of a value is known for certain. It reads a small part of HTML
// as browsers do, and refuses the rest.
type scanner struct {
	place
	element, attribute string
	raw                string // the element around this place, if it is one of rawElements
	quote              byte
	written            []byte // of the attribute's value
	filled             bool   // written has a part that the template does not have
}

// rawElements are read in another way than the rest. Only a title may have values, and only svg has tags in it.
var rawElements = words("script style svg title")

// strange are the elements that change how browsers read what follows.
var strange = words("iframe math noembed noframes noscript plaintext template textarea xmp")

// words returns a set of words.
func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(list) {
		set[word] = true
	}
	return set
}

// next follows one byte of the page.
func (s *scanner) next(c byte) error {
	switch s.place {
	case between:
		if c == '<' {
			s.place, s.element = opening, ""
		}
	case opening:
		return s.open(c)
	case inside, naming:
		return s.attributes(c)
	case before, bare:
		return s.unquoted(c)
	case quoted:
		if c != s.quote {
			s.written = append(s.written, c)
			return nil
		}
		s.place = inside
		if s.filled && addresses[s.attribute] && !local(string(s.written)) {
			return errNotLocal
		}
	case declaration:
		switch c {
		case '>':
			s.place = between
		case '-', '<', '[':
			return errors.New("comments are not supported")
		}
	}
	return nil
}

// open follows the name of an element.
func (s *scanner) open(c byte) error {
	switch {
	case isLetter(c), isDigit(c) && s.element != "", c == '/' && s.element == "":
		s.element += strings.ToLower(string(c))
		return nil
	case c == '!' && s.element == "" && s.raw == "":
		s.place = declaration
		return nil
	case !isSpace(c) && c != '/' && c != '>', strings.Trim(s.element, "/") == "", s.raw != "" && s.raw != "svg" && s.element != "/"+s.raw, strange[strings.Trim(s.element, "/")]:
		return fmt.Errorf("<%s%c is not supported", s.element, c)
	}
	s.place = inside
	return s.attributes(c)
}

// attributes follows a tag, except the values in it.
func (s *scanner) attributes(c byte) error {
	switch {
	case s.place == naming && (isLetter(c) || isDigit(c) || strings.IndexByte("-_:", c) >= 0):
		s.attribute += strings.ToLower(string(c))
	case s.place == naming && c == '=':
		s.place = before
	case c == '>':
		s.place = between
		switch {
		case s.element == "/"+s.raw:
			s.raw = ""
		case s.raw == "" && rawElements[s.element]:
			s.raw = s.element
		}
	case isSpace(c), c == '/':
		s.place = inside
	case s.place == inside && isLetter(c):
		s.place, s.attribute = naming, strings.ToLower(string(c))
	default:
		return fmt.Errorf("%q in the tag of %s is not supported", c, s.element)
	}
	return nil
}

// unquoted follows the begin of a value, and a value without quotes.
func (s *scanner) unquoted(c byte) error {
	switch {
	case s.place == before && (c == '"' || c == '\''):
		s.place, s.quote, s.written, s.filled = quoted, c, nil, false
	case isLetter(c), isDigit(c), strings.IndexByte("-_./:#%", c) >= 0:
		s.place = bare
	case s.place == bare && (isSpace(c) || c == '>'):
		s.place = inside
		return s.attributes(c)
	default:
		return fmt.Errorf("%q in the value of %s is not supported", c, s.attribute)
	}
	return nil
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isSpace(c byte) bool  { return strings.IndexByte(" \t\r\n\f", c) >= 0 }
