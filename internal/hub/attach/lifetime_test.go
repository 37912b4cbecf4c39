package attach_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gauze-mcp/gauze/internal/hub/attach"
)

func TestALifetimeEndsAfterTheLastClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended time.Duration
		begin := time.Now()
		l := attach.NewLifetime(time.Minute, func() { ended = time.Since(begin) })
		time.Sleep(59 * time.Second)
		for range 2 {
			if !l.Enter() {
				t.Fatal("a client in time was refused")
			}
		}
		l.Leave()
		time.Sleep(time.Hour) // one is left
		synctest.Wait()
		if ended != 0 {
			t.Fatalf("it ended after %v, with a client", ended)
		}
		l.Leave()
		time.Sleep(30 * time.Second)
		if !l.Enter() {
			t.Fatal("a client in time was refused")
		}
		l.Leave()
		time.Sleep(time.Hour)
		synctest.Wait()
		if want := time.Hour + 59*time.Second + 90*time.Second; ended != want {
			t.Errorf("it ended after %v, want %v", ended, want)
		}
		if l.Enter() {
			t.Error("a client entered after the end")
		}
	})
}

func TestALifetimeWithoutALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := attach.NewLifetime(0, func() { t.Error("it ended") })
		l.Enter()
		l.Leave()
		time.Sleep(1000 * time.Hour)
		synctest.Wait()
		if !l.Enter() {
			t.Error("a client was refused")
		}
	})
}
