package realparts

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Server is a real server, ready to start. In its arguments and variables, {dir} stands for the
// directory of the test and {repo} for a Git repository.
type Server struct {
	Name string
	Argv []string
	Env  []string
}

// npmServer is a server from npm: its package, its arguments, and the variables it requires to
// start.
type npmServer struct {
	pkg  string
	args []string
	env  []string
}

// pypiServer is a server from PyPI with its own virtual environment.
type pypiServer struct {
	pins    []string
	program string
	args    []string
	env     []string
}

// The servers that every check compares, in addition to the parts above: small, from npm.
var servers = []npmServer{
	{pkg: "@modelcontextprotocol/server-github"},
	{pkg: "@modelcontextprotocol/server-slack", env: []string{"SLACK_BOT_TOKEN=xoxb-dummy", "SLACK_TEAM_ID=T0"}},
	{pkg: "@modelcontextprotocol/server-postgres", args: []string{"postgresql://127.0.0.1:1/none"}},
	{pkg: "tavily-mcp", env: []string{"TAVILY_API_KEY=tvly-dummy"}},
	{pkg: "@upstash/context7-mcp"},
}

// The servers that are compared on request: many and large.
var (
	moreServers = []npmServer{
		{pkg: "@playwright/mcp"},
		{pkg: "chrome-devtools-mcp"},
		{pkg: "firecrawl-mcp", env: []string{"FIRECRAWL_API_KEY=fc-dummy"}},
		{pkg: "@notionhq/notion-mcp-server", env: []string{"NOTION_TOKEN=ntn_dummy"}},
		{pkg: "@supabase/mcp-server-supabase", env: []string{"SUPABASE_ACCESS_TOKEN=sbp_0000000000000000000000000000000000000000"}},
		{pkg: "mongodb-mcp-server"},
		{pkg: "@sentry/mcp-server", env: []string{"SENTRY_ACCESS_TOKEN=sntryu_dummy"}},
		{pkg: "@stripe/mcp", args: []string{"--tools=all"}, env: []string{"STRIPE_SECRET_KEY=rk_test_dummy"}},
		{pkg: "exa-mcp-server"},
		{pkg: "@brave/brave-search-mcp-server", args: []string{"--transport", "stdio"}, env: []string{"BRAVE_API_KEY=dummy"}},
		{pkg: "figma-developer-mcp", args: []string{"--stdio"}, env: []string{"FIGMA_API_KEY=dummy"}},
		{pkg: "@hubspot/mcp-server", env: []string{"PRIVATE_APP_ACCESS_TOKEN=pat-dummy"}},
		{pkg: "mcp-server-kubernetes"},
		{pkg: "@modelcontextprotocol/server-filesystem", args: []string{"{dir}"}}, // an older version
		{pkg: "@modelcontextprotocol/server-puppeteer"},
		{pkg: "@wonderwhy-er/desktop-commander"},
		{pkg: "@azure/mcp", args: []string{"server", "start"}},
	}
	pypiServers = []pypiServer{
		{pins: []string{"mcp-server-git==2026.10.19"}, program: "mcp-server-git", args: []string{"--repository", "{repo}"}},
		{pins: []string{"mcp-server-fetch==2026.10.24"}, program: "mcp-server-fetch"},
		{pins: []string{"mcp-server-sqlite==2025.4.25", "mcp<2"}, program: "mcp-server-sqlite", args: []string{"--db-path", "{dir}/t.db"}},
		{pins: []string{"duckduckgo-mcp-server==0.7.0"}, program: "duckduckgo-mcp-server"},
		{pins: []string{"awslabs.aws-documentation-mcp-server==1.2.3"}, program: "awslabs.aws-documentation-mcp-server"},
		{pins: []string{"excel-mcp-server==2.2.2"}, program: "excel-mcp-server", args: []string{"stdio"}},
		{pins: []string{"redis-mcp-server==0.5.1"}, program: "redis-mcp-server", args: []string{"--url", "redis://127.0.0.1:1/0"}},
		{pins: []string{"arxiv-mcp-server==0.8.2"}, program: "arxiv-mcp-server"},
		{pins: []string{"awslabs.core-mcp-server==1.0.0", "mcp<2"}, program: "awslabs.core-mcp-server"},
		{pins: []string{"elevenlabs-mcp==0.12.2"}, program: "elevenlabs-mcp", env: []string{"ELEVENLABS_API_KEY=dummy"}},
		{pins: []string{"markitdown-mcp==0.0.1a7"}, program: "markitdown-mcp"},
		{pins: []string{"mcp-atlassian==0.23.1"}, program: "mcp-atlassian", env: []string{"JIRA_URL=http://127.0.0.1:1", "JIRA_USERNAME=a@b.c", "JIRA_API_TOKEN=dummy"}},
	}
)

var (
	serversUnit     = npmUnitOf("servers", minNode, pinsServersPackage, pinsServersLock)
	moreServersUnit = npmUnitOf("servers-more", minSuiteNode, pinsMoreServersPackage, pinsMoreServersLock)
)

// NeedServers returns the ten servers of every check. A missing server is handled as in Need.
func NeedServers(t testing.TB) []Server {
	t.Helper()
	all := []Server{
		{Name: string(Everything), Argv: Need(t, Everything)},
		{Name: string(Filesystem), Argv: Need(t, Filesystem, "{dir}")},
		{Name: string(Memory), Argv: Need(t, Memory), Env: []string{"MEMORY_FILE_PATH={dir}/memory.jsonl"}},
		{Name: string(SequentialThinking), Argv: Need(t, SequentialThinking)},
		{Name: string(Time), Argv: Need(t, Time, "--local-timezone", "UTC")},
	}
	return append(all, npmCommands(t, need(t, serversUnit), servers)...)
}

// NeedMoreServers returns 29 more servers. A missing server is handled as in Need.
func NeedMoreServers(t testing.TB) []Server {
	t.Helper()
	all := npmCommands(t, need(t, moreServersUnit), moreServers)
	for _, s := range pypiServers {
		program := filepath.Join(need(t, s.unit()).Cache, venvBin(), s.program)
		all = append(all, Server{Name: s.program, Argv: append([]string{program}, s.args...), Env: s.env})
	}
	return all
}

func npmCommands(t testing.TB, p place, servers []npmServer) (all []Server) {
	t.Helper()
	for _, s := range servers {
		script, err := packageScript(filepath.Join(p.Modules, filepath.FromSlash(s.pkg)))
		if err != nil {
			t.Fatalf("%s: %v", s.pkg, err)
		}
		all = append(all, Server{Name: s.pkg, Argv: append([]string{p.Node, script}, s.args...), Env: s.env})
	}
	return all
}

// packageScript returns the executable script of a package: its only one, or the one with the name
// of the package.
func packageScript(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return "", err
	}
	var manifest struct{ Bin json.RawMessage }
	if err := json.Unmarshal(text, &manifest); err != nil {
		return "", err
	}
	var script string
	var named map[string]string
	if json.Unmarshal(manifest.Bin, &script) != nil {
		json.Unmarshal(manifest.Bin, &named)
		for name, path := range named {
			if len(named) == 1 || name == filepath.Base(dir) {
				script = path
			}
		}
	}
	if script == "" {
		return "", fmt.Errorf("the package has no executable")
	}
	return filepath.Join(dir, script), nil
}

// unit returns the unit of one server: their requirements conflict, and what was installed before an
// interruption stays.
func (s pypiServer) unit() unit {
	return unit{name: "pypi-" + s.program, pins: fmt.Sprint(s.pins), install: func(ctx context.Context, dir string, out io.Writer) (place, error) {
		return installPyPI(ctx, dir, s.pins, out)
	}}
}

func installPyPI(ctx context.Context, dir string, pins []string, out io.Writer) (place, error) {
	if err := Ensure(ctx, out, "python3", "python3", "python3-venv"); err != nil {
		return place{}, err
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		return place{}, err
	}
	venv := filepath.Join(dir, "venv")
	if err := run(ctx, dir, nil, python, "-m", "venv", venv); err != nil {
		return place{}, err
	}
	pip := filepath.Join(venv, venvBin(), "pip")
	if err := run(ctx, dir, nil, append([]string{pip, "install", "--disable-pip-version-check"}, pins...)...); err != nil {
		return place{}, fmt.Errorf("%w\nnext: check that pip can reach its index, then try again", err)
	}
	return place{Cache: venv}, nil
}

// venvBin returns the name of the directory with the executables of a virtual environment.
func venvBin() string {
	if runtime.GOOS == "windows" {
		return "Scripts"
	}
	return "bin"
}

// Programs returns the directories with node and with the executables of the servers of every check,
// for a PATH. It installs what is missing.
func Programs(ctx context.Context, out io.Writer) (dirs []string, err error) {
	for _, u := range []unit{npmUnit, serversUnit} {
		p, err := installed(ctx, u, out)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, filepath.Join(p.Modules, ".bin"), filepath.Dir(p.Node))
	}
	return dirs, nil
}
