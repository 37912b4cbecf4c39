package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gauze-mcp/gauze/internal/hub"
	"github.com/gauze-mcp/gauze/internal/hub/upfile"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/views/live"
)

// lookEvery is how often the files are looked at. Editors replace files and directories of links change as a
// whole, so what is at the path is compared, not what happened to it.
const lookEvery = 2 * time.Second

// reloader reads the file of a gauze up again.
type reloader struct {
	path string

	mu      sync.Mutex // held during a reload; guards everything below
	hub     *hub.Hub   // nil: it is starting
	seen    stamps     // what the last version that was read depends on
	private []string   // variables that have, or had, tokens of clients: only servers that refer to them receive them

	saying sync.Mutex // guards said
	said   live.File
}

func newReloader(path string) *reloader {
	return &reloader{path: path, said: live.File{Path: redact.Quote(path)}}
}

// keepReading uses the file again whenever it, or what it includes, has changed, and on SIGHUP. A file with an error
// changes nothing.
func (r *reloader) keepReading(ctx context.Context, h *hub.Hub) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGHUP)
	defer signal.Stop(asked)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	r.use(h)
	for {
		select {
		case <-ctx.Done():
			return
		case <-asked:
		case <-tick.C:
			if !r.changed() {
				continue
			}
		}
		r.reload()
	}
}

// read reads the file, and notes what is at the paths that it depends on. The caller holds the lock, or is the first.
func (r *reloader) read() (*upfile.File, error) {
	r.seen = stamps{}
	file, err := upfile.Read(r.path, upfile.Options{Watch: r.seen.add, Private: r.private})
	if err != nil {
		return nil, err
	}
	for _, t := range file.Tokens { // one that is removed later stays private, so no server has to start again
		if !slices.Contains(r.private, t.Env) {
			r.private = append(r.private, t.Env)
		}
	}
	return file, nil
}

// use begins with a hub that has the file of the last read.
func (r *reloader) use(h *hub.Hub) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hub = h
}

func (r *reloader) changed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen.changed()
}

// asked returns what reloads the file for another process of the user; nil if there is none.
func (r *reloader) asked() func() (string, error) {
	if r == nil {
		return nil
	}
	return r.reload
}

// file returns what is known about the file; nil if there is none.
func (r *reloader) file() *live.File {
	if r == nil {
		return nil
	}
	r.saying.Lock()
	defer r.saying.Unlock()
	said := r.said
	return &said
}

// stamps identify what is at each path. What a file with an error includes is among them.
type stamps map[string]string

// add notes what is at a path, which is about to be read.
func (s stamps) add(path string) { s[path] = stamp(path) }

func (s stamps) changed() bool {
	for path, was := range s {
		if stamp(path) != was {
			return true
		}
	}
	return false
}

func stamp(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano(), info.Mode())
}

// reload uses the file instead of the version that is used, says what came of it, and returns what changed. A file
// that cannot be read in full does not replace one that could.
func (r *reloader) reload() (changed string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hub == nil {
		return "", errors.New("gauze up is starting")
	}
	before := r.hub.File()
	file, err := r.read()
	if err == nil && file.Loses(before) {
		err = file.Missing
	}
	if err == nil {
		err = r.hub.Change(file)
	}
	said := live.File{Path: redact.Quote(r.path), Read: time.Now()}
	if err != nil {
		fmt.Fprintf(os.Stderr, "gauze: %s has an error, so gauze keeps using the previous version:\n%v\n", r.path, err)
		said.Error = err.Error()
	} else {
		said.Note = plaintext.Count(len(file.Servers), "server") + "; " + changesText(upfile.Diff(before, file))
		fmt.Fprintf(os.Stderr, "gauze: %s was read again: %s\n", r.path, said.Note)
		tellMissing(file)
	}
	r.saying.Lock()
	defer r.saying.Unlock()
	r.said = said
	return said.Note, err
}

// changesText says what a new version of a file changed.
func changesText(c upfile.Changes) string {
	var parts []string
	for _, list := range []struct {
		what string
		keys []string
	}{{"added", c.Added}, {"changed", c.Changed}, {"other tools", c.Filtered}, {"removed", c.Removed}} {
		if len(list.keys) > 0 {
			parts = append(parts, list.what+": "+strings.Join(list.keys, ", "))
		}
	}
	if c.Profiles {
		parts = append(parts, "profiles or tokens changed")
	}
	return cmp.Or(strings.Join(parts, "; "), "nothing changed")
}

// tellMissing says which parts of a file cannot be used.
func tellMissing(file *upfile.File) {
	if len(file.Missing) > 0 {
		fmt.Fprintf(os.Stderr, "gauze: %s\n%v\n", missingText, file.Missing)
	}
}

// missingText introduces what is wrong with the files that a file includes.
const missingText = "not everything in the file can be used now:"
