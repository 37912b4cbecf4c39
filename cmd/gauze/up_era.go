package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/gauze-mcp/gauze/internal/disk/remembered"
	"github.com/gauze-mcp/gauze/internal/hub"
	"github.com/gauze-mcp/gauze/internal/hub/upfile"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// unlistedText names the servers of a file that are not listed with the others because of their protocol version.
func unlistedText(f *upfile.File) string {
	dir, err := backup.StateDir()
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, u := range hub.UnlistedOf(f, remembered.In(dir)) {
		fmt.Fprintf(&b, "\n%s\n\n    gauze connect %s\n", terminal.Fold(fmt.Sprintf("%s is not listed at %s: it has only MCP %s, and not all other servers there have it. To use it, connect to it alone, at /mcp/%s or with:",
			u.Key, strings.Join(u.Paths, ", "), u.Version, u.Key)), u.Key)
	}
	return b.String()
}

// ownUnlistedText is unlistedText for the user's own file; it is empty if there is none.
func ownUnlistedText() string {
	path := upfile.DefaultPath()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	fl, err := fleet.Here(versionText())
	if err != nil {
		return ""
	}
	f, err := upfile.Read(path, upfile.Options{Fleet: fl})
	if err != nil {
		return "" // gauze up --check says why
	}
	return unlistedText(f)
}
