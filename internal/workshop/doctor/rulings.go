package doctor

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Evidence beats wording: a server that gauze watched can print anything, but not be stopped and not
// stopped. What gauze saw itself rules causes out, and wording chooses between the rest.

// ruling is a state of a server that gauze saw, and which causes wording may still point to.
type ruling struct {
	state  string
	holds  func(*exam) bool
	allows func(*cause) bool
}

var rulings = []ruling{
	{"the process is paused",
		func(x *exam) bool { return x.Limit.Stopped },
		only()},
	{"the process crashed",
		func(x *exam) bool { return slices.Contains(faultSignals, x.Exit.Signal) },
		only(Crashed, ResourceExhausted, RuntimeTooOld, DependencyMissing)},
	{"the process was not started",
		func(x *exam) bool { return x.Spawn.Errno != "" && x.Stage < Started },
		only(CommandNotFound, PathNotFound, PermissionDenied, RuntimeTooOld, ConfigMalformed, DependencyMissing, ResourceExhausted,
			TransportMismatch, MissingEnvVar)},
	{"the process is running and listening on a port",
		func(x *exam) bool { return x.Limit.Passed && x.Limit.Alive && x.Limit.Listening > 0 },
		except(CommandNotFound, PackageNotFound, RuntimeTooOld, DependencyMissing, PathNotFound, PermissionDenied, Crashed, ConfigMalformed)},
	{"the process is running and silent",
		func(x *exam) bool { return x.Limit.Passed && x.Limit.Alive },
		except(Crashed)},
	{"the server answered initialize, and no call failed",
		func(x *exam) bool { return x.Stage >= Initialized && x.Stage < Called && len(x.RPC) == 0 },
		except(CommandNotFound, PackageNotFound, RuntimeTooOld)},
}

// only and except return which causes a ruling allows, by category.
func only(all ...Category) func(*cause) bool {
	return func(c *cause) bool { return slices.Contains(all, c.category) }
}

func except(all ...Category) func(*cause) bool {
	return func(c *cause) bool { return !slices.Contains(all, c.category) }
}

// allowedIn reports whether wording may point to the cause.
func (c *cause) allowedIn(x *exam) bool {
	return !x.Live || !slices.ContainsFunc(rulings, func(r ruling) bool { return r.holds(x) && !r.allows(c) })
}

// refuted reports whether the machine contradicts what a line says: the missing file exists, the program
// is found, the variable is set. A port that is free now can have been in use.
func (c *cause) refuted(m *match) bool {
	x := m.x
	if x.machine == nil || runsElsewhere(x.Case) || slices.Contains(otherSurroundings, program(x.machine.spec.Command)) {
		return false
	}
	switch {
	case c.name == "env_not_set":
		names := x.listed(m)
		return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(x.Set, name) })
	case c.name == "script_missing", c.name == "data_file_missing":
		path := strings.TrimRight(m.names["path"], `'". `)
		return filepath.IsAbs(path) && isFile(path)
	case c.category == CommandNotFound:
		// Exit status 127 is a shell's own word for it: a script can have a PATH of its own.
		return runtime.GOOS != "windows" && x.Exit.Code != 127 && x.machine.canStart(m.names["command"])
	}
	return false
}

// otherSurroundings are programs that start others with an environment, files or rights of their own.
var otherSurroundings = []string{
	"env", "sudo", "doas", "su", "runuser", "chroot", "bwrap", "firejail", "flatpak", "snap", "nix", "nix-shell", "distrobox", "toolbox",
	"devcontainer", "lima", "limactl", "multipass", "vagrant", "orb", "nsenter", "unshare", "systemd-run", "incus", "lxc",
}

// canStart reports whether the server can start a program.
func (srv server) canStart(command string) bool {
	if command == "" || strings.HasPrefix(command, ".") || strings.Contains(command, " ") {
		return false
	}
	spec := srv.spec
	spec.Command = command
	p := launch.Inspect(spec)
	return p.Executable && !p.Directory && !p.InterpreterReturn && (p.Interpreter == "" || p.InterpreterPath != "") && !p.Foreign && !p.Partial
}
