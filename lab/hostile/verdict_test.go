//go:build linux

package hostile

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// host is the one a project would have things sent to. It keeps what it gets.
type host struct {
	t       *testing.T
	address string
	reading sync.WaitGroup
	mu      sync.Mutex
	got     []string
	fences  chan struct{}
}

const fence = "nothing follows"

func listen(t *testing.T) *host {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	h := &host{t: t, address: listener.Addr().String(), fences: make(chan struct{}, 1)}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			h.reading.Add(1)
			go h.read(conn)
		}
	}()
	return h
}

// read keeps the beginning of what comes, and answers as no MCP server does.
func (h *host) read(conn net.Conn) {
	defer h.reading.Done()
	defer conn.Close()
	text := make([]byte, 4<<10)
	n, _ := conn.Read(text)
	switch said := string(text[:n]); said {
	case "": // a connection that only checked for a listener
	case fence:
		h.fences <- struct{}{}
	default:
		h.mu.Lock()
		h.got = append(h.got, said)
		h.mu.Unlock()
		_, _ = io.WriteString(conn, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n") // it may be gone
	}
}

// received returns everything that was sent so far. Its senders have exited, and connections are
// accepted in order, so all of theirs come before ours.
func (h *host) received() []string {
	conn, err := net.Dial("tcp", h.address)
	if err != nil {
		h.t.Fatal(err)
	}
	_, _ = io.WriteString(conn, fence)
	<-h.fences
	conn.Close()
	h.reading.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.got
}

// start is how a program of the user's was started.
type start struct {
	name, dir string
	args, env []string
}

func (w *world) starts() (all []start) {
	text, _ := os.ReadFile(w.user.evidence("starts"))
	for line := range bytes.Lines(text) {
		var fields []string
		for field := range strings.SplitSeq(strings.TrimSpace(string(line)), "\t") {
			fields = append(fields, w.unquoted(field))
		}
		n, err := strconv.Atoi(fields[2])
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, start{fields[0], fields[1], fields[3 : 3+n], fields[3+n:]})
	}
	return all
}

func (w *world) unquoted(text string) string {
	text, err := strconv.Unquote(text)
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

func (w *world) trips() (all []string) {
	text, _ := os.ReadFile(w.user.evidence("trips"))
	for line := range strings.Lines(string(text)) {
		all = append(all, w.unquoted(strings.TrimSpace(line)))
	}
	return all
}

// violation is something that must not have happened.
type violation struct{ kind, detail string }

// violations compares what happened during a command with what may happen.
func (w *world) violations(c command, said transcript, homeBefore string) (all []violation) {
	add := func(kind, detail string, args ...any) {
		v := violation{kind, fmt.Sprintf(detail, args...)}
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	if said.err != nil {
		add("hangs or fails", "%v", said.err)
	}
	for _, trip := range w.trips() {
		if id, ok := strings.CutPrefix(trip, "secret "); ok {
			if strings.HasPrefix(id, "codex/") { // which hands on no such variable
				add("a secret of the terminal is given to a server of the project", "%s", id)
			}
		} else if strings.HasPrefix(trip, "a pipe") {
			add("hangs or fails", "%s", trip)
		} else if id, ok := strings.CutPrefix(trip, "entry "); !ok {
			add("a program of the project runs", "%s", strings.ReplaceAll(trip, w.project.root, "PROJECT"))
		} else if hidden := w.unshown(id, said); hidden != "" {
			add("a server of the project starts without having been shown", "%s: not shown: %s", id, hidden)
		}
	}
	for _, request := range w.host.received() {
		line, _, _ := strings.Cut(request, "\n")
		_, rest, _ := strings.Cut(line, "entry=")
		if id, _, ok := strings.Cut(rest, "&q="); !ok && strings.Contains(request, "User-Agent: Go") && strings.Contains(unfolded(said.asked), w.host.address) {
			continue // gauze looks for the right path on a host that was agreed to
		} else if !ok {
			add("something is sent to a host of the project's choice", "%q", strings.ReplaceAll(request, w.host.address, "HOST"))
		} else if hidden := w.unshown(id, said); hidden != "" {
			add("a server of the project is reached without having been shown", "%s: not shown: %s", id, hidden)
		}
	}
	for _, s := range w.starts() {
		who := fmt.Sprintf("%s %q", s.name, s.args)
		who = strings.ReplaceAll(who, w.project.root, "PROJECT")
		if w.inside(s.dir) && !c.typed {
			add("a program of the user is started in the project", "%s", who)
		}
		for _, word := range s.args {
			if strings.Contains(word, projectValue) || strings.Contains(word, vaultValue) {
				add("a value of the project reaches an argument", "%s", who)
			}
		}
		for _, pair := range s.env {
			name, value, _ := strings.Cut(pair, "=")
			switch {
			case strings.Contains(value, projectValue):
				add("a value of the project reaches a variable", "%s gets %s", who, pair)
			case strings.Contains(value, vaultValue):
				add("a link of the project leads a secret into a variable", "%s gets %s", who, pair)
			case strings.Contains(value, terminalValue) && !c.typed && (name != "GITHUB_TOKEN" || w.onDesktop(s)):
				add("a secret of the terminal reaches a server that was not given it", "%s gets %s", who, name)
			case strings.Contains(value, w.project.root) && name != "PATH" && !c.typed:
				add("a variable names the project's folder", "%s gets %s", s.name, name)
			case name == "PATH" && strings.Contains(value, w.project.root) && !strings.Contains(w.path, w.project.root):
				add("a folder of the project is put on PATH", "%s", who)
			}
		}
	}
	for _, sign := range []string{"\x1b]", "\nforged-line", "\u202e"} {
		if strings.Contains(said.output, sign) && !strings.Contains(said.line, sign) { // or the person typed it
			add("text of the project is shown as it is", "%q", sign)
		}
	}
	if now := w.homeNow(); now != homeBefore && said.asked == "" {
		add("a file outside the project is written", "before:\n%s\nafter:\n%s", homeBefore, now)
	}
	return all
}

// inside reports whether a folder is in the project.
func (w *world) inside(dir string) bool {
	real, err := filepath.EvalSymlinks(w.project.root)
	if err != nil {
		w.t.Fatal(err)
	}
	return dir == real || strings.HasPrefix(dir, real+"/")
}

// onDesktop reports whether a start is of a server of Claude Desktop only: that
// hands on none of the terminal's variables.
func (w *world) onDesktop(s start) bool {
	return s.name == "fs" && len(s.args) > 0 && strings.HasPrefix(s.args[0], "--needs=")
}

// unshown is what a person was not shown of a server of the project before it
// was started or reached; nothing, if it was shown exactly.
func (w *world) unshown(id string, said transcript) string {
	if said.asked == "" {
		return "anything"
	}
	least := []string{"anything"} // several files may have a server of that name
	for _, e := range w.project.entries {
		if e.client+"/"+e.name != id {
			continue
		}
		hidden := slices.DeleteFunc(slices.Clone(e.exact), func(word string) bool { return strings.Contains(unfolded(said.asked), word) })
		if least[0] == "anything" || len(hidden) < len(least) {
			least = hidden
		}
		if len(least) == 0 {
			return ""
		}
	}
	return strings.Join(least, ", ")
}

// homeNow lists the user's files, except those of the project and of the folder
// that gauze is run in.
func (w *world) homeNow() string {
	var b strings.Builder
	err := filepath.WalkDir(w.user.home, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == w.project.root || path == w.dir {
			return fs.SkipDir
		}
		info, err := entry.Info()
		if err != nil || entry.IsDir() {
			return err
		}
		fmt.Fprintf(&b, "%s %d %v\n", strings.TrimPrefix(path, w.user.home), info.Size(), info.ModTime())
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return b.String()
}
