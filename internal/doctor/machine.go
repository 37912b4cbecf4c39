package doctor

import (
	"context"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/shell"
)

// lookTime is what one look-up may take: a fact that comes later is none.
const lookTime = 2 * time.Second

// Machine is what can be known about this machine without changing it. Every
// fact is looked up when it is first asked for, in bounded time, and kept.
//
// Nothing is written. Nothing is run but the login shell, for its PATH, and
// interpreters, for their version. Nothing is contacted but loopback and the
// host a server is configured with.
type Machine struct {
	OS     string // as runtime.GOOS
	Home   string
	Dir    string // where we were started
	Root   string // stands before the system's own folders; for tests
	Env    func(name string) (string, bool)
	Run    func(ctx context.Context, env []string, name string, args ...string) (string, error)
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	Lookup func(ctx context.Context, host string) ([]string, error)

	until context.Context            // ends every look; nil: only its time does
	allow func(netip.AddrPort) error // decides about addresses; nil: all are allowed

	mu    sync.Mutex
	known map[string]any // fact by question: a func() T that looks once
}

// ThisMachine is the one we run on.
func ThisMachine() *Machine {
	home, _ := os.UserHomeDir()
	dir, _ := os.Getwd()
	return &Machine{OS: runtime.GOOS, Home: home, Dir: dir, Env: os.LookupEnv, Run: run, Dial: (&net.Dialer{}).DialContext, Lookup: net.DefaultResolver.LookupHost}
}

// once answers a question the first time by looking, then from memory. Two who
// ask at the same time wait for the same look.
func once[T any](m *Machine, question string, look func() T) T {
	m.mu.Lock()
	if m.known == nil {
		m.known = map[string]any{}
	}
	answer, ok := m.known[question].(func() T)
	if !ok {
		answer = sync.OnceValue(look)
		m.known[question] = answer
	}
	m.mu.Unlock()
	return answer()
}

// Until lets every look end with a context: whoever asked is gone then.
func (m *Machine) Until(ctx context.Context) *Machine {
	m.until = ctx
	return m
}

func (m *Machine) inTime() (context.Context, context.CancelFunc) {
	if m.until == nil {
		return context.WithTimeout(context.Background(), lookTime)
	}
	return context.WithTimeout(m.until, lookTime)
}

// typing returns the words of the user's shell.
func (m *Machine) typing() shell.Words { return shell.For(m.OS) }

// variable is the value of a variable of ours, or nothing.
func (m *Machine) variable(name string) string {
	value, _ := m.Env(name)
	return value
}

// system is a folder of the system itself.
func (m *Machine) system(path string) string { return filepath.Join(m.Root, path) }

// runnable reports whether a file can be started, as far as its mode says so.
// Files on Windows have no bit for it.
func runnable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// readSmall reads a file of a size a person writes. Anything else, a device or
// a pipe among it, is not read at all.
func readSmall(path string) ([]byte, error) {
	const most = 256 << 10
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fs.ErrInvalid
	}
	return os.ReadFile(path)
}

// InContainer tells whether we run in a container ourselves.
func (m *Machine) InContainer() bool {
	return once(m, "container", func() bool {
		return isFile(m.system("/.dockerenv")) || isFile(m.system("/run/.containerenv"))
	})
}

// upwards are a folder and those above it, up to the root of its repository or
// the last one below home: what lies beyond belongs to no project.
func (m *Machine) upwards(dir string) []string {
	const deepest = 12
	var dirs []string
	dir, err := filepath.Abs(dir)
	for ; err == nil && len(dirs) < deepest; dir = filepath.Dir(dir) {
		if dir == m.Home || dir == filepath.Dir(dir) {
			break
		}
		dirs = append(dirs, dir)
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			break
		}
		if !strings.HasPrefix(dir, m.Home+string(filepath.Separator)) {
			break // no project of this user: the folder itself, and no other's
		}
	}
	return dirs
}
