package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
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
