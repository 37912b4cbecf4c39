package dashboard

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/views/live"
)

// The file of gauze up is reloaded by a button, and the overview shows what came of it.
func TestTheFileOfUpIsReloaded(t *testing.T) {
	f := serve(t, "")
	var mu sync.Mutex
	said := live.File{Path: "/home/me/up.yaml"}
	var asked atomic.Int32
	a, err := live.Announce(f.dir, "notes", live.Source{
		Server: func() live.Server {
			mu.Lock()
			defer mu.Unlock()
			file := said
			return live.Server{Name: "notes", PID: 4711, Via: "up", State: "asleep", File: &file}
		},
		Reload: func() (string, error) {
			mu.Lock()
			defer mu.Unlock()
			if asked.Add(1) == 1 {
				said.Read, said.Note = time.Now(), "2 servers; added: clock"
				return said.Note, nil
			}
			said.Error = "up.yaml:3: servers.notes.comand: unknown key\nup.yaml:4: <b>more</b>"
			return "", errors.New(said.Error)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	plain := f.announce("wrapped", new(atomic.Int32))
	wantAll(t, f.page("/"), "Reload the file", "/home/me/up.yaml", "/servers/"+a.ID+"/reload")
	session := f.login()
	reload := func(id string) (status int, page string) {
		response := f.exchange(form("/servers/"+id+"/reload", own+"Cookie: COOKIE\n", ""), session)
		return response.StatusCode, response.Header.Get("Location")
	}
	if status, next := reload(a.ID); status != 303 || next != "/" {
		t.Errorf("status %d, then %s", status, next)
	}
	wantAll(t, f.page("/"), "2 servers; added: clock")
	if status, next := reload(a.ID); status != 303 || next != "/" {
		t.Errorf("a file with an error: status %d, then %s", status, next)
	}
	wantAll(t, f.page("/"), "The last reload failed, so gauze up keeps using the previous version", "up.yaml:3: servers.notes.comand: unknown key", "up.yaml:4: &lt;b&gt;more")
	if status, _ := reload(plain.ID); status != 409 {
		t.Errorf("a server without a file: status %d", status)
	}
	if status, _ := reload("1-1"); status != 404 {
		t.Errorf("a server that is gone: status %d", status)
	}
	if asked.Load() != 2 {
		t.Errorf("reloaded %d times", asked.Load())
	}
}
