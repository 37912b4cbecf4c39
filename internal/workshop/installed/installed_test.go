package installed

import (
	"runtime/debug"
	"strings"
	"testing"
)

var (
	released = BuildOf("1.2.3", "f5d6dca4", "2026-11-18T00:00:00Z", nil)
	fromGo   = BuildOf("dev", "", "", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3", Sum: "h1:abc="}})
	cloned   = BuildOf("dev", "", "", &debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20261118001702-f5d6dca4bfe7"}})
)

const (
	mainPackage = `{"name":"gauze-mcp","version":"1.2.3"}`
	platform    = `{"name":"@gauze-mcp/cli-linux-x64","version":"1.2.3"}`
	native      = "\x7fELF"
)

// wheel returns the files that an installer of Python makes of our wheel.
func wheel(base, python, installer string, more tree) tree {
	info := base + "/lib/" + python + "/site-packages/gauze_mcp-1.2.3.dist-info/"
	t := tree{
		base + "/bin/gauze":     native,
		base + "/bin/gauze-mcp": native,
		info + "RECORD":         "../../../bin/gauze,sha256=qDso,1675426\n../../../bin/gauze-mcp,sha256=qDso,1675426\ngauze_mcp-1.2.3.dist-info/RECORD,,\n",
		info + "INSTALLER":      installer,
	}
	for name, content := range more {
		t[name] = content
	}
	return t
}

// installation is one gauze on a disk.
type installation struct {
	name      string
	os        string // default linux
	tree      tree
	env       map[string]string
	path      string
	build     Build
	channel   Channel
	stable    string // default: path
	cached    bool
	upgrade   string
	uninstall string
}

// The trees are what the tools really make: npm 11, pnpm 12, bun 1, uv, pipx and pip, each run with a
// package of ours; brew, scoop, winget as their documentation says.
var installations = []installation{
	{
		name: "npm, global", build: released,
		tree: tree{
			"/usr/lib/node_modules/gauze-mcp/package.json": mainPackage,
			"/usr/lib/node_modules/gauze-mcp/bin/gauze":    native,
			"/usr/bin/gauze": "-> ../lib/node_modules/gauze-mcp/bin/gauze",
		},
		path: "/usr/bin/gauze", stable: "/usr/lib/node_modules/gauze-mcp/bin/gauze",
		channel: NPM, upgrade: "npm install -g gauze-mcp@latest", uninstall: "npm uninstall -g gauze-mcp",
	},
	{
		name: "a bundle", build: released,
		tree: tree{
			"/home/me/.config/Claude/Claude Extensions/gauze/manifest.json":      `{"manifest_version":"0.3","name":"gauze"}`,
			"/home/me/.config/Claude/Claude Extensions/gauze/server/linux/gauze": native,
		},
		path:    "/home/me/.config/Claude/Claude Extensions/gauze/server/linux/gauze",
		channel: Bundle, cached: true,
	},
	{
		name: "a program beside another manifest", build: released,
		tree: tree{
			"/opt/x/manifest.json":      `{"manifest_version":"0.3","name":"other"}`,
			"/opt/x/server/linux/gauze": native,
		},
		path:    "/opt/x/server/linux/gauze",
		channel: Download, uninstall: "rm /opt/x/server/linux/gauze",
	},
	{
		name: "npm, global, without scripts, of a Node with a version", build: released,
		tree: tree{
			"/home/me/.nvm/versions/node/v20.20.2/lib/node_modules/gauze-mcp/package.json":                                       mainPackage,
			"/home/me/.nvm/versions/node/v20.20.2/lib/node_modules/gauze-mcp/node_modules/@gauze-mcp/cli-linux-x64/package.json": platform,
			"/home/me/.nvm/versions/node/v20.20.2/lib/node_modules/gauze-mcp/node_modules/@gauze-mcp/cli-linux-x64/bin/gauze":    native,
		},
		path:    "/home/me/.nvm/versions/node/v20.20.2/lib/node_modules/gauze-mcp/node_modules/@gauze-mcp/cli-linux-x64/bin/gauze",
		channel: NPM, upgrade: "npm install -g gauze-mcp@latest", uninstall: "npm uninstall -g gauze-mcp",
	},
	{
		name: "npm, global, Windows", os: "windows", build: released,
		tree: tree{
			"C:/Users/me/AppData/Roaming/npm/node_modules/gauze-mcp/package.json":  mainPackage,
			"C:/Users/me/AppData/Roaming/npm/node_modules/gauze-mcp/bin/gauze.exe": native,
		},
		path:    `C:\Users\me\AppData\Roaming\npm\node_modules\gauze-mcp\bin\gauze.exe`,
		channel: NPM, upgrade: "npm install -g gauze-mcp@latest", uninstall: "npm uninstall -g gauze-mcp",
	},
	{
		name: "npm, of a project", build: released,
		tree: tree{
			"/home/me/my app/package.json":                        `{"name":"app"}`,
			"/home/me/my app/node_modules/gauze-mcp/package.json": mainPackage,
			"/home/me/my app/node_modules/gauze-mcp/bin/gauze":    native,
		},
		path:    "/home/me/my app/node_modules/gauze-mcp/bin/gauze",
		channel: NPM, upgrade: "cd '/home/me/my app' && npm install gauze-mcp@latest", uninstall: "cd '/home/me/my app' && npm uninstall gauze-mcp",
	},
	{
		name: "a package of another name with a gauze in it", build: released,
		tree: tree{
			"/home/me/app/package.json":                              `{"name":"app"}`,
			"/home/me/app/node_modules/gauze-helper/package.json":    `{"name":"gauze-helper"}`,
			"/home/me/app/node_modules/gauze-helper/bin/linux/gauze": native,
		},
		path:    "/home/me/app/node_modules/gauze-helper/bin/linux/gauze",
		channel: Download, uninstall: "rm /home/me/app/node_modules/gauze-helper/bin/linux/gauze",
	},
	{
		name: "npx", build: released,
		tree: tree{
			"/home/me/.npm/_npx/ee51356bfb7ec452/package.json":                        `{"dependencies":{"gauze-mcp":"^1.2.3"},"_npx":{"packages":["gauze-mcp"]}}`,
			"/home/me/.npm/_npx/ee51356bfb7ec452/node_modules/gauze-mcp/package.json": mainPackage,
			"/home/me/.npm/_npx/ee51356bfb7ec452/node_modules/gauze-mcp/bin/gauze":    native,
		},
		path:    "/home/me/.npm/_npx/ee51356bfb7ec452/node_modules/gauze-mcp/bin/gauze",
		channel: NPX, cached: true, upgrade: "npx -y gauze-mcp@latest upgrade",
	},
	{
		name: "pnpm dlx", build: released,
		tree: tree{
			"/home/me/.cache/pnpm/dlx/578160ac/mwlohpqq-era/node_modules/.modules.yaml":                                             "",
			"/home/me/.cache/pnpm/dlx/578160ac/mwlohpqq-era/node_modules/.pnpm/gauze-mcp@1.2.3/node_modules/gauze-mcp/package.json": mainPackage,
			"/home/me/.cache/pnpm/dlx/578160ac/mwlohpqq-era/node_modules/.pnpm/gauze-mcp@1.2.3/node_modules/gauze-mcp/bin/gauze":    native,
		},
		path:    "/home/me/.cache/pnpm/dlx/578160ac/mwlohpqq-era/node_modules/.pnpm/gauze-mcp@1.2.3/node_modules/gauze-mcp/bin/gauze",
		channel: PNPMDlx, cached: true, upgrade: "pnpm dlx gauze-mcp@latest upgrade",
	},
	{
		name: "pnpm, global, in its store", build: released,
		tree: tree{
			"/home/me/.local/share/pnpm/store/v11/links/@gauze-mcp/cli-linux-x64/1.2.3/e34ea45b/node_modules/@gauze-mcp/cli-linux-x64/package.json": platform,
			"/home/me/.local/share/pnpm/store/v11/links/@gauze-mcp/cli-linux-x64/1.2.3/e34ea45b/node_modules/@gauze-mcp/cli-linux-x64/bin/gauze":    native,
		},
		path:    "/home/me/.local/share/pnpm/store/v11/links/@gauze-mcp/cli-linux-x64/1.2.3/e34ea45b/node_modules/@gauze-mcp/cli-linux-x64/bin/gauze",
		channel: PNPM, cached: true, upgrade: "pnpm add -g gauze-mcp@latest", uninstall: "pnpm remove -g gauze-mcp",
	},
	{
		name: "pnpm, of a project", build: released,
		tree: tree{
			"/srv/app/package.json":               `{"name":"app"}`,
			"/srv/app/node_modules/gauze-mcp":     "-> .pnpm/gauze-mcp@1.2.3/node_modules/gauze-mcp",
			"/srv/app/node_modules/.modules.yaml": "",
			"/srv/app/node_modules/.pnpm/gauze-mcp@1.2.3/node_modules/gauze-mcp/package.json": mainPackage,
			"/srv/app/node_modules/.pnpm/gauze-mcp@1.2.3/node_modules/gauze-mcp/bin/gauze":    native,
		},
		path: "/srv/app/node_modules/gauze-mcp/bin/gauze", stable: "/srv/app/node_modules/gauze-mcp/bin/gauze",
		channel: PNPM, upgrade: "cd /srv/app && pnpm add gauze-mcp@latest", uninstall: "cd /srv/app && pnpm remove gauze-mcp",
	},
	{
		name: "bunx", build: released,
		tree: tree{
			"/home/me/.bun/install/cache/.bunx-0/gauze-mcp@latest/bun.lock":                                           "",
			"/home/me/.bun/install/cache/.bunx-0/gauze-mcp@latest/node_modules/@gauze-mcp/cli-linux-x64/package.json": platform,
			"/home/me/.bun/install/cache/.bunx-0/gauze-mcp@latest/node_modules/@gauze-mcp/cli-linux-x64/bin/gauze":    native,
		},
		path:    "/home/me/.bun/install/cache/.bunx-0/gauze-mcp@latest/node_modules/@gauze-mcp/cli-linux-x64/bin/gauze",
		channel: Bunx, cached: true, upgrade: "bunx gauze-mcp@latest upgrade",
	},
	{
		name: "bun, global", build: released,
		tree: tree{
			"/home/me/.bun/install/global/bun.lock":                                           "",
			"/home/me/.bun/install/global/package.json":                                       "{}",
			"/home/me/.bun/install/global/node_modules/@gauze-mcp/cli-linux-x64/package.json": platform,
			"/home/me/.bun/install/global/node_modules/@gauze-mcp/cli-linux-x64/bin/gauze":    native,
		},
		path:    "/home/me/.bun/install/global/node_modules/@gauze-mcp/cli-linux-x64/bin/gauze",
		channel: Bun, upgrade: "bun add -g gauze-mcp@latest", uninstall: "bun remove -g gauze-mcp",
	},
	{
		name: "yarn, global", build: released,
		tree: tree{
			"/home/me/.config/yarn/global/yarn.lock":                           "",
			"/home/me/.config/yarn/global/package.json":                        "{}",
			"/home/me/.config/yarn/global/node_modules/gauze-mcp/package.json": mainPackage,
			"/home/me/.config/yarn/global/node_modules/gauze-mcp/bin/gauze":    native,
		},
		path:    "/home/me/.config/yarn/global/node_modules/gauze-mcp/bin/gauze",
		channel: Yarn, upgrade: "yarn global add gauze-mcp@latest", uninstall: "yarn global remove gauze-mcp",
	},
	{
		name: "uv tool", build: released,
		tree: wheel("/home/me/.local/share/uv/tools/gauze-mcp", "python3.11", "uv", tree{
			"/home/me/.local/share/uv/tools/gauze-mcp/uv-receipt.toml": "[tool]",
			"/home/me/.local/bin/gauze":                                "-> /home/me/.local/share/uv/tools/gauze-mcp/bin/gauze",
		}),
		path: "/home/me/.local/bin/gauze", stable: "/home/me/.local/share/uv/tools/gauze-mcp/bin/gauze",
		channel: UV, upgrade: "uv tool upgrade gauze-mcp", uninstall: "uv tool uninstall gauze-mcp",
	},
	{
		name: "uv tool, copied on Windows", os: "windows", build: released, env: map[string]string{"APPDATA": `C:\Users\me\AppData\Roaming`},
		tree: tree{
			"C:/Users/me/AppData/Roaming/uv/tools/gauze-mcp/uv-receipt.toml": `[tool]
entrypoints = [{ name = "gauze", install-path = "C:\\Users\\me\\.local\\bin\\gauze.exe", from = "gauze-mcp" }]`,
			"C:/Users/me/.local/bin/gauze.exe": native,
		},
		path:    `C:\Users\me\.local\bin\gauze.exe`,
		channel: UV, upgrade: "uv tool upgrade gauze-mcp", uninstall: "uv tool uninstall gauze-mcp",
	},
	{
		name: "uvx, by its other name", build: released,
		tree: wheel("/home/me/.cache/uv/archive-v0/eZV6183o7S4yO-7R", "python3.11", "uv", tree{"/home/me/.cache/uv/CACHEDIR.TAG": ""}),
		path: "/home/me/.cache/uv/archive-v0/eZV6183o7S4yO-7R/bin/gauze-mcp", stable: "/home/me/.cache/uv/archive-v0/eZV6183o7S4yO-7R/bin/gauze",
		channel: UVX, cached: true, upgrade: "uvx gauze-mcp@latest upgrade",
	},
	{
		name: "pipx", build: released,
		tree: wheel("/home/me/.local/share/pipx/venvs/gauze-mcp", "python3.11", "pip\n", tree{
			"/home/me/.local/share/pipx/venvs/gauze-mcp/pipx_metadata.json": "{}",
		}),
		path:    "/home/me/.local/share/pipx/venvs/gauze-mcp/bin/gauze",
		channel: Pipx, upgrade: "pipx upgrade gauze-mcp", uninstall: "pipx uninstall gauze-mcp",
	},
	{
		name: "pip, by its other name", build: released,
		tree: wheel("/usr/local", "python3.11", "pip\n", nil),
		path: "/usr/local/bin/gauze-mcp", stable: "/usr/local/bin/gauze",
		channel: Pip, upgrade: "python3.11 -m pip install --upgrade gauze-mcp", uninstall: "python3.11 -m pip uninstall --yes gauze-mcp",
	},
	{
		name: "pipx run", build: released,
		tree: wheel("/home/me/.cache/pipx/23fe18f1fc10e84", "python3.11", "uv", tree{
			"/home/me/.cache/pipx/23fe18f1fc10e84/pipx_metadata.json": "{}",
		}),
		path:    "/home/me/.cache/pipx/23fe18f1fc10e84/bin/gauze",
		channel: PipxRun, cached: true, upgrade: "pipx run --no-cache gauze-mcp upgrade",
	},
	{
		name: "pip, in an environment", build: released,
		tree: wheel("/home/me/venv", "python3.11", "pip\n", tree{
			"/home/me/venv/pyvenv.cfg": "", "/home/me/venv/bin/python3": native,
		}),
		path:    "/home/me/venv/bin/gauze",
		channel: Pip, upgrade: "/home/me/venv/bin/python3 -m pip install --upgrade gauze-mcp", uninstall: "/home/me/venv/bin/python3 -m pip uninstall --yes gauze-mcp",
	},
	{
		name: "uv pip, in an environment", build: released,
		tree: wheel("/home/me/venv", "python3.12", "uv", tree{
			"/home/me/venv/pyvenv.cfg": "", "/home/me/venv/bin/python3": native,
		}),
		path:    "/home/me/venv/bin/gauze",
		channel: Pip, upgrade: "uv pip install --upgrade gauze-mcp --python /home/me/venv/bin/python3", uninstall: "uv pip uninstall gauze-mcp --python /home/me/venv/bin/python3",
	},
	{
		name: "pip, of the user", build: released,
		tree:    wheel("/home/me/.local", "python3.11", "pip\n", nil),
		path:    "/home/me/.local/bin/gauze",
		channel: Pip, upgrade: "python3.11 -m pip install --upgrade gauze-mcp", uninstall: "python3.11 -m pip uninstall --yes gauze-mcp",
	},
	{
		name: "pip, Windows", os: "windows", build: released,
		tree: tree{
			"C:/my env/Scripts/gauze.exe":                                     native,
			"C:/my env/Scripts/python.exe":                                    native,
			"C:/my env/Lib/site-packages/gauze_mcp-1.2.3.dist-info/RECORD":    "../../Scripts/gauze.exe,sha256=qDso,1675426\n",
			"C:/my env/Lib/site-packages/gauze_mcp-1.2.3.dist-info/INSTALLER": "pip\n",
		},
		path:    `C:\my env\Scripts\gauze.exe`,
		channel: Pip, upgrade: `& "C:\my env\Scripts\python.exe" -m pip install --upgrade gauze-mcp`, uninstall: `& "C:\my env\Scripts\python.exe" -m pip uninstall --yes gauze-mcp`,
	},
	{
		name: "a download beside a wheel that does not name it", build: released,
		tree: tree{
			"/home/me/.local/bin/gauze": native,
			"/home/me/.local/lib/python3.11/site-packages/gauze_mcp-1.2.3.dist-info/RECORD": "../../../../elsewhere/bin/gauze,sha256=qDso,1675426\n",
		},
		path:    "/home/me/.local/bin/gauze",
		channel: Download, uninstall: "rm /home/me/.local/bin/gauze",
	},
	{
		name: "Homebrew on macOS", os: "darwin", build: released,
		tree: tree{
			"/opt/homebrew/Cellar/gauze/1.2.3/bin/gauze":            native,
			"/opt/homebrew/Cellar/gauze/1.2.3/INSTALL_RECEIPT.json": "{}",
			"/opt/homebrew/bin/gauze":                               "-> ../Cellar/gauze/1.2.3/bin/gauze",
			"/opt/homebrew/opt/gauze":                               "-> ../Cellar/gauze/1.2.3",
		},
		path: "/opt/homebrew/bin/gauze", stable: "/opt/homebrew/bin/gauze",
		channel: Brew, upgrade: "brew upgrade gauze", uninstall: "brew uninstall gauze",
	},
	{
		name: "Homebrew on Linux, not linked", build: released,
		tree: tree{
			"/home/linuxbrew/.linuxbrew/Cellar/gauze/1.2.3/bin/gauze":            native,
			"/home/linuxbrew/.linuxbrew/Cellar/gauze/1.2.3/INSTALL_RECEIPT.json": "{}",
			"/home/linuxbrew/.linuxbrew/opt/gauze":                               "-> ../Cellar/gauze/1.2.3",
		},
		path: "/home/linuxbrew/.linuxbrew/Cellar/gauze/1.2.3/bin/gauze", stable: "/home/linuxbrew/.linuxbrew/opt/gauze/bin/gauze",
		channel: Brew, upgrade: "brew upgrade gauze", uninstall: "brew uninstall gauze",
	},
	{
		name: "Scoop", os: "windows", build: released,
		tree: tree{
			"C:/Users/me/scoop/apps/gauze/1.2.3/gauze.exe":     native,
			"C:/Users/me/scoop/apps/gauze/1.2.3/install.json":  "{}",
			"C:/Users/me/scoop/apps/gauze/1.2.3/manifest.json": "{}",
			"C:/Users/me/scoop/apps/gauze/current":             "-> C:/Users/me/scoop/apps/gauze/1.2.3",
		},
		path: `C:\Users\me\scoop\apps\gauze\1.2.3\gauze.exe`, stable: `C:\Users\me\scoop\apps\gauze\current\gauze.exe`,
		channel: Scoop, upgrade: "scoop update gauze", uninstall: "scoop uninstall gauze",
	},
	{
		name: "winget", os: "windows", build: released,
		tree: tree{
			"C:/Users/me/AppData/Local/Microsoft/WinGet/Packages/GauzeMCP.Gauze_Microsoft.Winget.Source_8wekyb3d8bbwe/gauze.exe": native,
			"C:/Users/me/AppData/Local/Microsoft/WinGet/Links/gauze.exe":                                                         "-> C:/Users/me/AppData/Local/Microsoft/WinGet/Packages/GauzeMCP.Gauze_Microsoft.Winget.Source_8wekyb3d8bbwe/gauze.exe",
		},
		path:    `C:\Users\me\AppData\Local\Microsoft\WinGet\Packages\GauzeMCP.Gauze_Microsoft.Winget.Source_8wekyb3d8bbwe\gauze.exe`,
		stable:  `C:\Users\me\AppData\Local\Microsoft\WinGet\Links\gauze.exe`,
		channel: Winget, upgrade: "winget upgrade --id GauzeMCP.Gauze", uninstall: "winget uninstall --id GauzeMCP.Gauze",
	},
	{
		name: "deb, where /bin is a link", build: released,
		tree: tree{"/usr/bin/gauze": native, "/bin": "-> usr/bin", "/usr/share/gauze/channel": "deb\n"},
		path: "/bin/gauze", stable: "/usr/bin/gauze",
		channel: Deb, uninstall: "sudo apt-get remove gauze",
	},
	{
		name: "rpm", build: released, tree: tree{"/usr/bin/gauze": native, "/usr/share/gauze/channel": "rpm\n"},
		path: "/usr/bin/gauze", channel: RPM, uninstall: "sudo rpm --erase gauze",
	},
	{
		name: "apk", build: released, tree: tree{"/usr/bin/gauze": native, "/usr/share/gauze/channel": "apk\n"},
		path: "/usr/bin/gauze", channel: APK, uninstall: "sudo apk del gauze",
	},
	{
		name: "Arch", build: released, tree: tree{"/usr/bin/gauze": native, "/usr/share/gauze/channel": "arch\n"},
		path: "/usr/bin/gauze", channel: Arch, uninstall: "sudo pacman -R gauze",
	},
	{
		name: "a download beside a deb", build: released,
		tree: tree{"/usr/bin/gauze": native, "/usr/share/gauze/channel": "deb\n", "/usr/local/bin/gauze": native},
		path: "/usr/local/bin/gauze", channel: Download, uninstall: "rm /usr/local/bin/gauze",
	},
	{
		name: "image", build: released, tree: tree{"/gauze": native, "/usr/share/gauze/channel": "image\n"},
		path: "/gauze", channel: Image, upgrade: "docker pull ghcr.io/gauze-mcp/gauze:latest", uninstall: "docker image rm ghcr.io/gauze-mcp/gauze",
	},
	{
		name: "an unknown word in the package's file", build: released, tree: tree{"/usr/bin/gauze": native, "/usr/share/gauze/channel": "nix\n"},
		path: "/usr/bin/gauze", channel: Download, uninstall: "rm /usr/bin/gauze",
	},
	{
		name: "go install", build: fromGo, tree: tree{"/home/me/go/bin/gauze": native},
		path: "/home/me/go/bin/gauze", channel: Go,
		upgrade: "go install github.com/gauze-mcp/gauze/cmd/gauze@latest", uninstall: "rm /home/me/go/bin/gauze",
	},
	{
		name: "go run", build: fromGo, tree: tree{"/home/me/.cache/go-build/ab/abcdef-d/gauze": native},
		path: "/home/me/.cache/go-build/ab/abcdef-d/gauze", channel: Go, cached: true,
		upgrade: "go install github.com/gauze-mcp/gauze/cmd/gauze@latest", uninstall: "rm /home/me/.cache/go-build/ab/abcdef-d/gauze",
	},
	{
		name: "a clone", build: cloned, tree: tree{"/home/me/src/gauze/gauze": native},
		path: "/home/me/src/gauze/gauze", channel: Clone,
		upgrade: "git pull && go build -o /home/me/src/gauze/gauze ./cmd/gauze", uninstall: "rm /home/me/src/gauze/gauze",
	},
	{
		name: "a download with its version in the path, linked", build: released,
		env: map[string]string{"PATH": "relative:/opt/gauze-1.2.3/bin:/usr/local/bin:/usr/bin"},
		tree: tree{
			"/opt/gauze-1.2.3/bin/gauze": native, "/usr/local/bin/gauze": "-> /opt/gauze-1.2.3/bin/gauze", "/usr/bin/gauze": native,
		},
		path: "/opt/gauze-1.2.3/bin/gauze", stable: "/usr/local/bin/gauze",
		channel: Download, uninstall: "rm /opt/gauze-1.2.3/bin/gauze",
	},
	{
		name: "a download with its version in the path, not linked", build: released,
		env:  map[string]string{"PATH": "/usr/bin"},
		tree: tree{"/opt/gauze-1.2.3/bin/gauze": native, "/usr/bin/gauze": native},
		path: "/opt/gauze-1.2.3/bin/gauze", channel: Download, uninstall: "rm /opt/gauze-1.2.3/bin/gauze",
	},
	{
		name: "a download in a temporary directory", build: released, tree: tree{"/tmp/x/gauze": native},
		path: "/tmp/x/gauze", channel: Download, cached: true, uninstall: "rm /tmp/x/gauze",
	},
	{
		name: "a download in the temporary directory of macOS", os: "darwin", build: released,
		env:  map[string]string{"TMPDIR": "/var/folders/ab/T/"},
		tree: tree{"/private/var/folders/ab/T/gauze": native, "/var": "-> /private/var"},
		path: "/var/folders/ab/T/gauze", stable: "/private/var/folders/ab/T/gauze", channel: Download, cached: true, uninstall: "rm /private/var/folders/ab/T/gauze",
	},
	{
		name: "a download in the temporary directory of Windows", os: "windows", build: released,
		env:  map[string]string{"TEMP": `C:\Users\me\AppData\Local\Temp`},
		tree: tree{"C:/Users/me/AppData/Local/Temp/gauze.exe": native},
		path: `c:\users\me\appdata\local\temp\gauze.exe`, channel: Download, cached: true, uninstall: `del c:\users\me\appdata\local\temp\gauze.exe`,
	},
}

func TestEachChannelIsKnownByItsEvidence(t *testing.T) {
	t.Parallel()
	for _, tt := range installations {
		t.Run(tt.name, func(t *testing.T) {
			s := System{OS: tt.os, Disk: tt.tree, Env: func(name string) string { return tt.env[name] }}
			if s.OS == "" {
				s.OS = "linux"
			}
			if tt.stable == "" {
				tt.stable = tt.path
			}
			got := s.Find(tt.path, tt.build)
			if got.Channel != tt.channel || got.Stable != tt.stable || got.Cached != tt.cached {
				t.Errorf("%s, stable %s, cached %v; want %s, %s, %v", got.Channel, got.Stable, got.Cached, tt.channel, tt.stable, tt.cached)
			}
			if got.Upgrade("") != tt.upgrade || got.Uninstall() != tt.uninstall {
				t.Errorf("upgrade %q, uninstall %q; want %q, %q", got.Upgrade(""), got.Uninstall(), tt.upgrade, tt.uninstall)
			}
		})
	}
}

// Without the receipt of its tool, a binary is a download wherever it is.
func TestAPathAloneProvesNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range installations {
		if tt.channel == Winget || tt.channel == Download || tt.channel == Go || tt.channel == Clone {
			continue
		}
		s := System{OS: tt.os, Env: func(string) string { return "" }}
		if s.OS == "" {
			s.OS = "linux"
		}
		real, err := tt.tree.Real(s.slashed(tt.path))
		if err != nil {
			t.Fatal(tt.name, err)
		}
		s.Disk = tree{real: native}
		if got := s.Find(real, released); got.Channel != Download {
			t.Errorf("%s: %s by its path alone", tt.name, got.Channel)
		}
	}
}

func TestAnUpgradeToAVersionNamesIt(t *testing.T) {
	t.Parallel()
	for _, tt := range installations {
		s := System{OS: "linux", Disk: tt.tree, Env: func(string) string { return "" }}
		if tt.os != "" || tt.channel == Clone {
			continue
		}
		got := s.Find(tt.path, tt.build)
		named := strings.Contains(got.Upgrade("2.0.0"), "2.0.0")
		if want := tt.upgrade != "" && tt.channel != Brew; named != want {
			t.Errorf("%s: %q", tt.name, got.Upgrade("2.0.0"))
		}
	}
}
