//go:build linux

package realtest

import "fmt"

// dieWithWrites lets the server die at four exact moments of calls that must not be repeated, one of each client.
func (c *crowd) dieWithWrites(server *webServer) {
	c.t.Helper()
	for _, moment := range []struct {
		fate    string
		unknown bool
		kept    int
	}{
		{dieOnReceipt, true, 0},
		{dieBeforeAnswer, true, 1},
		{dieMidAnswer, true, 1},
		{dieAfterAnswer, false, 1},
	} {
		word := func(m *member) string { return moment.fate + " " + m.name }
		answered := c.begin(moment.fate, func(m *member) error {
			a, err := m.call(m.ctx, call{tool: "keep", args: map[string]any{"text": word(m)}})
			if err == nil && (a.saysUnknown() != moment.unknown || a.IsError != moment.unknown) {
				err = fmt.Errorf("the answer is %+v; unknown outcome wanted: %v", a, moment.unknown)
			}
			return err
		})
		server.again() // when it has died
		answered()
		c.all("a call after it", func(m *member) error { return m.must(server.read, server.want) })
		for _, m := range c.members {
			arrived, kept := server.at.arrivals(c.t, `"`+word(m)+`"`), server.at.kept(c.t, word(m))
			if arrived != 1 || kept != moment.kept {
				c.t.Errorf("%s: %s: it arrived %d times and was done %d times, want 1 and %d", m.name, moment.fate, arrived, kept, moment.kept)
			}
		}
	}
}
