package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	sumsFile      = "SHA256SUMS"
	signatureFile = "SHA256SUMS.sig"
	keylessFile   = "SHA256SUMS.sigstore.json" // a second signature, which the workflow adds
)

// sums writes SHA256SUMS, which sha256sum -c accepts: the sum of every artefact, by its name alone, because
// the files of a release on GitHub are in one directory.
func sums(_ context.Context, r *release) error {
	files, err := artefacts(r.dir)
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sum, err := sumOf(files[name])
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%s  %s\n", sum, name)
	}
	return r.write(sumsFile, []byte(list.String()))
}

// artefacts returns what is published of a directory, by name: everything but binaries and manual, from
// which artefacts are made, the directories of image layouts, and the list of sums with its signatures.
func artefacts(dir string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := e.Name()
		switch rel, _ := filepath.Rel(dir, path); {
		case e.IsDir():
			if _, err := os.Stat(filepath.Join(path, "oci-layout")); err == nil || rel == "bin" || rel == "share" {
				return fs.SkipDir
			}
			return nil
		case rel == sumsFile || rel == signatureFile || rel == keylessFile:
			return nil
		case !e.Type().IsRegular():
			return fmt.Errorf("%s is not a regular file", path)
		case files[name] != "":
			return fmt.Errorf("%s and %s have the same name, and the files of a release are in one directory", files[name], path)
		}
		files[name] = path
		return nil
	})
	return files, err
}

func sumOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// checkSums compares the artefacts in a directory with its list. The error names every file that changed, is
// missing or is not in the list.
func checkSums(dir string) (checked int, err error) {
	listed, err := readSums(filepath.Join(dir, sumsFile))
	if err != nil {
		return 0, err
	}
	files, err := artefacts(dir)
	if err != nil {
		return 0, err
	}
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		switch sum, err := sumOf(files[name]); {
		case files[name] == "":
			wrong = append(wrong, fmt.Errorf("%s is missing", name))
		case err != nil:
			wrong = append(wrong, err)
		case sum != listed[name]:
			wrong = append(wrong, fmt.Errorf("%s has changed: its sum is %s, and %s has %s", name, sum, sumsFile, listed[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if listed[name] == "" {
			wrong = append(wrong, fmt.Errorf("%s is not in %s", name, sumsFile))
		}
	}
	return len(listed), errors.Join(wrong...)
}

// readSums reads a list of sums by name.
func readSums(file string) (map[string]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	listed := map[string]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		sum, name, ok := strings.Cut(lines.Text(), "  ")
		if !ok || len(sum) != 2*sha256.Size || name == "" || filepath.Base(name) != name || listed[name] != "" {
			return nil, fmt.Errorf("%s: invalid line %q", file, lines.Text())
		}
		listed[name] = sum
	}
	if len(listed) == 0 {
		return nil, fmt.Errorf("%s is empty", file)
	}
	return listed, lines.Err()
}
