package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gauze-mcp/gauze/internal/hub"
	"github.com/gauze-mcp/gauze/internal/hub/upfile"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

// lookEvery is how often the files are looked at. Editors replace files and directories of links change as a
// whole, so what is at the path is compared, not what happened to it.
const lookEvery = 2 * time.Second

// keepReading uses the file again whenever it, or what it includes, has changed, and on SIGHUP. A file with an error
// changes nothing.
func (f *upFlags) keepReading(ctx context.Context, h *hub.Hub, path string) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGHUP)
	defer signal.Stop(asked)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	last := stamps{}
	for _, path := range h.File().Watch {
		last.add(path)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-asked:
		case <-tick.C:
			if !last.changed() {
				continue
			}
		}
		last = reload(h, path)
	}
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

// reload uses a file instead of the one that is used, says what came of it, and returns what it depends on. A file
// that cannot be read in full does not replace one that could.
func reload(h *hub.Hub, path string) stamps {
	seen := stamps{}
	file, err := upfile.Read(path, upfile.Options{Watch: seen.add})
	if err == nil && file.Loses(h.File()) {
		err = file.Missing
	}
	if err == nil {
		err = h.Change(file)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "gauze: %s has an error, so gauze keeps using the previous version:\n%v\n", path, err)
		return seen
	}
	fmt.Fprintf(os.Stderr, "gauze: %s was read again: %s\n", path, plaintext.Count(len(file.Servers), "server"))
	tellMissing(file)
	return seen
}

// tellMissing says which parts of a file cannot be used.
func tellMissing(file *upfile.File) {
	if len(file.Missing) > 0 {
		fmt.Fprintf(os.Stderr, "gauze: %s\n%v\n", missingText, file.Missing)
	}
}

// missingText introduces what is wrong with the files that a file includes.
const missingText = "not everything in the file can be used now:"
