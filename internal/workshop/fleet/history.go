package fleet

import (
	"path"
	"path/filepath"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
)

// Made returns what a past change did, as a diff without secrets.
func (f *Fleet) Made(id string) (backup.Entry, string, error) {
	entry, before, after, err := f.Store.Contents(id)
	if err != nil {
		return entry, "", err
	}
	return entry, f.difference(entry, before, after), nil
}

// difference returns a diff of two versions of a file, without the secrets in either.
func (f *Fleet) difference(entry backup.Entry, from, to []byte) string {
	var secrets []redact.Secrets
	for _, file := range f.readings(entry.Path) {
		for _, text := range [][]byte{from, to} {
			if text != nil {
				secrets = append(secrets, diffSecrets(f.Home.ReadText(file, text))...)
			}
		}
	}
	return maskedDiff(backup.Unified(entry.Path, from, to), secrets...)
}

// readings returns the ways to read a file: as the clients on this machine read it or, if it
// belongs to another project or a removed client, as any client with a file of this name does.
func (f *Fleet) readings(file string) (all []clientconfig.File) {
	for _, known := range f.Home.Places() {
		if known.Path == file {
			all = append(all, known)
		}
	}
	if len(all) > 0 {
		return all
	}
	for _, client := range clientconfig.Clients() {
		for _, place := range client.Places {
			for _, template := range []string{place.Linux, place.Darwin, place.Windows} {
				if ok, _ := path.Match(path.Base(template), filepath.Base(file)); ok && template != "" {
					all = append(all, clientconfig.File{Path: file, Client: client, Place: place, Exists: true})
					break
				}
			}
		}
	}
	if len(all) == 0 {
		all = append(all, f.Home.Up(file))
	}
	return all
}
