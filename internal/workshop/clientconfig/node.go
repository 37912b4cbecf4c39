package clientconfig

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/workshop/splice"
)

// member returns a field, also a nested one such as "requestOptions/headers".
func member(n splice.Node, name string) (splice.Node, bool) {
	if name == "" {
		return n, false
	}
	for part := range strings.SplitSeq(name, "/") {
		found := false
		for key, value := range n.Members() {
			if key == part {
				n, found = value, true
				break
			}
		}
		if !found {
			return n, false
		}
	}
	return n, true
}

// mustMember returns a field, or n if there is none.
func mustMember(n splice.Node, name string) splice.Node {
	m, _ := member(n, name)
	return m
}

func has(n splice.Node, name string) bool {
	_, ok := member(n, name)
	return ok
}

func steps(name string) (path []any) {
	for part := range strings.SplitSeq(name, "/") {
		path = append(path, part)
	}
	return path
}

func text(n splice.Node) (string, bool) {
	if n.Kind() != splice.StringKind {
		return "", false
	}
	return n.Value().(string), true
}

// textOf returns the string in a field, or "".
func textOf(n splice.Node, name string) string {
	m, ok := member(n, name)
	if !ok {
		return ""
	}
	s, _ := text(m)
	return s
}

// words returns the items of a list that are strings.
func words(n splice.Node) (all []string) {
	for _, item := range n.Items() {
		if s, ok := text(item); ok {
			all = append(all, s)
		}
	}
	return all
}

// number returns what a client would read as a number.
func number(n splice.Node) (float64, bool) {
	if n.Kind() != splice.NumberKind {
		return 0, false
	}
	digits := strings.ReplaceAll(string(n.Value().(json.Number)), "_", "")
	f, err := strconv.ParseFloat(digits, 64)
	return f, err == nil
}

func boolean(n splice.Node) (value, ok bool) {
	if n.Kind() != splice.BoolKind {
		return false, false
	}
	return n.Value().(bool), true
}

// plain returns a string, or a number or boolean as it is written in the file.
func plain(n splice.Node) (string, bool) {
	switch v := n.Value().(type) {
	case json.Number:
		return string(v), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return text(n)
}
