package doctor

import (
	"bytes"
	"context"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// lookTimeout bounds one look-up. A fact that takes longer counts as unknown.
const lookTimeout = 2 * time.Second

// Machine provides facts about this machine without changing it. Each fact is looked up when it is
// first needed, in bounded time, and cached.
//
// Machine writes nothing. It runs only the login shell, for its PATH, and interpreters, for their
// version. It connects only to loopback, to Docker's socket and to the host that a server is configured
// with.
type Machine struct {
	OS   string // as runtime.GOOS
	Home string
	Dir  string // gauze's working directory
	Root string // prefix of the system's own directories; for tests
	// Project is a directory that the user works in and that servers are not started in, or "".
	// What is found in it is the project's.
	Project string
	// Entries are the servers that are configured on this machine, as far as they are known. Only
	// their names of packages and their ports are suggested for others.
	Entries []launch.Spec
	Env     func(name string) (string, bool)
	Run     func(ctx context.Context, env []string, name string, args ...string) (string, error)
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	Lookup  func(ctx context.Context, host string) ([]string, error)
	// Required returns the variables that a registry lists as required for a package of npm or pypi.
	// It is nil if no registry is known.
	Required func(ctx context.Context, kind, name string) []string

	until context.Context                                                      // ends every look-up; nil for lookTimeout only
	allow func(netip.AddrPort) error                                           // decides about addresses; nil allows all
	local func(ctx context.Context, network, address string) (net.Conn, error) // Dial for loopback addresses, if allow is set

	mu    sync.Mutex
	known map[string]any // func() T by question, which looks up once
}

// ThisMachine returns the machine that gauze runs on.
func ThisMachine() *Machine {
	home, _ := os.UserHomeDir()
	dir, _ := os.Getwd()
	return &Machine{OS: runtime.GOOS, Home: home, Dir: dir, Env: os.LookupEnv, Run: run, Dial: (&net.Dialer{}).DialContext,
		Lookup: net.DefaultResolver.LookupHost}
}

// once looks up the answer to a question the first time and caches it. Concurrent callers wait for
// the same look-up.
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

// Until returns the machine with all look-ups bound to a context.
func (m *Machine) Until(ctx context.Context) *Machine {
	m.until = ctx
	return m
}

// late reports whether the time for look-ups is over: what they say from then on is not a fact.
func (m *Machine) late() bool { return m.until != nil && m.until.Err() != nil }

func (m *Machine) inTime() (context.Context, context.CancelFunc) {
	if m.until == nil {
		return context.WithTimeout(context.Background(), lookTimeout)
	}
	return context.WithTimeout(m.until, lookTimeout)
}

// typing returns the commands of the user's shell.
func (m *Machine) typing() shell.Words { return shell.For(m.OS) }

// variable returns a variable of gauze's environment, or "".
func (m *Machine) variable(name string) string {
	value, _ := m.Env(name)
	return value
}

// system returns the path of a system directory.
func (m *Machine) system(path string) string { return filepath.Join(m.Root, path) }

// runnable reports whether a file can be started, as far as its mode shows. Files on Windows have
// no executable bit.
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

// readSmall reads a regular file of a size that a person writes. It rejects everything else, such
// as devices and pipes.
func readSmall(path string) ([]byte, error) {
	const most = 256 << 10
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fs.ErrInvalid
	}
	return os.ReadFile(path)
}

// InContainer reports whether gauze itself runs in a container.
func (m *Machine) InContainer() bool {
	return once(m, "container", func() bool {
		return isFile(m.system("/.dockerenv")) || isFile(m.system("/run/.containerenv"))
	})
}

// upwards returns a directory and those above it, up to the root of its repository or the last one
// below home. Directories beyond that do not belong to the project.
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
			break // not in a project of this user: only the directory itself
		}
	}
	return dirs
}

// At returns the machine as seen from a directory, in which servers without a directory of their
// own start.
func (m *Machine) At(dir string) *Machine {
	return &Machine{OS: m.OS, Home: m.Home, Dir: dir, Root: m.Root, Project: m.Project, Entries: m.Entries, Env: m.Env, Run: m.Run,
		Dial: m.Dial, Lookup: m.Lookup, Required: m.Required, until: m.until, allow: m.allow, local: m.local}
}

// Only returns the machine restricted to addresses that allow accepts, for servers and for network
// look-ups. Whether a port of this machine accepts connections can still be checked.
func (m *Machine) Only(allow func(netip.AddrPort) error) *Machine {
	m = m.At(m.Dir)
	if m.local == nil {
		m.local = m.Dial
	}
	m.Dial, m.allow = (&net.Dialer{Control: launch.Control(allow)}).DialContext, allow
	return m
}

// run runs a program without a stdin and returns what it writes to stdout and stderr: some print
// their version there. It starts in the root directory, because version managers and shells read
// settings from their working directory, which may belong to any project. A program that has not ended
// in time is asked to end, with what it has started, and killed if it does not.
func run(ctx context.Context, env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	var said answer
	cmd.Dir = filepath.VolumeName(name) + string(filepath.Separator)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &said, &said
	cmd.WaitDelay = 100 * time.Millisecond // do not wait for a child that keeps the pipe open
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return said.String(), err
	case <-ctx.Done():
		end(cmd)
		return "", ctx.Err()
	}
}

// answer keeps the beginning of a program's output.
type answer struct{ bytes.Buffer }

func (a *answer) Write(b []byte) (int, error) {
	const most = 16 << 10
	a.Buffer.Write(b[:min(len(b), max(0, most-a.Len()))])
	return len(b), nil
}
