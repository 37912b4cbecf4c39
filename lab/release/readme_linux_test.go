package main

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// readmeLines are README's lines of npm and PyPI, each with the machine on which it is run and the channel that it installs
// from, or what it prints without installing anything.
var readmeLines = map[string]struct {
	machine func(*testing.T) (*machine, *release)
	channel string
	prints  string
}{
	"npx -y gauze-mcp doctor": {machine: aNodeMachine, prints: "No MCP servers found."},
	"npx -y gauze-mcp demo":   {machine: aNodeMachine, prints: "every guarantee held"},
	"uvx gauze-mcp demo":      {machine: aPythonMachine, prints: "every guarantee held"},

	"npm install -g gauze-mcp":  {machine: aNodeMachine, channel: "npm"},
	"uv tool install gauze-mcp": {machine: aPythonMachine, channel: "uv"},
	"pipx install gauze-mcp":    {machine: aPipxMachine, channel: "pipx"},
	"pip install gauze-mcp":     {machine: aVenv, channel: "pip"},
}

// Each line of README's sections Start and Install that npm or PyPI is needed for does what it says, as printed.
func TestReadmeLinesInstall(t *testing.T) {
	t.Parallel()
	printed := installLines(t, "README.md", "npm", "npx", "uv", "uvx", "pip", "pipx")
	if known := slices.Sorted(maps.Keys(readmeLines)); !slices.Equal(printed, known) {
		t.Fatalf("README has %q, tested are %q", printed, known)
	}
	for _, line := range printed {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			how := readmeLines[line]
			m, r := how.machine(t)
			said := m.do(line)
			if how.channel != "" {
				wantVersion(t, m.installed(r, how.channel))
			} else if !strings.Contains(said, how.prints) {
				t.Errorf("%s", said)
			}
		})
	}
}

// installLines returns the lines of a page that start with one of the programs, sorted: those of README's sections Start
// and Install, or of all of docs/install.md.
func installLines(t *testing.T, page string, programs ...string) []string {
	t.Helper()
	section := string(read(t, filepath.Join("..", "..", page)))
	if page == "README.md" {
		_, section, _ = strings.Cut(section, "\n## Start\n")
		start, install, _ := strings.Cut(section, "\n## Install\n")
		install, _, _ = strings.Cut(install, "\n## ")
		section = start + install
	}
	var lines []string
	for i, block := range strings.Split(section, "\n```") {
		if i%2 == 0 {
			continue // text between blocks
		}
		for line := range strings.Lines(block) {
			if program, _, _ := strings.Cut(line, " "); slices.Contains(programs, program) {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// The lines of docs/install.md for packages name files that a release has, and README's lines for Homebrew, winget and
// scoop what the manifests name.
func TestReadmeNamesWhatIsReleased(t *testing.T) {
	t.Parallel()
	r, _ := signed(t)
	files, err := artefacts(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	lines := installLines(t, "docs/install.md", "sudo")
	if len(lines) != len(formats) {
		t.Errorf("%d formats, and docs/install.md has %q", len(formats), lines)
	}
	for _, line := range lines {
		command, _, _ := strings.Cut(line, "#")
		words := strings.Fields(command)
		name := strings.ReplaceAll(filepath.Base(words[len(words)-1]), "VERSION", r.version)
		if files[name] == "" {
			t.Errorf("docs/install.md: %s\nthe release has no %s", line, name)
		}
	}
	for _, c := range []struct{ program, word, file, text string }{
		{"winget", "GauzeMCP.Gauze", "GauzeMCP.Gauze.yaml", "PackageIdentifier: GauzeMCP.Gauze\n"},
		{"brew", "gauze-mcp/tap/gauze", "gauze.rb", "class Gauze < Formula\n"},
		{"scoop", "gauze/gauze", "gauze.json", `"bin": "gauze.exe"`},
	} {
		lines := installLines(t, "README.md", c.program)
		if len(lines) != 1 || !slices.Contains(strings.Fields(lines[0]), c.word) {
			t.Errorf("README: %q, without %s", lines, c.word)
		}
		if file := files[c.file]; file == "" || !strings.Contains(string(read(t, file)), c.text) {
			t.Errorf("%s has no %s", c.file, c.text)
		}
	}
}

// The lines of docs/install.md that verify a download accept a release, and refuse one with a changed byte in the
// archive, the sums or the signature. A local server is in place of the public one.
func TestReadmeVerifiesADownload(t *testing.T) {
	t.Parallel()
	bash, curl := realparts.Tool(t, "bash", "bash"), realparts.Tool(t, "curl", "curl")
	realparts.Tool(t, "openssl", "openssl")
	text := string(read(t, filepath.Join("..", "..", "docs", "install.md")))
	_, block, found := strings.Cut(text, "```bash\nVERSION=")
	block, _, _ = strings.Cut(block, "```")
	if !found || curl == "" {
		t.Fatal("docs/install.md has no lines that verify a download")
	}
	r, public := signed(t)
	published := flattened(t, r)
	write(t, filepath.Join(published, "release.pub"), string(read(t, public)))
	mux := http.NewServeMux()
	mux.Handle("/download/v"+r.version+"/", http.StripPrefix("/download/v"+r.version+"/", http.FileServer(http.Dir(published))))
	mux.Handle("/deploy/", http.StripPrefix("/deploy/", http.FileServer(http.Dir(published))))
	server := httptest.NewServer(mux)
	defer server.Close()
	script := strings.NewReplacer("1.2.0", r.version, "https://github.com/gauze-mcp/gauze/releases", server.URL,
		"https://raw.githubusercontent.com/gauze-mcp/gauze/main", server.URL).Replace("VERSION=" + block)
	verify := func() (bool, string) {
		cmd := exec.CommandContext(patience.Context(t), bash, "-c", script)
		cmd.Env, cmd.Dir = bareMachine(t), t.TempDir()
		said, err := cmd.CombinedOutput()
		return err == nil, string(said)
	}
	if accepted, said := verify(); !accepted {
		t.Fatalf("refused: %s", said)
	}
	for _, name := range []string{"gauze_" + r.version + "_linux_amd64.tar.gz", sumsFile, signatureFile} {
		file := filepath.Join(published, name)
		right := string(read(t, file))
		changed := []byte(right)
		changed[len(changed)/2] ^= 1
		write(t, file, string(changed))
		if accepted, said := verify(); accepted {
			t.Errorf("%s with a changed byte was accepted: %s", name, said)
		}
		write(t, file, right)
	}
}

func aNodeMachine(t *testing.T) (*machine, *release) {
	_, r, registry := npmServed(t)
	return npmMachine(t, registry.url), r
}

func aPythonMachine(t *testing.T) (*machine, *release) {
	m, _, r := pythonMachine(t)
	return m, r
}

func aVenv(t *testing.T) (*machine, *release) {
	m, r := aPythonMachine(t)
	m.inVenv()
	return m, r
}

func aPipxMachine(t *testing.T) (*machine, *release) {
	m, r := aPythonMachine(t)
	m.withPipx()
	return m, r
}
