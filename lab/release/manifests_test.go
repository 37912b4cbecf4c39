package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/gauze-mcp/gauze/lab/programs"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// Every manifest names the archives of its systems with their sums, and is as its package manager documents
// it. The managers themselves need other systems.
func TestManifestsNameTheArchives(t *testing.T) {
	if len(about) > 80 {
		t.Errorf("Homebrew rejects a description of %d characters", len(about))
	}
	r := standIns(t)
	r.run(t, archives, manifests)
	for _, m := range manifestList {
		file := filepath.Join(r.dir, m.file)
		text := string(read(t, file))
		if strings.Contains(text, "<no value>") || strings.Contains(text, "{{") {
			t.Errorf("%s:\n%s", m.file, text)
		}
		wantSums(t, r, m, text)
		switch filepath.Ext(m.file) {
		case ".yaml":
			var value any
			if err := yaml.Unmarshal([]byte(text), &value); err != nil {
				t.Fatal(err)
			}
			wantValid(t, "winget", value)
		case ".json":
			var value any
			if err := json.Unmarshal([]byte(text), &value); err != nil {
				t.Fatal(err)
			}
			wantValid(t, "scoop", value)
		}
	}
}

var downloads = regexp.MustCompile(`(?i)\S+/releases/download/\S+?/([^"\s]+)"?,?\s+"?(?:sha256|InstallerSha256|hash)"?:? "?([0-9a-f]{64})`)

// wantSums expects each download beside its sum, for both CPUs of each system, unless the file has none.
func wantSums(t *testing.T, r *release, m manifest, text string) {
	t.Helper()
	found := map[string]string{}
	for _, d := range downloads.FindAllStringSubmatch(text, -1) {
		found[d[1]] = strings.ToLower(d[2])
	}
	if !strings.Contains(text, "/releases/download/") {
		return // version and locale of winget
	}
	if want := 2 * len(m.systems); len(found) != want {
		t.Errorf("%s has %d downloads, expected %d:\n%s", m.file, len(found), want, text)
	}
	for name, sum := range found {
		if got := fmt.Sprintf("%x", sha256.Sum256(read(t, filepath.Join(r.dir, name)))); got != sum {
			t.Errorf("%s: the sum of %s is %s, not %s", m.file, name, got, sum)
		}
	}
}

// A manifest for systems that are not made is not written.
func TestManifestsOfOtherSystemsAreLeftOut(t *testing.T) {
	r := standIns(t)
	r.targets = []target{{"windows", "amd64"}, {"windows", "arm64"}, {"linux", "amd64"}}
	r.run(t, archives, manifests)
	for _, name := range filesIn(t, r.dir) {
		if name == "gauze.rb" {
			t.Error("a formula without macOS")
		}
	}
	read(t, filepath.Join(r.dir, "gauze.json"))
}

// Ruby can read the formula.
func TestTheFormulaIsRuby(t *testing.T) {
	if !programs.Everything() {
		t.Skip("ruby is installed only for a run of everything")
	}
	ruby := realparts.Tool(t, "ruby", "ruby")
	r := standIns(t)
	r.run(t, archives, manifests)
	if said, err := exec.Command(ruby, "-wc", filepath.Join(r.dir, "gauze.rb")).CombinedOutput(); err != nil || !strings.Contains(string(said), "Syntax OK") {
		t.Errorf("%v: %s", err, said)
	}
}
