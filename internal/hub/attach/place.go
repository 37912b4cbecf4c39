package attach

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gauze-mcp/gauze/internal/disk/files"
	"github.com/gauze-mcp/gauze/internal/disk/sockets"
)

// DirName is the directory in the state directory that has the files of all places.
const DirName = "up"

// Place is where the gauze up of one file is reached. A different file, machine or container is a
// different place.
type Place struct {
	State string // State is gauze's state directory.
	File  string // File is the absolute path of the file that gauze up serves.
}

// announcement is the content of a place's file.
type announcement struct {
	PID     int    `json:"pid"`
	Version string `json:"version"`
	File    string `json:"file"`
	Network string `json:"network"`
	Address string `json:"address"`
	Token   string `json:"token"`
	// OnDemand reports that it ends some time after its last client.
	OnDemand bool `json:"on_demand,omitempty"`
}

// maxAnnouncement bounds the file of a place.
const maxAnnouncement = 64 << 10

// dir returns the directory of the files of all places.
func (p Place) dir() string { return filepath.Join(p.State, DirName) }

// path returns one of the files of the place.
func (p Place) path(suffix string) string { return filepath.Join(p.dir(), p.key()+suffix) }

// key returns the name of the place. A home directory may be on several machines and in several
// containers, and each has processes of its own.
func (p Place) key() string {
	host, _ := os.Hostname()
	file := filepath.Clean(p.File)
	if runtime.GOOS == "windows" {
		file = strings.ToLower(file)
	}
	return fmt.Sprintf("%x", sockets.Proof("", host, sockets.Space(), file)[:8])
}

// The suffixes of a place's files.
const (
	fileSuffix   = ".json"
	socketSuffix = ".sock"
	lockSuffix   = ".lock"  // locked by gauze up as long as it listens
	startSuffix  = ".start" // locked by the client that starts gauze up
	logSuffix    = ".log"
)

// Log returns the path of the log of a gauze up that was started on demand.
func (p Place) Log() string { return p.path(logSuffix) }

// announce writes the place's file.
func (p Place) announce(about announcement) error {
	text, err := json.Marshal(about)
	if err != nil {
		return err
	}
	return files.Swap(p.path(fileSuffix), text)
}

// read reads the place's file. The error is ErrNotRunning if there is none.
func (p Place) read() (about announcement, err error) {
	path := p.path(fileSuffix)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return about, ErrNotRunning
	}
	if err != nil {
		return about, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxAnnouncement {
		return about, fmt.Errorf("%w: %s is not an announcement", ErrNotRunning, path)
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return about, ErrNotRunning
	}
	if err != nil {
		return about, err
	}
	if json.Unmarshal(text, &about) != nil || !sockets.IsLocal(about.Network, about.Address, p.key()+socketSuffix) {
		return about, fmt.Errorf("%w: the address in %s does not belong to a gauze process", ErrNotRunning, path)
	}
	return about, nil
}
