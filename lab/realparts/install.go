package realparts

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// unit is a set of parts that is installed in one directory.
type unit struct {
	name    string
	pins    string
	install func(ctx context.Context, dir string, out io.Writer) (place, error)
}

// stamp is written last: a directory without it is the result of an interrupted installation.
const stamp = "installed.json"

// installed returns the place of a unit and installs the unit first if its stamp is missing. The
// installation is made in the final directory, because virtual environments cannot be moved, and
// under a lock, because test processes run in parallel.
func installed(ctx context.Context, u unit, out io.Writer) (place, error) {
	root := cacheRoot()
	dir := filepath.Join(root, u.name+"-"+fingerprint(u.name, u.pins))
	if p, ok := readStamp(dir); ok {
		return p, nil
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return place{}, fmt.Errorf("%w\nnext: make the cache directory writable, or set XDG_CACHE_HOME to one that is", err)
	}
	unlock, err := lockedfile.MutexAt(dir + ".lock").Lock()
	if err != nil {
		return place{}, err
	}
	defer unlock()
	if p, ok := readStamp(dir); ok {
		return p, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return place{}, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return place{}, err
	}
	began := time.Now()
	fmt.Fprintf(out, "installing the %s parts into %s\n", u.name, dir)
	p, err := u.install(ctx, dir, out)
	if err != nil {
		return place{}, fmt.Errorf("installing the %s parts: %w", u.name, err)
	}
	if err := writeStamp(dir, p); err != nil {
		return place{}, err
	}
	fmt.Fprintf(out, "installed the %s parts in %.1fs\n", u.name, time.Since(began).Seconds())
	return p, nil
}

func cacheRoot() string {
	cache, err := os.UserCacheDir()
	if err != nil { // a bare container may have neither HOME nor XDG_CACHE_HOME
		cache = os.TempDir()
	}
	return filepath.Join(cache, "gauze", "realparts")
}

// readStamp returns the place of a complete installation if its files still exist.
func readStamp(dir string) (p place, ok bool) {
	b, err := os.ReadFile(filepath.Join(dir, stamp))
	if err != nil || json.Unmarshal(b, &p) != nil {
		return place{}, false
	}
	for _, file := range []string{p.Node, p.Modules, p.Uvx, p.Cache, p.Python, p.Suite, p.Server, p.Client, p.Model} {
		if file == "" {
			continue
		}
		if _, err := os.Stat(file); err != nil {
			return place{}, false
		}
	}
	return p, true
}

func writeStamp(dir string, p place) error {
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	temp := filepath.Join(dir, stamp+".new")
	if err := os.WriteFile(temp, b, 0o644); err != nil {
		return err
	}
	return os.Rename(temp, filepath.Join(dir, stamp))
}

// run runs a command; its error contains the command and all its output.
func run(ctx context.Context, dir string, env []string, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = 5 * time.Second // a killed installer may leave a child holding its output
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("interrupted: %w", ctx.Err())
		}
		return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, bytes.TrimSpace(output.Bytes()))
	}
	return nil
}
