package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/executable"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// A gauze of one release becomes that of the next from what this command made, and nothing else: one changed byte in the archive, in the sums or in their signature is refused.
func TestUpgradeFromOneReleaseToTheNext(t *testing.T) {
	t.Parallel()
	built(t) // says whether this test can run
	old, next, err := twoReleases()
	if err != nil {
		t.Fatal(err)
	}
	newer, gauze := publishedAs(t, next), filepath.Join(t.TempDir(), "gauze")
	if err := executable.Write(gauze, read(t, old.binary(released[0], linux))); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.StripPrefix("/latest/download/", http.FileServer(http.Dir(newer))))
	defer server.Close()
	upgrade := func() (string, error) {
		cmd := exec.CommandContext(patience.Context(t), gauze, "upgrade", "--yes")
		cmd.Env = bareMachine(t, "GAUZE_RELEASES="+server.URL)
		said, err := cmd.CombinedOutput()
		return string(said), err
	}
	for _, name := range []string{"gauze_1.3.0_linux_amd64.tar.gz", sumsFile, signatureFile} {
		file := filepath.Join(newer, name)
		right := read(t, file)
		changed := []byte(string(right))
		changed[len(changed)/2] ^= 1
		if err := os.WriteFile(file, changed, 0o644); err != nil {
			t.Fatal(err)
		}
		if said, err := upgrade(); err == nil || !strings.Contains(said, "nothing was changed") {
			t.Errorf("%s with a changed byte: %v\n%s", name, err, said)
		}
		if said := do(t, gauze, "--version"); said != "gauze "+old.version+"\n" {
			t.Fatalf("%s with a changed byte: now %s", name, said)
		}
		if err := os.WriteFile(file, right, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if said, err := upgrade(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if said := do(t, gauze, "--version"); said != "gauze 1.3.0\n" {
		t.Errorf("after the upgrade: %s", said)
	}
}

// publishedAs returns the published archives of one of two releases.
func publishedAs(t *testing.T, r *release) string {
	t.Helper()
	own := *r
	own.dir, own.targets = built(t).dir, []target{linux}
	binary := own.binary(released[0], linux)
	if err := errors.Join(os.Remove(binary), os.Link(r.binary(released[0], linux), binary)); err != nil {
		t.Fatal(err)
	}
	own.run(t, archives, sums, signature)
	return flattened(t, &own)
}
