package live

import (
	"bufio"
	"crypto/hmac"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	mathrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/files"
)

// announcement is the content of a wrap's file.
type announcement struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`            // the machine: a home directory may be on several
	Space   string    `json:"space,omitempty"` // the container on it, see space; empty: an older gauze wrote the file
	Since   time.Time `json:"since"`
	Name    string    `json:"name"`
	Network string    `json:"network"`
	Address string    `json:"address"`
	Token   string    `json:"token"`
}

const (
	fileSuffix   = ".json"
	socketSuffix = ".sock"

	maxSocketPath  = 100              // bytes; systems allow 104 to 108
	restartTimeout = 15 * time.Second // a restart waits for the calls in flight
	maxRequest     = 4 << 10
	maxResponse    = 32 << 20
	maxFile        = 64 << 10
)

// askTimeout limits a question and its answer. Tests change it.
var askTimeout = 2 * time.Second

// Announcement is a wrap that can be asked.
type Announcement struct {
	ID       string
	file     string
	token    string
	source   Source
	listener net.Listener
}

// newID returns an id that no other wrap has: containers that share a state directory may have
// processes of the same number.
func newID() string { return fmt.Sprintf("%d-%d", os.Getpid(), mathrand.Uint64()>>16) }

// space identifies what gives numbers of processes and addresses their meaning on a machine: the
// namespaces of this process on Linux, empty elsewhere.
func space() string {
	pids, _ := os.Readlink("/proc/self/ns/pid")
	net, _ := os.Readlink("/proc/self/ns/net")
	return pids + net
}

// onHost reports whether a wrap runs, or ran, on this host.
func (a announcement) onHost() bool {
	host, _ := os.Hostname()
	return a.Host == host
}

// inSpace reports whether the wrap's process number and address mean the same in this process.
func (a announcement) inSpace() bool { return a.Space == "" || a.Space == space() }

// Announce makes a wrap visible to the other commands of this user until Close. dir is the state
// directory. A wrap that cannot be announced still works.
func Announce(dir, name string, source Source) (*Announcement, error) {
	if err := files.CheckLimit(); err != nil {
		return nil, err
	}
	dir = liveDir(dir)
	if err := own(dir); err != nil {
		return nil, err
	}
	id := newID()
	a := &Announcement{ID: id, file: filepath.Join(dir, id+fileSuffix), token: rand.Text(), source: source}
	var err error
	if a.listener, err = listen(filepath.Join(dir, id+socketSuffix)); err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	about := announcement{PID: os.Getpid(), Host: host, Space: space(), Since: time.Now(), Name: name, Token: a.token,
		Network: a.listener.Addr().Network(), Address: a.listener.Addr().String()}
	if err := writeFile(a.file, about); err != nil {
		a.listener.Close()
		return nil, err
	}
	go a.serve()
	return a, nil
}

// liveDir returns the directory of the announcements.
func liveDir(dir string) string { return filepath.Join(dir, "live") }

// own creates the directory of the announcements. It belongs to this user alone: a token in it lets
// its reader restart servers.
func own(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if err := isDir(dir, info); err != nil {
		return err
	}
	if info.Mode().Perm() == 0o700 {
		return nil
	}
	return os.Chmod(dir, 0o700) // fails if it belongs to a different user
}

// isDir rejects a symbolic link, which can lead to a directory of a different user.
func isDir(dir string, info fs.FileInfo) error {
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory (a symbolic link is not followed)", dir)
	}
	return nil
}

// listen opens a socket in the file system, which only its user can reach, or one on the loopback
// interface where that is not possible. Either requires the token.
func listen(path string) (net.Listener, error) {
	if len(path) <= maxSocketPath {
		if l, err := net.Listen("unix", path); err == nil {
			if os.Chmod(path, 0o600) == nil {
				return l, nil
			}
			l.Close()
		}
	}
	return net.Listen("tcp", "127.0.0.1:0")
}

// writeFile replaces the file as a whole.
func writeFile(path string, about announcement) error {
	text, err := json.Marshal(about)
	if err != nil {
		return err
	}
	return files.Swap(path, text)
}

// Close ends the announcement. It does not wait for those who ask: they must not delay the end of a
// wrap. A nil one has nothing to end.
func (a *Announcement) Close() {
	if a == nil {
		return
	}
	os.Remove(a.file)
	a.listener.Close() // removes the socket
}

func (a *Announcement) serve() {
	for {
		conn, err := a.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as too many open files
			time.Sleep(100 * time.Millisecond)
			continue
		}
		go a.answer(conn)
	}
}

// answer answers one question.
func (a *Announcement) answer(conn net.Conn) {
	defer conn.Close()
	conn.SetReadDeadline(time.Now().Add(askTimeout))
	line, err := bufio.NewReader(io.LimitReader(conn, maxRequest)).ReadBytes('\n')
	var q request
	if err != nil || json.Unmarshal(line, &q) != nil || !hmac.Equal(q.Proof, proof(a.token, "request", q.Nonce, q.Ask)) {
		return
	}
	var r response
	if r.Value, err = a.value(q.Ask); err != nil {
		r = response{Error: err.Error()}
	}
	r.Proof = proof(a.token, "response", q.Nonce, r.Error, string(r.Value))
	conn.SetWriteDeadline(time.Now().Add(askTimeout))
	json.NewEncoder(conn).Encode(r)
}

// value returns what was asked for, as JSON.
func (a *Announcement) value(ask string) (json.RawMessage, error) {
	switch ask {
	case "server":
		s := a.source.Server()
		s.ID = a.ID
		return json.Marshal(s)
	case "detail":
		d := a.source.Detail()
		d.Server.ID = a.ID
		return json.Marshal(d)
	case "log":
		return json.Marshal(a.source.Log())
	case "restart":
		return nil, a.source.Restart()
	}
	return nil, fmt.Errorf("unknown request %q from a different version of gauze", ask)
}
