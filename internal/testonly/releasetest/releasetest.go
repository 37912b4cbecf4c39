// Package releasetest publishes releases of gauze for tests: on a local server, with real archives and
// real signatures.
package releasetest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Key signs releases.
type Key struct{ private *ecdsa.PrivateKey }

// NewKey returns a new key.
func NewKey() Key {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // only a broken source of random numbers
	}
	return Key{private}
}

// DER returns the public key in PKIX form.
func (k Key) DER() []byte {
	der, err := x509.MarshalPKIXPublicKey(&k.private.PublicKey)
	if err != nil {
		panic(err) // the curve has a form
	}
	return der
}

// Public returns the public key as the release stamps it into gauze.
func (k Key) Public() string { return base64.StdEncoding.EncodeToString(k.DER()) }

// Sign returns the signature of content as SHA256SUMS.sig has it.
func (k Key) Sign(content []byte) []byte {
	digest := sha256.Sum256(content)
	signature, err := ecdsa.SignASN1(rand.Reader, k.private, digest[:])
	if err != nil {
		panic(err) // only a broken source of random numbers
	}
	return []byte(base64.StdEncoding.EncodeToString(signature) + "\n")
}

// Server publishes releases. Its methods may be called while it is in use.
type Server struct {
	URL string // URL is the value of GAUZE_RELEASES.
	Key Key

	mu       sync.Mutex
	files    map[string][]byte
	handlers map[string]http.HandlerFunc
	asked    []string
}

// Serve starts a server without a release.
func Serve(t testing.TB) *Server {
	t.Helper()
	s := &Server{Key: NewKey(), files: map[string][]byte{}, handlers: map[string]http.HandlerFunc{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL + "/releases"
	return s
}

// Latest is the directory of the latest release.
const Latest = "latest/download"

// Dir returns the directory of a version.
func Dir(version string) string { return "download/v" + version }

// Publish makes a release with one program the latest.
func (s *Server) Publish(version string, program []byte) {
	files := Files(version, program)
	s.PublishFiles(Dir(version), files)
	s.PublishFiles(Latest, files)
}

// PublishFiles replaces a directory by these files, their SHA256SUMS and its signature.
func (s *Server) PublishFiles(dir string, files map[string][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.files, func(name string, _ []byte) bool { return strings.HasPrefix(name, dir+"/") })
	list := Sums(files)
	for name, content := range files {
		s.files[dir+"/"+name] = content
	}
	s.files[dir+"/SHA256SUMS"] = list
	s.files[dir+"/SHA256SUMS.sig"] = s.Key.Sign(list)
}

// Files returns the artefacts of a release for this system.
func Files(version string, program []byte) map[string][]byte {
	files := map[string][]byte{
		Archive(version): Pack(Archive(version), program),
		"gauze-temporal_" + version + "_x.tar.gz":                []byte("another program"),
		"gauze_" + version + "_linux_" + runtime.GOARCH + ".deb": []byte("a package"),
		"RELEASE_NOTES.md": []byte("notes"),
	}
	return files
}

// Archive returns the name of the archive for this system.
func Archive(version string) string {
	suffix := ".tar.gz"
	if runtime.GOOS == "windows" {
		suffix = ".zip"
	}
	return "gauze_" + version + "_" + runtime.GOOS + "_" + runtime.GOARCH + suffix
}

// Program returns the name of the program in an archive whose name is given.
func Program(archive string) string {
	if strings.HasSuffix(archive, ".zip") {
		return "gauze.exe"
	}
	return "gauze"
}

// Pack returns an archive, in the form that its name says, with a program and other files around it.
func Pack(name string, program []byte) []byte {
	entries := []struct {
		name    string
		content []byte
	}{
		{"../" + Program(name), []byte("not this one")},
		{"LICENSE", []byte("license")},
		{Program(name), program},
		{"man/" + Program(name), []byte("nor this one")},
	}
	var b bytes.Buffer
	var err error
	if strings.HasSuffix(name, ".zip") {
		w := zip.NewWriter(&b)
		for _, e := range entries {
			file, _ := w.Create(e.name) // a buffer takes everything
			file.Write(e.content)
		}
		err = w.Close()
	} else {
		compressed, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // the level is valid
		w := tar.NewWriter(compressed)
		for _, e := range entries {
			w.WriteHeader(&tar.Header{Name: e.name, Mode: 0o755, Size: int64(len(e.content)), Typeflag: tar.TypeReg})
			w.Write(e.content)
		}
		w.Close()
		err = compressed.Close()
	}
	if err != nil {
		panic(err)
	}
	return b.Bytes()
}

// Sums returns SHA256SUMS of files.
func Sums(files map[string][]byte) []byte {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(files[name]), name)
	}
	return b.Bytes()
}

// File returns a published file, such as latest/download/SHA256SUMS.
func (s *Server) File(name string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files[name]
}

// Put replaces a published file, and nothing else.
func (s *Server) Put(name string, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[name] = content
}

// Handle answers requests for a file in another way.
func (s *Server) Handle(name string, handler http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers[name] = handler
}

// Asked returns the files that were requested, in order.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/releases/")
	s.mu.Lock()
	s.asked = append(s.asked, name)
	content, found := s.files[name]
	handler := s.handlers[name]
	s.mu.Unlock()
	switch {
	case handler != nil:
		handler(w, r)
	case !found:
		http.NotFound(w, r)
	default:
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		w.Write(content)
	}
}
