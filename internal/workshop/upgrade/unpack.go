package upgrade

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxProgram is the largest program that is unpacked.
const maxProgram = 128 << 20

// unpack returns one file of an archive, which must be at its root. No other entry is read, and no
// name in the archive becomes a path.
func unpack(archive string, content []byte, program string) ([]byte, error) {
	open := openTar
	if strings.HasSuffix(archive, ".zip") {
		open = openZip
	}
	file, err := open(content, program)
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("the archive does not contain the program %s", program)
	case err != nil:
		return nil, fmt.Errorf("the archive cannot be read: %w", err)
	}
	unpacked, err := io.ReadAll(io.LimitReader(file, maxProgram+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the archive cannot be read: %w", err)
	case len(unpacked) > maxProgram:
		return nil, fmt.Errorf("the program %s in the archive is larger than %d bytes", program, maxProgram)
	}
	return unpacked, nil
}

// openTar returns a regular file of a compressed tar archive, or io.EOF.
func openTar(content []byte, name string) (io.Reader, error) {
	compressed, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, unexpected(err)
	}
	entries := tar.NewReader(compressed)
	for {
		header, err := entries.Next()
		if err != nil {
			return nil, err
		}
		if header.Name == name && header.Typeflag == tar.TypeReg {
			return entries, nil
		}
	}
}

// openZip returns a regular file of a zip archive, or io.EOF.
func openZip(content []byte, name string) (io.Reader, error) {
	entries, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return nil, unexpected(err)
	}
	for _, file := range entries.File {
		if file.Name == name && file.Mode().IsRegular() {
			opened, err := file.Open()
			return opened, unexpected(err)
		}
	}
	return nil, io.EOF
}

// unexpected keeps the end of a broken archive apart from that of a whole one.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
