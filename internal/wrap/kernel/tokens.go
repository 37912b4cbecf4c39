package kernel

import (
	"iter"
	"slices"
)

// tokens are the calls that are not done, by raw progress token. A token belongs to one request at a time (schema
// 2025-11-25, ProgressToken), but some clients use one for all, and a direct connection passes their progress on.
type tokens struct {
	first map[string]*Call
	more  map[string][]*Call // with the token of the first, in the order in which they came
}

func newTokens() tokens { return tokens{map[string]*Call{}, map[string][]*Call{}} }

func (t *tokens) add(c *Call) {
	switch {
	case c.token == "":
	case t.first[c.token] == nil:
		t.first[c.token] = c
	default:
		t.more[c.token] = append(t.more[c.token], c)
	}
}

func (t *tokens) remove(c *Call) {
	if c.token == "" {
		return
	}
	more := t.more[c.token]
	switch {
	case t.first[c.token] == c && len(more) > 0:
		t.first[c.token] = more[0]
		more = slices.Delete(more, 0, 1)
	case t.first[c.token] == c:
		delete(t.first, c.token)
	default:
		more = slices.DeleteFunc(more, func(one *Call) bool { return one == c })
	}
	if len(more) > 0 {
		t.more[c.token] = more
	} else {
		delete(t.more, c.token)
	}
}

// shared reports whether several calls have a token.
func (t *tokens) shared(token string) bool { return len(t.more[token]) > 0 }

// sent returns the first call with a token that the server has, or nil. Progress may be about any of those, but servers
// begin with the first.
func (t *tokens) sent(token string) *Call {
	for c := range t.allSent(token) {
		return c
	}
	return nil
}

// allSent returns the calls with a token that the server has.
func (t *tokens) allSent(token string) iter.Seq[*Call] {
	return func(yield func(*Call) bool) {
		if c := t.first[token]; c != nil && c.state == sent && !yield(c) {
			return
		}
		for _, c := range t.more[token] {
			if c.state == sent && !yield(c) {
				return
			}
		}
	}
}
