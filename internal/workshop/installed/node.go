package installed

import (
	"cmp"
	"encoding/json"
	"path"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// The directories that tools make of a package of ours. Each is named as a whole, because a project may
// be in a directory of the user's that has one of these words in its name.
var (
	npxDir   = regex.New(`/_npx/[0-9a-f]+$`)
	dlxDir   = regex.New(`(/dlx/[0-9a-z]+/[0-9a-z]+-[0-9a-z]+|/dlx-[0-9]+)$`)
	bunxDir  = regex.New(`/\.?bunx-[0-9]+[-/]gauze-mcp[^/]*$`)
	linksDir = regex.New(`/v[0-9]+/links/(@gauze-mcp/cli-[^/]+|(@/)?gauze-mcp)/[^/]+/[^/]+$`)     // pnpm's store, which it prunes
	virtual  = regex.New(`^(.*?)(/node_modules)?/\.pnpm/[^/]*gauze-mcp[^/]*@[^/]+/node_modules/`) // pnpm's of one project, or of pnpm add -g
	unplug   = regex.New(`^(.*)/\.yarn/unplugged/@?gauze-mcp-[^/]+/node_modules/`)                // Yarn's, without node_modules
	global   = regex.New(`/global/[0-9]+$`)
)

// byNode recognizes a binary in a package of ours in a node_modules directory, and what put it there.
func (s System) byNode(i *Installation) bool {
	root, _, ok := strings.Cut(i.Path, "/node_modules/")
	if !ok || !s.inOurPackage(i.Path) {
		return false
	}
	beside := false // the virtual store is beside node_modules and not in it, as pnpm add -g makes it
	ofPNPM := s.exists(path.Join(root, "node_modules/.modules.yaml"))
	if m := virtual.FindStringSubmatch(i.Path); m != nil {
		root, beside, ofPNPM = m[1], m[2] == "", true
	}
	i.dir = root
	host := s.packageJSON(root)
	below := func(name string) bool { return s.exists(path.Join(root, name)) }
	switch plug := unplug.FindStringSubmatch(i.Path); {
	case host.NPX != nil || npxDir.MatchString(root):
		i.Channel, i.Cached = NPX, true
	case ofPNPM && dlxDir.MatchString(root):
		i.Channel, i.Cached = PNPMDlx, true
	case bunxDir.MatchString(root):
		i.Channel, i.Cached = Bunx, true
	case linksDir.MatchString(root): // nothing that stays leads there
		i.Channel, i.Cached = PNPM, true
	case ofPNPM:
		i.Channel, i.local = PNPM, !beside || !global.MatchString(root)
		link := s.hoisted(root, i.Path)
		i.Stable, i.Cached = cmp.Or(link, i.Path), link == ""
	case plug != nil && s.exists(plug[1]+"/yarn.lock"):
		i.Channel, i.local, i.Cached, i.dir = Yarn, true, true, plug[1]
	case strings.HasSuffix(root, "/install/global") && (below("bun.lock") || below("bun.lockb")):
		i.Channel = Bun
	case below("bun.lock") || below("bun.lockb"):
		i.Channel, i.local = Bun, true
	case below("yarn.lock"):
		i.Channel, i.local = Yarn, !strings.HasSuffix(root, "/yarn/global")
	default:
		i.Channel, i.local = NPM, host.found
	}
	return true
}

// manifest is what package.json says.
type manifest struct {
	Name  string          `json:"name"`
	NPX   json.RawMessage `json:"_npx"`
	found bool
}

func (s System) packageJSON(dir string) (m manifest) {
	content, err := s.Disk.ReadFile(path.Join(dir, "package.json"))
	if err != nil {
		return m
	}
	m.found = true
	json.Unmarshal(content, &m) // a damaged one proves nothing
	return m
}

// inOurPackage reports whether the package.json above a binary is that of gauze or of a platform's
// package.
func (s System) inOurPackage(binary string) bool {
	dir := path.Dir(binary)
	for range 3 {
		if m := s.packageJSON(dir); m.found {
			return m.Name == "gauze-mcp" || strings.HasPrefix(m.Name, "@gauze-mcp/cli-")
		}
		dir = path.Dir(dir)
	}
	return false
}

// hoisted returns the path, without a version, by which a project's node_modules leads to a binary in
// pnpm's virtual store, or "".
func (s System) hoisted(root, binary string) string {
	_, inside, _ := cutLast(binary, "/node_modules/")
	for _, modules := range []string{"node_modules", "node_modules/.pnpm/node_modules", ".pnpm/node_modules"} {
		if link := path.Join(root, modules, inside); s.leadsTo(link, binary) {
			return link
		}
	}
	return ""
}

func cutLast(text, separator string) (before, after string, found bool) {
	if at := strings.LastIndex(text, separator); at >= 0 {
		return text[:at], text[at+len(separator):], true
	}
	return text, "", false
}
