package main

import (
	"archive/zip"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// makeWheels makes the wheels of both releases, once for all tests.
var makeWheels = sync.OnceValue(func() error {
	old, new, err := twoReleases()
	for _, r := range []*release{old, new} {
		here := *r
		here.targets = []target{linux}
		if err == nil {
			err = wheels(context.Background(), &here)
		}
	}
	return err
})

// pythonMachine is a machine with pip and uv, which can get the wheels of two releases and nothing else.
func pythonMachine(t *testing.T) (m *machine, old, new *release) {
	t.Helper()
	built(t) // says whether this test can run
	old, new, err := twoReleases()
	if err == nil {
		err = makeWheels()
	}
	if err != nil {
		t.Fatal(err)
	}
	dir, tools := t.TempDir(), realparts.NeedPythonTools(t)
	from := filepath.Join(old.dir, "pypi") + " " + filepath.Join(new.dir, "pypi")
	env := bareMachine(t, "HOME="+dir, "PIP_NO_INDEX=1", "PIP_FIND_LINKS="+from, "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_CACHE_DIR=1",
		"UV_OFFLINE=1", "UV_FIND_LINKS="+strings.ReplaceAll(from, " ", ","), "UV_PYTHON_DOWNLOADS=never", "UV_NO_CONFIG=1",
		"UV_PYTHON="+filepath.Join(tools, "python3"))
	return &machine{t, onPath(env, filepath.Join(dir, ".local", "bin"), tools), dir}, old, new
}

// inVenv activates a virtual environment, into which pip installs.
func (m *machine) inVenv() {
	m.t.Helper()
	m.do("python3 -m venv --without-pip venv")
	m.env = append(onPath(m.env, m.file("venv/bin")), "VIRTUAL_ENV="+m.file("venv"), "PIP_PYTHON="+m.file("venv/bin/python"))
}

// pip puts the program itself into the environment.
func TestPipInstall(t *testing.T) {
	t.Parallel()
	m, _, r := pythonMachine(t)
	m.inVenv()
	m.do("pip install gauze-mcp")
	if !isProgram(m.file("venv/bin/gauze")) {
		t.Error("gauze is not the program")
	}
	m.tryOut(r, "pip")
	write(t, m.file("gauze"), "#!/bin/sh\necho another\n") // which nothing may start
	if err := os.Chmod(m.file("gauze"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"gauze-mcp version", "python -m gauze_mcp version", "python -c 'import gauze_mcp; gauze_mcp.main()' version"} {
		if said := m.do(line); !strings.HasPrefix(said, "gauze "+r.version) {
			t.Errorf("%s: %s", line, said)
		}
	}
	m.do("pip uninstall -y gauze-mcp")
	if left, _ := filepath.Glob(m.file("venv/bin/gauze*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// An entry that was wrapped works in each version.
func TestUvUpgradeAndDowngrade(t *testing.T) {
	t.Parallel()
	m, old, new := pythonMachine(t)
	for i, r := range []*release{old, new, old} {
		version, err := pypiVersion(r.version)
		if err != nil {
			t.Fatal(err)
		}
		m.do("uv tool install gauze-mcp==" + version)
		wantVersion(t, m.installed(r, "uv"))
		if i == 0 {
			m.wrap("gauze")
		}
		m.wantEntry()
	}
	m.do("uv tool uninstall gauze-mcp")
}

// withPipx adds pipx and what it installs itself.
func (m *machine) withPipx() {
	m.t.Helper()
	bin, wheels := realparts.NeedPipx(m.t)
	m.env = append(m.env, "PIP_FIND_LINKS="+valueIn(m.env, "PIP_FIND_LINKS")+" "+wheels)
	path := m.file("pipx-bin")
	if err := os.MkdirAll(path, 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(bin, "pipx"), filepath.Join(path, "pipx")); err != nil {
		m.t.Fatal(err)
	}
	m.env = onPath(m.env, path)
}

// The record lists what is in the wheel, once and with its bytes.
func TestWheelRecord(t *testing.T) {
	t.Parallel()
	_, r, _ := pythonMachine(t)
	archive, err := zip.OpenReader(filepath.Join(r.dir, wheelFile(linux, "1.2.4.dev5")))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	var files []entry
	var record string
	for _, f := range archive.File {
		from, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(f.Name, "/RECORD") {
			record = string(content)
			continue
		}
		if executable := f.Mode()&0o111 != 0; executable != strings.Contains(f.Name, ".data/scripts/") {
			t.Errorf("%s has mode %v", f.Name, f.Mode())
		}
		files = append(files, entry{f.Name, f.Mode(), content})
	}
	if want := string(wheelRecord("gauze_mcp-1.2.4.dev5.dist-info/", files)); record != want || len(files) != 8 {
		t.Errorf("%s\nexpected\n%s", record, want)
	}
}

// Versions become what pip sorts as npm does.
func TestPyPIVersions(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"1.2.3": "1.2.3", "1.2.3+dirty": "1.2.3", "1.2.3-rc.1": "1.2.3rc1", "1.2.3-alpha.2": "1.2.3a2", "1.2.3-beta": "1.2.3b0",
		"1.2.4-dev.5+gabcdef": "1.2.4.dev5", "0.0.0-dev+gabcdef": "0.0.0.dev0",
	} {
		if got, err := pypiVersion(version); err != nil || got != want {
			t.Errorf("%s: %s, %v, expected %s", version, got, err, want)
		}
	}
	if got, err := pypiVersion("1.2.3-preview.1"); err == nil {
		t.Errorf("1.2.3-preview.1 is %s", got)
	}
}
