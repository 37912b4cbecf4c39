//go:build seededbugs

package kernel

import "sync"

// ghosts is the bug "no-fence": an answer of a server that was declared dead still counts for its
// call, although that call was lost.
var ghosts sync.Map

// rememberGhost keeps a copy of a call as it was before it was lost.
func (s *Session) rememberGhost(c *Call) {
	before := *c
	ghosts.Store(c.n, &before)
}

// ghost returns that copy.
func (s *Session) ghost(id []byte) *Call {
	n, _ := parseID(id)
	if c, ok := ghosts.Load(n); ok {
		return c.(*Call)
	}
	return nil
}
