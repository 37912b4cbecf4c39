package main

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/lab/programs"
)

// Every artefact made twice has the same bytes: in different directories, with one CPU and with all, and in
// different time zones. A run of everything also compiles twice, for every system, from two copies of the
// source; otherwise the binaries are stand-ins, of which one has several blocks of each compression.
func TestEveryArtefactTwice(t *testing.T) {
	first := standIns(t)
	write(t, first.binary(released[0], linux), hex.EncodeToString(randomBytes(1<<20)))
	second := first.again(t)
	chosen := slices.DeleteFunc(slices.Clone(makers[2:]), func(m maker) bool {
		return m.name == "sbom" || m.name == "wheels" // they read real binaries: TestSBOMListsTheModulesOfTheBinary
	})
	if programs.Everything() {
		source := built(t).root
		for _, r := range []*release{first, second} {
			r.root, r.dir = filepath.Join(t.TempDir(), "copied"), t.TempDir()
			copyGo(t, source, r.root)
		}
		chosen = makers
	}
	key := filepath.Join(t.TempDir(), "key.pem")
	if err := newKey(key); err != nil {
		t.Fatal(err)
	}
	for i, r := range []*release{first, second} {
		if i == 1 {
			restoreCPUs, restoreZone := runtime.GOMAXPROCS(1), time.Local
			defer func() { runtime.GOMAXPROCS(restoreCPUs); time.Local = restoreZone }()
			time.Local = time.FixedZone("elsewhere", -7*3600)
		}
		if err := r.useKey(key); err != nil {
			t.Fatal(err)
		}
		for _, m := range chosen {
			started := time.Now()
			if err := m.make(t.Context(), r); err != nil {
				t.Fatalf("%s: %v", m.name, err)
			}
			t.Logf("%s: %s", m.name, time.Since(started).Round(time.Millisecond))
		}
		if err := verify(r.dir, key+".pub", &bytes.Buffer{}); err != nil {
			t.Error(err)
		}
	}
	equalFiles(t, first.dir, second.dir)
}

// randomBytes returns the same bytes each time.
func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(b)
	return b
}
