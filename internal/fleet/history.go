package fleet

import (
	"path"
	"path/filepath"

	"github.com/gauze-mcp/gauze/internal/backup"
	"github.com/gauze-mcp/gauze/internal/clientconfig"
	"github.com/gauze-mcp/gauze/internal/redact"
)

// Made shows what one change of the past did, without the values that are
// secret.
func (f *Fleet) Made(id string) (backup.Entry, string, error) {
	entry, before, after, err := f.Store.Contents(id)
	if err != nil {
		return entry, "", err
	}
	return entry, f.difference(entry, before, after), nil
}

// difference shows one text of a file against another, without the values that
// are secret in either.
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

// readings are the ways a file may be read: as the clients that have it here
// do, or, if it is of another project or of a client that is gone, as any does
// that has a file of this name.
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
	return all
}
