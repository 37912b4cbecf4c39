package kernel

import "slices"

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
	switch at := slices.Index(more, c); {
	case t.first[c.token] == c && len(more) > 0:
		t.first[c.token], more = more[0], more[1:]
	case t.first[c.token] == c:
		delete(t.first, c.token)
	case at >= 0:
		more = slices.Delete(more, at, at+1)
	}
	if len(more) > 0 {
		t.more[c.token] = more
	} else {
		delete(t.more, c.token)
	}
}

// sent returns the call that progress with a token is about: the first of those that the server has. It returns nil if
// the server has none.
func (t *tokens) sent(token string) *Call {
	if c := t.first[token]; c != nil && c.state == sent {
		return c
	}
	for _, c := range t.more[token] {
		if c.state == sent {
			return c
		}
	}
	return nil
}
