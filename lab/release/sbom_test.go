package main

import (
	"encoding/json"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The list has every module that go version -m finds in the binary, the Go release, and nothing else. Made again, it is the
// same, and so is the wheel, which contains it.
func TestSBOMListsTheModulesOfTheBinary(t *testing.T) {
	r := madeTwice(t, sbom, wheels)
	for _, p := range released {
		text := read(t, filepath.Join(r.dir, r.artefact(p, linux)+".cdx.json"))
		var value any
		var materials bom
		for _, into := range []any{&value, &materials} {
			if err := json.Unmarshal(text, into); err != nil {
				t.Fatal(err)
			}
		}
		wantValid(t, "cyclonedx", value)
		got, refs := map[string]string{}, []string{}
		for _, c := range materials.Components {
			sum := ""
			if len(c.Properties) > 0 {
				sum = c.Properties[0].Value
			}
			got[c.Name+" "+c.Version], refs = sum, append(refs, c.PURL)
		}
		if want := modulesOf(t, r, p); !maps.Equal(got, want) {
			t.Errorf("%s lists\n%q\nexpected\n%q", p.name, got, want)
		}
		if d := materials.Dependencies; len(d) != 1 || d[0].Ref != materials.Metadata.Component.Ref || !slices.Equal(d[0].DependsOn, refs) {
			t.Errorf("dependencies: %v", d)
		}
		sum, _ := sumOf(r.binary(p, linux))
		if m := materials.Metadata; m.Timestamp != "2026-01-02T03:04:05Z" || m.Component.Hashes[0].Content != sum || m.Component.Version != "v"+r.version {
			t.Errorf("metadata: %+v", m)
		}
	}
}

// modulesOf returns the modules of a binary with their sums, as the go command prints them.
func modulesOf(t *testing.T, r *release, p program) map[string]string {
	t.Helper()
	said, err := exec.Command("go", "version", "-m", r.binary(p, linux)).Output()
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := strings.Cut(string(said), "\n")
	_, version, _ := strings.Cut(first, ": go")
	modules, last := map[string]string{"stdlib " + version: ""}, ""
	for line := range strings.Lines(rest) {
		fields := append(strings.Split(strings.TrimSpace(line), "\t"), "")
		switch fields[0] {
		case "dep":
			last = fields[1]
			modules[last+" "+fields[2]] = fields[3]
		case "=>":
			if !strings.HasPrefix(fields[1], ".") {
				t.Fatalf("a module is replaced by another: %q", line)
			}
			delete(modules, last+" v0.0.0")
			modules[last+" v"+r.version] = ""
		}
	}
	if len(modules) < 10 {
		t.Fatalf("only %q in\n%s", modules, said)
	}
	return modules
}

// The number of a list depends on its content.
func TestSBOMSerialIsOfItsContent(t *testing.T) {
	one, err := serial(bom{Version: 1})
	two, err2 := serial(bom{Version: 2})
	again, err3 := serial(bom{Version: 1})
	if err != nil || err2 != nil || err3 != nil || one == two || one != again {
		t.Errorf("%s, %s, %s: %v, %v, %v", one, two, again, err, err2, err3)
	}
}
