package doctor

import (
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Listener is the process that listens on a port of this machine.
type Listener struct {
	PID  int
	Name string
}

func (l Listener) String() string { return fmt.Sprintf("%s (process %d)", l.Name, l.PID) }

// Accepts reports whether a port of this machine accepts connections. The result is not cached,
// because it may change during a treatment.
func (m *Machine) Accepts(host string, port int) bool {
	accepts, _ := m.knock(host, port)
	return accepts
}

// Refuses reports whether a port of this machine refuses connections. An attempt that runs out of
// time proves nothing: the port neither accepts nor refuses.
func (m *Machine) Refuses(host string, port int) bool {
	_, refuses := m.knock(host, port)
	return refuses
}

// knock connects to a port of this machine.
func (m *Machine) knock(host string, port int) (accepts, refuses bool) {
	ctx, cancel := m.inTime()
	defer cancel()
	dial := m.Dial
	if m.local != nil && launch.IsLoopback(host) {
		dial = m.local
	}
	conn, err := dial(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return false, ctx.Err() == nil
	}
	conn.Close()
	return true, false
}

// Listener returns the process that listens on a port. Only Linux shows it without running a
// program, and only for processes of this user.
func (m *Machine) Listener(port int) (Listener, bool) {
	if m.OS != "linux" || port == 0 {
		return Listener{}, false
	}
	inode := m.listening(port)
	if inode == "" {
		return Listener{}, false
	}
	handles, _ := filepath.Glob(m.system("/proc/[0-9]*/fd/*"))
	for _, handle := range handles {
		if target, err := os.Readlink(handle); err != nil || target != "socket:["+inode+"]" {
			continue
		}
		process := filepath.Dir(filepath.Dir(handle))
		pid, _ := strconv.Atoi(filepath.Base(process))
		name, _ := os.ReadFile(filepath.Join(process, "comm"))
		return Listener{pid, strings.TrimSpace(string(name))}, pid > 0
	}
	return Listener{}, false
}

// listening returns the inode of the socket that listens on a port.
func (m *Machine) listening(port int) string {
	const listen, state, inode = "0A", 3, 9 // columns of /proc/net/tcp
	wanted := strings.ToUpper(hex.EncodeToString([]byte{byte(port >> 8), byte(port)}))
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, _ := os.ReadFile(m.system(table))
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) > inode && f[state] == listen && strings.HasSuffix(f[1], ":"+wanted) {
				return f[inode]
			}
		}
	}
	return ""
}
