package main

import "testing"

// The comparison in small: direct entries start every server for every client, and gauze those that are used.
func TestPeersCountsServers(t *testing.T) {
	b, err := newBinaries()
	if err != nil {
		t.Fatal(err)
	}
	defer b.remove()
	gauze, err := b.gauze("")
	if err != nil {
		t.Fatal(err)
	}
	c := &crowd{clients: 2, servers: usedServers + 2, calls: 5, server: []string{b.self, roleMinimal}, argument: "text", gauze: gauze, dir: b.dir}
	for _, w := range chosen("direct,gauze") {
		for round := range 2 { // in the first one, gauze sees the servers for the first time
			got, err := c.measure(w, round)
			if err != nil {
				t.Fatalf("%s: %v", w.name, err)
			}
			if round == 0 {
				continue
			}
			before, after := 0, c.clients*usedServers
			if w.name == "direct" {
				before, after = c.clients*c.servers, c.clients*c.servers
			}
			if got.before != before || got.after != after || got.all < after || got.pss == 0 || got.p50 == 0 {
				t.Errorf("%s: %+v, want %d server processes before a call and %d after", w.name, got, before, after)
			}
		}
	}
}
