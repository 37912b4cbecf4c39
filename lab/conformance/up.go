package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
)

// gauzeUp is `gauze up` with three servers.
type gauzeUp struct {
	gauzeServe
	all    bool   // all servers, with their names mapped; else one of them, as it is
	server string // path of the server over stdio
	dir    string
}

// open starts gauze up with a server at a URL and two over stdio.
func (g gauzeUp) open(ctx context.Context, t target) (string, func() error, error) {
	dir, err := os.MkdirTemp(g.dir, "up-")
	if err != nil {
		return "", nil, err
	}
	servers := map[string]any{upKeys[0]: map[string]any{"url": t.url}}
	for _, key := range upKeys[1:] {
		servers[key] = map[string]any{"command": []string{g.server}}
	}
	file := filepath.Join(dir, "up.yaml")
	content, _ := json.Marshal(map[string]any{"servers": servers}) // cannot fail: strings
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return "", nil, err
	}
	url, stop, err := g.listen(ctx, "up", "--no-token", "--listen", "127.0.0.1:0", file)
	if err != nil {
		return "", nil, err
	}
	if !g.all {
		return url + "/" + upKeys[1], stop, nil
	}
	mapped, end, err := nameMapper(url)
	if err != nil {
		return "", nil, errors.Join(err, stop())
	}
	return mapped, func() error { end(); return stop() }, nil
}
