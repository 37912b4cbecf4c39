package live

import (
	"bufio"
	"crypto/hmac"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/gauze-mcp/gauze/internal/disk/files"
	"github.com/gauze-mcp/gauze/internal/disk/sockets"
)

// announcement is the content of a wrap's file.
type announcement struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`            // the machine: a home directory may be on several
	Space   string    `json:"space,omitempty"` // the container on it, see sockets.Space; empty: an older gauze wrote the file
	Since   time.Time `json:"since"`
	Name    string    `json:"name"`
	Network string    `json:"network"`
	Address string    `json:"address"`
	Token   string    `json:"token"`
}

const (
	fileSuffix   = ".json"
	socketSuffix = ".sock"

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

// onHost reports whether a wrap runs, or ran, on this host.
func (a announcement) onHost() bool {
	host, _ := os.Hostname()
	return a.Host == host
}

// inSpace reports whether the wrap's process number and address mean the same in this process.
func (a announcement) inSpace() bool { return a.Space == "" || a.Space == sockets.Space() }

// Announce makes a wrap visible to the other commands of this user until Close. dir is the state
// directory. A wrap that cannot be announced still works.
func Announce(dir, name string, source Source) (*Announcement, error) {
	if err := files.CheckLimit(); err != nil {
		return nil, err
	}
	dir = liveDir(dir)
	if err := sockets.OwnDir(dir); err != nil {
		return nil, err
	}
	id := newID()
	a := &Announcement{ID: id, file: filepath.Join(dir, id+fileSuffix), token: rand.Text(), source: source}
	var err error
	if a.listener, err = sockets.Listen(filepath.Join(dir, id+socketSuffix)); err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	about := announcement{PID: os.Getpid(), Host: host, Space: sockets.Space(), Since: time.Now(), Name: name, Token: a.token,
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
	if err != nil || json.Unmarshal(line, &q) != nil || !hmac.Equal(q.Proof, sockets.Proof(a.token, "request", q.Nonce, q.Ask)) {
		return
	}
	var r response
	if r.Value, err = a.value(q.Ask); err != nil {
		r = response{Error: err.Error()}
	}
	r.Proof = sockets.Proof(a.token, "response", q.Nonce, r.Error, string(r.Value))
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
	case "reload":
		return a.reload()
	}
	return nil, fmt.Errorf("unknown request %q from a different version of gauze", ask)
}
