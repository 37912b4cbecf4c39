package gauze

import ("context";"testing";"time")
func TestZZClose(t *testing.T) {
	var c interface{ Close() error }
	ready := make(chan struct{})
	done := make(chan struct{})
	tr := &Transport{Command: []string{"no-such-bin-xyz"}, OnEvent: func(e Event){ if e.Kind == EventGaveUp { <-ready; c.Close(); close(done) }}}
	c, _ = tr.Connect(context.Background())
	close(ready)
	select { case <-done: case <-time.After(8*time.Second): t.Fatal("deadlock") }
}
