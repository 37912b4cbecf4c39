package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An archive has the program under its own name, its papers, and nothing else.
func TestArchivesHaveTheProgramAndItsPapers(t *testing.T) {
	r := standIns(t)
	r.run(t, archives)
	papers := []string{"LICENSE", "README.md"}
	more := []string{"completions/_gauze", "completions/gauze.bash", "completions/gauze.fish", "completions/gauze.ps1", "man/man1/gauze-run.1", "man/man1/gauze.1"}
	for _, target := range targets {
		for _, p := range released {
			want := append([]string{target.exe(p.name)}, papers...)
			if p.name == "gauze" {
				want = append(want, more...)
			}
			slices.Sort(want)
			files := unpacked(t, filepath.Join(r.dir, r.archive(p, target)))
			if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
				t.Errorf("%s has %q, expected %q", r.archive(p, target), got, want)
			}
			if got := files[target.exe(p.name)]; got != p.name+" for "+target.String() {
				t.Errorf("%s: the program is %q", r.archive(p, target), got)
			}
		}
	}
	if want := "gauze_1.2.4-dev.5+gabcdef012345_windows_arm64.zip"; r.archive(released[0], target{"windows", "arm64"}) != want {
		t.Errorf("not named %s", want)
	}
}

// Without what it is made from, a maker says what to make first.
func TestMakersNeedThoseBefore(t *testing.T) {
	r := standIns(t)
	if err := manifests(t.Context(), r); err == nil || !strings.Contains(err.Error(), "next: make the archives first") {
		t.Errorf("manifests: %v", err)
	}
	r.dir = t.TempDir()
	if err := archives(t.Context(), r); err == nil || !strings.Contains(err.Error(), "next: make the manual first") {
		t.Errorf("archives: %v", err)
	}
}

// unpacked returns the files of a .zip or .tar.gz.
func unpacked(t *testing.T, file string) map[string]string {
	t.Helper()
	files, packed := map[string]string{}, read(t, file)
	if strings.HasSuffix(file, ".zip") {
		z, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range z.File {
			content, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			files[f.Name] = all(t, content)
		}
		return files
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = all(t, r)
	}
}

func all(t *testing.T, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
