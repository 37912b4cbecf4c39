package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// source is what a check reads that only looks at the source, and has no cache of its own.
type source struct {
	check   string   // its name
	without []string // folders of the tree that it does not read
}

// unlessAccepted runs a check of the source, unless an earlier run has found nothing wrong with the same source. Only that is
// remembered: what was found is looked for again.
func (s source) unlessAccepted(ctx context.Context, out io.Writer, look func() error) error {
	before, err := s.hash(ctx)
	if err != nil {
		return err
	}
	cache, err := os.UserCacheDir()
	if err != nil { // as in a bare container
		return look()
	}
	accepted := filepath.Join(cache, "gauze", "accepted", before)
	if _, err := os.Stat(accepted); err == nil {
		fmt.Fprintf(out, "%s: the source is that of an earlier run, which found nothing\n", s.check)
		now := time.Now()
		return os.Chtimes(accepted, now, now)
	}
	if err := look(); err != nil {
		return err
	}
	if after, err := s.hash(ctx); err != nil || after != before { // it was edited meanwhile
		return err
	}
	if err := os.MkdirAll(filepath.Dir(accepted), 0o755); err != nil {
		return err
	}
	return os.WriteFile(accepted, nil, 0o644)
}

// hash names everything that decides what the check finds: this program, the toolchain and its settings, the text of Go files
// and of what pins their dependencies, and the names of all files, some of which Go embeds.
func (s source) hash(ctx context.Context) (string, error) {
	hash := sha256.New()
	settings, err := quietly(ctx, "", nil, "go", "env", "GOVERSION", "GOOS", "GOARCH", "GOFLAGS", "GOEXPERIMENT", "CGO_ENABLED", "GOWORK")
	if err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	program, err := os.ReadFile(self)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(hash, "%x\n%s\n%q\n%s", sha256.Sum256(program), s.check, s.without, settings)
	err = filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (name == ".git" || slices.Contains(s.without, filepath.ToSlash(name))) {
			return fs.SkipDir
		}
		fmt.Fprintf(hash, "%q %s\n", name, entry.Type())
		if entry.IsDir() || !decides(entry.Name()) {
			return nil
		}
		text, err := os.ReadFile(name)
		fmt.Fprintf(hash, "%x\n", sha256.Sum256(text))
		return err
	})
	return fmt.Sprintf("%x", hash.Sum(nil)[:16]), err
}

// decides reports whether the text of a file matters to what looks at the source, and not only its name.
func decides(file string) bool {
	return slices.Contains([]string{".go", ".mod", ".sum", ".s", ".c", ".h", ".conf"}, strings.ToLower(filepath.Ext(file)))
}
