package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// npmRegistry serves npm packages, as the public registry does.
type npmRegistry struct {
	packages map[string]npmDocument
	tarballs map[string][]byte

	url     string
	mu      sync.Mutex
	fetched []string // tarballs
}

// npmDocument is what a registry says of a package.
type npmDocument struct {
	Name     string                    `json:"name"`
	Tags     map[string]string         `json:"dist-tags"`
	Versions map[string]map[string]any `json:"versions"`
}

// npmServed returns a registry that has both releases, of which the second is the latest.
func npmServed(t *testing.T) (old, new *release, registry *npmRegistry) {
	t.Helper()
	built(t) // says whether this test can run
	old, new, err := twoReleases()
	if err != nil {
		t.Fatal(err)
	}
	shared, err := npmPublished()
	if err != nil {
		t.Fatal(err)
	}
	registry = &npmRegistry{packages: maps.Clone(shared.packages), tarballs: maps.Clone(shared.tarballs)}
	server := httptest.NewServer(registry)
	t.Cleanup(server.Close)
	registry.url = server.URL
	return old, new, registry
}

// npmPublished makes the packages of both releases, once for all tests.
var npmPublished = sync.OnceValues(func() (*npmRegistry, error) {
	registry := &npmRegistry{packages: map[string]npmDocument{}, tarballs: map[string][]byte{}}
	old, new, err := twoReleases()
	if err != nil {
		return nil, err
	}
	for _, r := range []*release{old, new} {
		if err := npm(context.Background(), r); err != nil {
			return nil, err
		}
		files, err := filepath.Glob(filepath.Join(r.dir, "npm", "*.tgz"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			tarball, err := os.ReadFile(file)
			if err == nil {
				err = registry.add(filepath.Base(file), tarball)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return registry, nil
})

// add publishes a tarball, which becomes the latest of its package.
func (n *npmRegistry) add(name string, tarball []byte) error {
	files, err := npmFiles(tarball)
	if err != nil {
		return err
	}
	var m map[string]any
	if err := json.Unmarshal(files["package/package.json"], &m); err != nil {
		return err
	}
	sum := sha512.Sum512(tarball)
	m["dist"] = map[string]string{"tarball": "REGISTRY/-/" + name, "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
	m["hasInstallScript"] = m["scripts"] != nil
	pkg, version := m["name"].(string), m["version"].(string)
	document := npmDocument{pkg, map[string]string{"latest": version}, maps.Clone(n.packages[pkg].Versions)}
	if document.Versions == nil {
		document.Versions = map[string]map[string]any{}
	}
	document.Versions[version] = m
	n.packages[pkg], n.tarballs[name] = document, tarball
	return nil
}

func (n *npmRegistry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if document, ok := n.packages[name]; ok {
		text, _ := json.Marshal(document)
		w.Write(bytes.ReplaceAll(text, []byte("REGISTRY"), []byte(n.url)))
		return
	}
	tarball, ok := n.tarballs[strings.TrimPrefix(name, "-/")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	n.mu.Lock()
	n.fetched = append(n.fetched, strings.TrimPrefix(name, "-/"))
	n.mu.Unlock()
	w.Write(tarball)
}

// npmFiles returns the files of a tarball.
func npmFiles(tarball []byte) (map[string][]byte, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(tarball))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if files[header.Name], err = io.ReadAll(r); err != nil {
			return nil, err
		}
	}
}
