package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a file of an archive. Directories end in a slash and have no content.
type entry struct {
	name    string
	mode    fs.FileMode // permission bits
	content []byte
}

// fileEntry reads a file of this machine. Its own mode and time do not matter.
func fileEntry(name string, mode fs.FileMode, file string) (entry, error) {
	content, err := os.ReadFile(file)
	return entry{name, mode, content}, err
}

// tarred returns the entries as a tar archive: sorted, with one time, and owned by root.
func tarred(date time.Time, entries []entry) ([]byte, error) {
	entries, err := inOrder(entries)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		header := tar.Header{Name: e.name, Mode: int64(e.mode), Size: int64(len(e.content)), ModTime: date.UTC().Truncate(time.Second), Typeflag: tar.TypeReg}
		if strings.HasSuffix(e.name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(&header); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, err
		}
	}
	err = w.Close()
	return b.Bytes(), err
}

// tarGz returns the entries as a compressed tar archive.
func tarGz(date time.Time, entries []entry) ([]byte, error) {
	archive, err := tarred(date, entries)
	if err != nil {
		return nil, err
	}
	return gzipped(archive)
}

// compression is how well archives are compressed. Tests of real programs choose the fastest.
var compression = gzip.DefaultCompression

// gzipped compresses without a name or a time, so that equal bytes give equal bytes.
func gzipped(content []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, compression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

// zipped returns the entries as a zip archive, sorted and with one time. The mode is kept for systems
// that have one.
func zipped(date time.Time, entries []entry) ([]byte, error) {
	entries, err := inOrder(entries)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if compression != gzip.DefaultCompression { // that of zip is a different one
		w.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) { return flate.NewWriter(to, compression) })
	}
	for _, e := range entries {
		header := zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: date.UTC().Truncate(time.Second)}
		header.SetMode(e.mode)
		if strings.HasSuffix(e.name, "/") {
			header.Method = zip.Store
			header.SetMode(e.mode | fs.ModeDir)
		}
		content, err := w.CreateHeader(&header)
		if err != nil {
			return nil, err
		}
		if _, err := content.Write(e.content); err != nil {
			return nil, err
		}
	}
	err = w.Close()
	return b.Bytes(), err
}

// inOrder returns the entries sorted by name, each of which is there once.
func inOrder(entries []entry) ([]entry, error) {
	sorted := slices.SortedFunc(slices.Values(entries), func(a, b entry) int { return strings.Compare(a.name, b.name) })
	for i, e := range sorted {
		if i > 0 && sorted[i-1].name == e.name {
			return nil, fmt.Errorf("%s is in the archive twice", e.name)
		}
		if !fs.ValidPath(strings.TrimSuffix(e.name, "/")) {
			return nil, fmt.Errorf("%q is not a name for an archive: it must be a clean relative path with slashes", e.name)
		}
	}
	return sorted, nil
}

// write writes an artefact into the directory of the release, such as "npm/gauze-mcp-1.2.3.tgz".
func (r *release) write(name string, content []byte) error {
	file := filepath.Join(r.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}
