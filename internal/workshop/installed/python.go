package installed

import (
	"path"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// byPython recognizes a binary that the RECORD of our wheel names, and what installed the wheel.
func (s System) byPython(i *Installation) bool {
	base := path.Dir(path.Dir(i.Path))
	info := s.distInfo(base, i.Path)
	if info == "" {
		return s.copiedByUV(i)
	}
	installer, _ := s.Disk.ReadFile(path.Join(info, "INSTALLER"))
	i.dir = base
	if beside := path.Join(path.Dir(i.Path), strings.Replace(path.Base(i.Path), "gauze-mcp", "gauze", 1)); s.exists(beside) {
		i.Stable = beside // started by its other name, which clients' files do not use
	}
	switch {
	case s.inUVCache(base):
		i.Channel, i.Cached = UVX, true
	case s.exists(path.Join(base, "uv-receipt.toml")):
		i.Channel = UV
	case s.exists(path.Join(base, "pipx_metadata.json")) && path.Base(path.Dir(base)) == "venvs":
		i.Channel = Pipx
	case s.exists(path.Join(base, "pipx_metadata.json")):
		i.Channel, i.Cached = PipxRun, true
	default:
		i.Channel, i.name, i.target = Pip, s.pythonOf(base, info), path.Dir(info) == base
		i.byUV = strings.TrimSpace(string(installer)) == "uv"
	}
	return true
}

// distInfo returns the dist-info directory below base whose RECORD names the binary, or "".
func (s System) distInfo(base, binary string) string {
	for _, packages := range s.sitePackages(base) {
		entries, _ := s.Disk.ReadDir(packages)
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), "gauze_mcp-") || !strings.HasSuffix(e.Name(), ".dist-info") {
				continue
			}
			record, _ := s.Disk.ReadFile(path.Join(packages, e.Name(), "RECORD"))
			for line := range strings.Lines(string(record)) {
				name, _, _ := strings.Cut(line, ",")
				if packages == base { // pip --target moved it after it wrote RECORD
					name = strings.TrimLeft(s.slashed(name), "./")
				}
				if s.same(path.Join(packages, s.slashed(name)), binary) {
					return path.Join(packages, e.Name())
				}
			}
		}
	}
	return ""
}

// sitePackages returns where Python keeps the packages whose programs are in base/bin or base/Scripts.
func (s System) sitePackages(base string) []string {
	all := []string{base + "/Lib/site-packages", base + "/site-packages", base} // Windows, its user scheme, and pip --target
	for _, lib := range []string{base + "/lib", base + "/lib64"} {
		entries, _ := s.Disk.ReadDir(lib)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), "python") {
				all = append(all, path.Join(lib, e.Name(), "site-packages"), path.Join(lib, e.Name(), "dist-packages"))
			}
		}
	}
	return all
}

// uvBucket is the name of a directory of environments in the cache of uv.
var uvBucket = regex.New(`^(archive|environments|builds)-v[0-9]+$`)

// inUVCache reports whether an environment is in the cache of uv, which uv cache clean deletes. The
// cache has a tag.
func (s System) inUVCache(base string) bool {
	for range 2 { // an environment has one name there or two
		base = path.Dir(base)
		if uvBucket.MatchString(path.Base(base)) && s.exists(path.Join(path.Dir(base), "CACHEDIR.TAG")) {
			return true
		}
	}
	return false
}

// pythonOf returns the Python that installed a wheel: the one beside its programs, or by the name of
// the directory of its packages.
func (s System) pythonOf(base, info string) string {
	for _, beside := range []string{base + "/bin/python3", base + "/bin/python", base + "/Scripts/python.exe", base + "/python.exe"} {
		if s.exists(beside) {
			return s.native(beside)
		}
	}
	if name := path.Base(path.Dir(path.Dir(info))); strings.HasPrefix(name, "python") && path.Dir(info) != base {
		return name
	}
	if s.OS == "windows" {
		return "py"
	}
	return "python3"
}

// copiedByUV recognizes a program that uv tool install copied, as it does on Windows: its receipt names
// the copy.
func (s System) copiedByUV(i *Installation) bool {
	for _, tools := range []struct{ variable, below string }{
		{"UV_TOOL_DIR", ""}, {"XDG_DATA_HOME", "uv/tools"}, {"HOME", ".local/share/uv/tools"}, {"APPDATA", "uv/tools"}, {"APPDATA", "uv/data/tools"},
	} {
		root := s.slashed(s.Env(tools.variable))
		if !s.absolute(root) { // it would be a file of the current directory that decides
			continue
		}
		dir := path.Join(root, tools.below, "gauze-mcp")
		receipt, err := s.Disk.ReadFile(dir + "/uv-receipt.toml")
		text := s.slashed(strings.ReplaceAll(string(receipt), `\\`, `\`))
		if err == nil && strings.Contains(text, `"`+i.Path+`"`) {
			i.Channel, i.dir = UV, dir
			return true
		}
	}
	return false
}
