package realparts

import (
	"path/filepath"
	"strings"
)

// Found is a real server that is installed.
type Found struct {
	Server
	Package string // REGISTRY:NAME
	Version string
}

// Installed returns the servers of NeedServers and NeedMoreServers that are installed, one for each package.
func Installed() (all []Found) {
	add := func(registry, name, version string, argv, env []string) {
		all = append(all, Found{Server{Name: name, Argv: argv, Env: env}, registry + ":" + name, version})
	}
	scripts := func(u unit, pins string, servers []npmServer) {
		p, ok := stamped(u)
		for _, s := range servers {
			if script, err := packageScript(filepath.Join(p.Modules, filepath.FromSlash(s.pkg))); ok && err == nil {
				add("npm", s.pkg, versionsOf(pins)[s.pkg], append([]string{p.Node, script}, s.args...), s.env)
			}
		}
	}
	const scope = "@modelcontextprotocol/"
	scripts(npmUnit, pinsPackage, []npmServer{
		{pkg: scope + string(Everything)},
		{pkg: scope + string(Filesystem), args: []string{"{dir}"}},
		{pkg: scope + string(Memory), env: []string{"MEMORY_FILE_PATH={dir}/memory.jsonl"}},
		{pkg: scope + string(SequentialThinking)},
	})
	if p, ok := stamped(pythonUnit); ok {
		name, version, _ := strings.Cut(timePin, "@")
		add("pypi", name, version, append(uvxCommand(p, timePin), "--local-timezone", "UTC"), nil)
	}
	scripts(serversUnit, pinsServersPackage, servers)
	scripts(moreServersUnit, pinsMoreServersPackage, moreServers)
	for _, s := range pypiServers {
		if p, ok := stamped(s.unit()); ok {
			name, version, _ := strings.Cut(s.pins[0], "==")
			add("pypi", name, version, append([]string{filepath.Join(p.Cache, venvBin(), s.program)}, s.args...), s.env)
		}
	}
	return all
}

// stamped returns the paths of a unit that is installed.
func stamped(u unit) (place, bool) {
	return readStamp(filepath.Join(cacheRoot(), u.name+"-"+fingerprint(u.name, u.pins)))
}
