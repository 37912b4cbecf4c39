package installed

import "testing"

// A file of the current directory does not decide what installed gauze.
func TestAToolDirectoryMustBeAbsolute(t *testing.T) {
	t.Parallel()
	receipt := `entrypoints = [{ name = "gauze", install-path = "/home/me/bin/gauze", from = "gauze-mcp" }]`
	for _, tt := range []struct {
		os, dir string
		env     map[string]string
	}{
		{"linux", "gauze-mcp", nil},
		{"linux", "/uv/tools/gauze-mcp", nil},
		{"linux", "/.local/share/uv/tools/gauze-mcp", nil},
		{"linux", "tools/gauze-mcp", map[string]string{"UV_TOOL_DIR": "tools"}},
		{"linux", "data/uv/tools/gauze-mcp", map[string]string{"XDG_DATA_HOME": "data"}},
		{"windows", "/uv/data/tools/gauze-mcp", nil},
		{"windows", "/tools/gauze-mcp", map[string]string{"UV_TOOL_DIR": `\tools`}},
		{"windows", "C:tools/gauze-mcp", map[string]string{"UV_TOOL_DIR": `C:tools`}},
	} {
		s := System{OS: tt.os, Disk: tree{tt.dir + "/uv-receipt.toml": receipt, "/home/me/bin/gauze": native}, Env: func(name string) string { return tt.env[name] }}
		if got := s.Find("/home/me/bin/gauze", released); got.Channel != Download {
			t.Errorf("%s, %s, %v: %s", tt.os, tt.dir, tt.env, got.Channel)
		}
	}
	s := System{OS: "linux", Disk: tree{"/tools/gauze-mcp/uv-receipt.toml": receipt, "/home/me/bin/gauze": native}, Env: func(name string) string {
		return map[string]string{"UV_TOOL_DIR": "/tools"}[name]
	}}
	if got := s.Find("/home/me/bin/gauze", released); got.Channel != UV {
		t.Errorf("an absolute directory of uv: %s", got.Channel)
	}
}

const (
	pnpmGlobal = "/home/me/.local/share/pnpm/global/5"
	inPNPM     = "/.pnpm/@gauze-mcp+cli-linux-x64@1.2.3/node_modules/@gauze-mcp/cli-linux-x64"
	unplugged  = "/srv/app/.yarn/unplugged/@gauze-mcp-cli-linux-x64-npm-1.2.3-0a1b2c/node_modules/@gauze-mcp/cli-linux-x64"
)

func init() {
	installations = append(installations, unusual...)
}

// unusual are installations whose directories have versions, or names that other tools use.
var unusual = []installation{
	{
		name: "pnpm 10, global", build: released,
		tree: tree{
			pnpmGlobal + "/package.json":                                "{}",
			pnpmGlobal + "/node_modules/.modules.yaml":                  "",
			pnpmGlobal + inPNPM + "/package.json":                       platform,
			pnpmGlobal + inPNPM + "/bin/gauze":                          native,
			pnpmGlobal + "/.pnpm/node_modules/@gauze-mcp/cli-linux-x64": "-> ../../@gauze-mcp+cli-linux-x64@1.2.3/node_modules/@gauze-mcp/cli-linux-x64",
		},
		path: pnpmGlobal + inPNPM + "/bin/gauze", stable: pnpmGlobal + "/.pnpm/node_modules/@gauze-mcp/cli-linux-x64/bin/gauze",
		channel: PNPM, upgrade: "pnpm add -g gauze-mcp@latest", uninstall: "pnpm remove -g gauze-mcp",
	},
	{
		name: "pnpm 10, global, without a link", build: released,
		tree:    tree{pnpmGlobal + inPNPM + "/package.json": platform, pnpmGlobal + inPNPM + "/bin/gauze": native},
		path:    pnpmGlobal + inPNPM + "/bin/gauze",
		channel: PNPM, cached: true, upgrade: "pnpm add -g gauze-mcp@latest", uninstall: "pnpm remove -g gauze-mcp",
	},
	{
		name: "Yarn without node_modules", build: released,
		tree: tree{
			"/srv/app/yarn.lock": "", "/srv/app/package.json": "{}",
			unplugged + "/package.json": platform, unplugged + "/bin/gauze": native,
		},
		path:    unplugged + "/bin/gauze",
		channel: Yarn, cached: true, upgrade: "cd /srv/app && yarn add gauze-mcp@latest", uninstall: "cd /srv/app && yarn remove gauze-mcp",
	},
	{
		name: "npm, where an unknown tool names the version", build: released,
		tree: tree{"/opt/tool/1.2.3/node_modules/gauze-mcp/package.json": mainPackage, "/opt/tool/1.2.3/node_modules/gauze-mcp/bin/gauze": native},
		path: "/opt/tool/1.2.3/node_modules/gauze-mcp/bin/gauze", channel: NPM, cached: true,
		upgrade: "npm install -g gauze-mcp@latest", uninstall: "npm uninstall -g gauze-mcp",
	},
	ofProject("/home/me/links/app"), ofProject("/home/me/dlx-2/app"), ofProject("/home/me/bunx-1/app"), ofProject("/home/me/_npx/my-app"), ofProject("/home/me/.pnpm/app"),
	{
		name: "pip, in an environment in a directory named like uv's", build: released,
		tree:    wheel("/home/me/builds-v2/venv", "python3.11", "pip\n", tree{"/home/me/builds-v2/venv/bin/python3": native}),
		path:    "/home/me/builds-v2/venv/bin/gauze",
		channel: Pip, upgrade: "/home/me/builds-v2/venv/bin/python3 -m pip install --upgrade gauze-mcp", uninstall: "/home/me/builds-v2/venv/bin/python3 -m pip uninstall --yes gauze-mcp",
	},
	{
		name: "pip --target", build: released,
		tree: tree{
			"/srv/python/my libs/bin/gauze":                           native,
			"/srv/python/my libs/gauze_mcp-1.2.3.dist-info/INSTALLER": "pip\n",
			"/srv/python/my libs/gauze_mcp-1.2.3.dist-info/RECORD":    "../../bin/gauze,sha256=qDso,1675426\ngauze_mcp-1.2.3.dist-info/INSTALLER,,\n",
		},
		path:    "/srv/python/my libs/bin/gauze",
		channel: Pip, upgrade: "python3 -m pip install --upgrade --target '/srv/python/my libs' gauze-mcp", uninstall: "rm '/srv/python/my libs/bin/gauze'",
	},
}

// ofProject is a project with npm's package.
func ofProject(dir string) installation {
	modules := dir + "/node_modules/gauze-mcp"
	return installation{
		name: "npm, in " + dir, build: released,
		tree: tree{dir + "/package.json": `{"name":"app"}`, modules + "/package.json": mainPackage, modules + "/bin/gauze": native},
		path: modules + "/bin/gauze", channel: NPM,
		upgrade: "cd " + dir + " && npm install gauze-mcp@latest", uninstall: "cd " + dir + " && npm uninstall gauze-mcp",
	}
}
