package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

func formatted(ctx context.Context, _ io.Writer) (tally, error) {
	root, err := quietly(ctx, "", nil, "go", "env", "GOROOT")
	if err != nil {
		return tally{}, err
	}
	gofmt := filepath.Join(strings.TrimSpace(string(root)), "bin", "gofmt")
	files, err := quietly(ctx, "", nil, gofmt, "-l", ".")
	if err != nil {
		return tally{}, err
	}
	if len(files) > 0 {
		return tally{}, fmt.Errorf("not formatted:\n%snext: gofmt -w on these files", files)
	}
	return tally{}, nil
}

// modules are those that the default level compiles. The others have dependencies that take minutes.
var modules = []string{".", "lab", "lab/authserver", "temporal"}

func vet(ctx context.Context, _ io.Writer) (t tally, err error) {
	for _, dir := range modules {
		_, failed := quietly(ctx, dir, nil, "go", "vet", "./...")
		err = errors.Join(err, failed)
	}
	return tally{}, err
}

// staticcheck is a tool of the laboratory's module.
func staticcheck(ctx context.Context, _ io.Writer) (tally, error) {
	tool, err := quietly(ctx, "lab", nil, "go", "tool", "-n", "staticcheck")
	if err != nil {
		return tally{}, err
	}
	for _, dir := range []string{".", "lab"} {
		_, failed := quietly(ctx, dir, nil, strings.TrimSpace(string(tool)), "./...")
		err = errors.Join(err, failed)
	}
	return tally{}, err
}

// buildFor compiles the product for another system, and vets the packages that have files for it. All
// other code is the same as here.
func buildFor(goos string) func(context.Context, io.Writer) (tally, error) {
	return func(ctx context.Context, _ io.Writer) (tally, error) {
		env := []string{"GOOS=" + goos}
		if _, err := quietly(ctx, "", env, "go", "build", "./..."); err != nil {
			return tally{}, err
		}
		own, err := packagesWithFilesFor(ctx, goos)
		if err != nil {
			return tally{}, err
		}
		_, err = quietly(ctx, "", env, append([]string{"go", "vet"}, own...)...)
		return tally{}, err
	}
}

// packagesWithFilesFor returns the packages of the product that have a file for goos that is not
// compiled on Linux.
func packagesWithFilesFor(ctx context.Context, goos string) ([]string, error) {
	files := func(goos string) (map[string]string, error) {
		listed, err := quietly(ctx, "", []string{"GOOS=" + goos}, "go", "list", "-f", "{{.ImportPath}}\t{{.GoFiles}}{{.TestGoFiles}}{{.XTestGoFiles}}", "./...")
		found := map[string]string{}
		for line := range strings.Lines(string(listed)) {
			pkg, names, _ := strings.Cut(strings.TrimSpace(line), "\t")
			found[pkg] = names
		}
		return found, err
	}
	there, err := files(goos)
	if err != nil {
		return nil, err
	}
	here, err := files("linux")
	if err != nil {
		return nil, err
	}
	var own []string
	for pkg, names := range there {
		if names != here[pkg] {
			own = append(own, pkg)
		}
	}
	if len(own) == 0 {
		return nil, fmt.Errorf("no package has files for %s: packagesWithFilesFor does not work", goos)
	}
	return own, nil
}
