package doctor

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// dockerState is what is known about the daemon that the docker command uses.
type dockerState int

const (
	dockerUnknown dockerState = iota // it may be on another host, or be reached in a way that gauze does not know
	dockerUp
	dockerDown
)

// Docker returns the state of Docker's daemon. It connects to the daemon's socket and sends nothing.
func (m *Machine) Docker() dockerState {
	return once(m, "docker", func() dockerState {
		sockets := m.dockerSockets()
		if len(sockets) == 0 {
			return dockerUnknown
		}
		ctx, cancel := m.inTime()
		defer cancel()
		dial, state := m.Dial, dockerDown
		if m.local != nil {
			dial = m.local
		}
		for _, socket := range sockets {
			conn, err := dial(ctx, "unix", socket)
			switch {
			case err == nil:
				conn.Close()
				return dockerUp
			case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED):
				state = dockerUnknown // no time, or no permission
			}
		}
		return state
	})
}

// dockerSockets returns where the daemon may listen, or nil if that is not known.
func (m *Machine) dockerSockets() []string {
	if m.OS == "windows" {
		return nil // a named pipe
	}
	if host := m.variable("DOCKER_HOST"); host != "" {
		path, ok := strings.CutPrefix(host, "unix://")
		if !ok {
			return nil
		}
		return []string{path}
	}
	if !m.usesLocalDocker() {
		return nil
	}
	sockets := []string{m.system("/var/run/docker.sock")}
	for _, path := range []string{".docker/run", ".docker/desktop", ".colima/default", ".orbstack/run", ".rd"} {
		sockets = append(sockets, filepath.Join(m.Home, filepath.FromSlash(path), "docker.sock"))
	}
	if dir := m.variable("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		sockets = append(sockets, filepath.Join(dir, "docker.sock"))
	}
	return sockets
}

// usesLocalDocker reports whether the docker command uses one of the usual sockets.
func (m *Machine) usesLocalDocker() bool {
	context, ok := m.dockerContext()
	return ok && slices.Contains([]string{"", "default", "desktop-linux", "rootless", "colima", "orbstack", "rancher-desktop"}, context)
}

// dockerContext returns the name of the daemon that the docker command uses, as far as it has one. It
// returns false if that cannot be read.
func (m *Machine) dockerContext() (name string, ok bool) {
	if name := m.variable("DOCKER_CONTEXT"); name != "" {
		return name, true
	}
	var config struct {
		CurrentContext string `json:"currentContext"`
	}
	text, err := readSmall(filepath.Join(m.Home, ".docker", "config.json"))
	if err == nil && json.Unmarshal(text, &config) != nil {
		return "", false
	}
	return config.CurrentContext, true
}

// usesSystemDocker reports whether the docker command uses the daemon that belongs to the system.
func (m *Machine) usesSystemDocker() bool {
	if host := m.variable("DOCKER_HOST"); host != "" {
		return host == "unix:///var/run/docker.sock"
	}
	context, ok := m.dockerContext()
	return ok && (context == "" || context == "default")
}
