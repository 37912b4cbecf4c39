package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// What every channel says of gauze.
const (
	about      = "Keeps MCP servers working: restarts, repairs and explains them" // at most 80 characters for Homebrew
	homepage   = "https://github.com/gauze-mcp/gauze"
	license    = "Apache-2.0"
	maintainer = "The Gauze authors <gauze-mcp@users.noreply.github.com>"
)

// archives packs each program with its papers: a zip for Windows, a compressed tar for other systems.
func archives(_ context.Context, r *release) error {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, p := range released {
		papers, err := r.papers(p)
		if err != nil {
			return err
		}
		for _, t := range r.targets {
			group.Go(func() error { return r.pack(p, t, papers) })
		}
	}
	return group.Wait()
}

// pack writes the archive of a program.
func (r *release) pack(p program, t target, papers []entry) error {
	binary, err := fileEntry(t.exe(p.name), 0o755, r.binary(p, t))
	if err != nil {
		return fmt.Errorf("%w\nnext: make the binaries first", err)
	}
	pack := tarGz
	if t.os == "windows" {
		pack = zipped
	}
	archive, err := pack(r.date, append([]entry{binary}, papers...))
	if err != nil {
		return err
	}
	return r.write(r.archive(p, t), archive)
}

// archive returns the name of the archive of a program.
func (r *release) archive(p program, t target) string {
	if t.os == "windows" {
		return r.artefact(p, t) + ".zip"
	}
	return r.artefact(p, t) + ".tar.gz"
}

// artefact returns how the name of what is made from a binary begins.
func (r *release) artefact(p program, t target) string {
	return fmt.Sprintf("%s_%s_%s_%s", p.name, r.version, t.os, t.arch)
}

// papers returns what belongs to a program: license and README; for gauze also manual and completions.
func (r *release) papers(p program) ([]entry, error) {
	var papers []entry
	add := func(name, file string) error {
		e, err := fileEntry(name, 0o644, file)
		papers = append(papers, e)
		return err
	}
	if err := add("LICENSE", filepath.Join(r.root, "LICENSE")); err != nil {
		return nil, err
	}
	if err := add("README.md", filepath.Join(r.root, "README.md")); err != nil {
		return nil, err
	}
	if p != released[0] {
		return papers, nil
	}
	files, err := os.ReadDir(r.share())
	if err != nil {
		return nil, fmt.Errorf("%w\nnext: make the manual first", err)
	}
	for _, file := range files {
		dir := "completions"
		if path.Ext(file.Name()) == ".1" {
			dir = "man/man1"
		}
		if err := add(path.Join(dir, file.Name()), filepath.Join(r.share(), file.Name())); err != nil {
			return nil, err
		}
	}
	return papers, nil
}
