package installed

import (
	"encoding/json"
	"path"
	"strings"
)

// bySystem recognizes the receipts of package managers of systems.
func (s System) bySystem(i *Installation) bool {
	return s.byBrew(i) || s.byScoop(i) || s.byWinget(i) || s.byPackage(i)
}

// byBrew recognizes a keg: PREFIX/Cellar/gauze/VERSION/bin/gauze with its receipt.
func (s System) byBrew(i *Installation) bool {
	keg := path.Dir(path.Dir(i.Path))
	prefix, inside, ok := cutLast(keg, "/Cellar/")
	if !ok || !s.exists(path.Join(keg, "INSTALL_RECEIPT.json")) {
		return false
	}
	i.Channel = Brew
	i.name, _, _ = strings.Cut(inside, "/")
	for _, link := range []string{path.Join(prefix, "bin", path.Base(i.Path)), path.Join(prefix, "opt", i.name, "bin", path.Base(i.Path))} {
		if s.leadsTo(link, i.Path) {
			i.Stable = link
			break
		}
	}
	return true
}

// byScoop recognizes .../apps/NAME/VERSION with the receipts of Scoop. The directory current leads to
// the version in use.
func (s System) byScoop(i *Installation) bool {
	dir := path.Dir(i.Path)
	app := path.Dir(dir)
	if path.Base(path.Dir(app)) != "apps" || !s.exists(dir+"/install.json") || !s.exists(dir+"/manifest.json") {
		return false
	}
	i.Channel, i.name = Scoop, path.Base(app)
	if current := path.Join(app, "current", path.Base(i.Path)); s.exists(current) {
		i.Stable = current
	}
	return true
}

// byWinget recognizes .../WinGet/Packages/ID_SOURCE.
func (s System) byWinget(i *Installation) bool {
	root, inside, ok := strings.Cut(i.Path, "/WinGet/Packages/")
	id, _, named := strings.Cut(inside, "_")
	if !ok || !named || s.OS != "windows" {
		return false
	}
	i.Channel, i.name = Winget, id
	if link := root + "/WinGet/Links/" + path.Base(i.Path); s.leadsTo(link, i.Path) {
		i.Stable = link
	}
	return true
}

// byPackage recognizes the file with which a distribution's package says what it is. It counts for the
// binary of the package alone.
func (s System) byPackage(i *Installation) bool {
	switch c := s.told(path.Join(path.Dir(i.Path), "..", "share")); c {
	case Deb, RPM, APK, Arch:
		i.Channel = c
		return true
	}
	return false
}

// inImage recognizes an image of ours, the whole of which is gauze's.
func (s System) inImage(i *Installation) bool {
	if s.OS != "linux" || s.told("/usr/share") != Image {
		return false
	}
	i.Channel = Image
	return true
}

func (s System) told(share string) Channel {
	word, _ := s.Disk.ReadFile(path.Join(share, "gauze", "channel"))
	return Channel(strings.TrimSpace(string(word)))
}

// byBundle recognizes an unpacked .mcpb file by its manifest: DIR/server/SYSTEM/gauze. Its client
// deletes or replaces the whole directory.
func (s System) byBundle(i *Installation) bool {
	server := path.Dir(path.Dir(i.Path))
	text, err := s.Disk.ReadFile(path.Join(path.Dir(server), "manifest.json"))
	var manifest struct {
		Name    string `json:"name"`
		Version string `json:"manifest_version"`
	}
	if err != nil || path.Base(server) != "server" || json.Unmarshal(text, &manifest) != nil || manifest.Name != "gauze" || manifest.Version == "" {
		return false
	}
	i.Channel, i.Cached = Bundle, true
	return true
}
