//go:build linux

package realtest

import (
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// oldNode is a node as Debian once shipped it: it does not know the syntax of today's servers.
const oldNode = `#!/bin/sh
case "$1" in
--version|-v) echo v12.22.9; exit ;;
esac
cat >&2 <<END
$1:14
const value = input?.name ?? "none";
                    ^

SyntaxError: Unexpected token '.'
    at wrapSafe (internal/modules/cjs/loader.js:915:16)
    at Module._compile (internal/modules/cjs/loader.js:963:27)
    at internal/main/run_main_module.js:17:47
END
exit 1
`

// python is the interpreter of the parts from PyPI. It has no server in it.
func python(b *bench) string {
	b.t.Helper()
	uvx := realparts.Need(b.t, realparts.Time)
	path, err := filepath.EvalSymlinks(uvx[slices.Index(uvx, "--python")+1])
	if err != nil {
		b.t.Fatal(err)
	}
	return path
}

// timeVenv is the virtual environment that uvx made for mcp-server-time.
func timeVenv(b *bench) string {
	b.t.Helper()
	uvx := realparts.Need(b.t, realparts.Time)
	found, _ := filepath.Glob(filepath.Join(uvx[slices.Index(uvx, "--cache-dir")+1], "archive-v0", "*", "bin", "mcp-server-time"))
	if len(found) == 0 {
		b.t.Fatal("uvx keeps its environments elsewhere now")
	}
	return filepath.Dir(filepath.Dir(found[0]))
}

// timeScript is a script in Python that becomes the real mcp-server-time.
func timeScript(b *bench) string {
	b.t.Helper()
	argv, _ := json.Marshal(realparts.Need(b.t, realparts.Time)) // strings are the same in Python
	return b.file("project/server.py", "import os\nargv = "+string(argv)+"\nos.execv(argv[0], argv)\n")
}

// foreignBinary is the beginning of a program for another processor.
func foreignBinary() string {
	machine := map[string]uint16{"amd64": 183, "arm64": 62}[runtime.GOARCH] // the other one of the two
	head := make([]byte, 4096)
	copy(head, "\x7fELF\x02\x01\x01")
	for at, v := range map[int]uint16{16: 2, 18: machine, 20: 1, 52: 64, 54: 56} {
		binary.LittleEndian.PutUint16(head[at:], v)
	}
	return string(head)
}

// registry is one for npm and PyPI that has server-memory in the pinned version and nothing else.
func registry(b *bench) string {
	b.t.Helper()
	pkg := manifest(b)
	var about map[string]any
	if err := json.Unmarshal([]byte(pkg.text), &about); err != nil {
		b.t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !strings.HasSuffix(r.URL.Path, "server-memory") {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"error":"Not found"}`)) // npm may be gone already
			return
		}
		one := maps.Clone(about)
		one["dist"] = map[string]any{"tarball": "http://" + r.Host + "/none.tgz"}
		_ = json.NewEncoder(w).Encode(map[string]any{"name": pkg.Name, "dist-tags": map[string]any{"latest": pkg.Version}, "versions": map[string]any{pkg.Version: one}})
	}))
	b.t.Cleanup(s.Close)
	return s.URL
}

// packageJSON is what a package says of itself.
type packageJSON struct {
	Name, Version string
	folder        string
	text          string
}

// manifest is that of the real server-memory.
func manifest(b *bench) (pkg packageJSON) {
	b.t.Helper()
	pkg.folder = filepath.Dir(filepath.Dir(b.server(realparts.Memory)))
	text, err := os.ReadFile(filepath.Join(pkg.folder, "package.json"))
	if err == nil {
		err = json.Unmarshal(text, &pkg)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	pkg.text = string(text)
	return pkg
}

// halfInstalled leaves in npx's cache what an interrupted installation leaves: server-memory without what it needs.
func halfInstalled(b *bench) (spec string) {
	b.t.Helper()
	pkg := manifest(b)
	spec = pkg.Name + "@" + pkg.Version
	sum := sha512.Sum512([]byte(spec)) // how npx names the folder
	folder := ".npm/_npx/" + hex.EncodeToString(sum[:])[:16]
	b.file(folder+"/package.json", `{"dependencies":{"`+pkg.Name+`":"`+pkg.Version+`"}}`)
	b.file(folder+"/node_modules/"+pkg.Name+"/package.json", pkg.text)
	script, err := os.ReadFile(b.server(realparts.Memory))
	if err != nil {
		b.t.Fatal(err)
	}
	path := b.script(folder+"/node_modules/"+pkg.Name+"/dist/index.js", string(script))
	b.link(folder+"/node_modules/.bin/mcp-server-memory", path)
	return spec
}
