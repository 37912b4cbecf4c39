package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"slices"
	"testing"
	"time"
)

// The order in which entries are added does not matter; times, owners and modes are fixed.
func TestArchivesDependOnTheirEntriesAlone(t *testing.T) {
	date := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("somewhere", 3600))
	entries := []entry{{"b/tool", 0o755, []byte("tool")}, {"a.txt", 0o644, []byte("text")}, {"b/", 0o755, nil}}
	turned := slices.Clone(entries)
	slices.Reverse(turned)
	for name, pack := range map[string]func(time.Time, []entry) ([]byte, error){"tar": tarred, "tar.gz": tarGz, "zip": zipped} {
		one, err := pack(date, entries)
		two, err2 := pack(date.UTC(), turned)
		if err != nil || err2 != nil || !bytes.Equal(one, two) {
			t.Errorf("%s: %v, %v, %d and %d bytes", name, err, err2, len(one), len(two))
		}
		for _, bad := range [][]entry{{{"a", 0o644, nil}, {"a", 0o644, nil}}, {{"../a", 0o644, nil}}, {{"/a", 0o644, nil}}} {
			if _, err := pack(date, bad); err == nil {
				t.Errorf("%s accepts %v", name, bad)
			}
		}
	}
	packed, _ := tarGz(date, entries)
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil || !unzipped.ModTime.IsZero() || unzipped.Name != "" {
		t.Fatalf("%+v, %v", unzipped, err)
	}
	var names []string
	for r := tar.NewReader(unzipped); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil || h.Uid != 0 || h.Gid != 0 || !h.ModTime.Equal(date.Truncate(time.Second)) {
			t.Fatalf("%+v, %v", h, err)
		}
		names = append(names, h.Name+" "+h.FileInfo().Mode().String())
	}
	if want := []string{"a.txt -rw-r--r--", "b/ drwxr-xr-x", "b/tool -rwxr-xr-x"}; !slices.Equal(names, want) {
		t.Errorf("%q, expected %q", names, want)
	}
	packed, _ = zipped(date, entries)
	z, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil || len(z.File) != 3 || z.File[2].Mode() != 0o755 || !z.File[1].Mode().IsDir() {
		t.Errorf("%+v, %v", z, err)
	}
}

// A release is compressed as well as gzip and zip do it unless they are told otherwise, and its users get what went in.
func TestArchivesOfAReleaseAreCompressedWell(t *testing.T) {
	program, err := os.ReadFile("npm.go") // any text will do
	if err != nil {
		t.Fatal(err)
	}
	faster := compression
	defer func() { compression = faster }()
	compression = asReleased
	gz, err := gzipped(program)
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	w := gzip.NewWriter(&want)
	w.Write(program)
	w.Close()
	if !bytes.Equal(gz, want.Bytes()) {
		t.Errorf("%d bytes, of gzip itself %d", len(gz), want.Len())
	}
	packed, err := zipped(time.Time{}, []entry{{"program", 0o755, program}})
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	file, err := z.File[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(file); err != nil || !bytes.Equal(got, program) || z.File[0].CompressedSize64 > uint64(len(gz)) {
		t.Errorf("%v, %d bytes in %d, with gzip in %d", err, len(got), z.File[0].CompressedSize64, len(gz))
	}
}
