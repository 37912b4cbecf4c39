package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Find returns the paths of a program: on the PATH of an environment, on gauze's own, on the login
// shell's, then in the directories of version managers and installers. The most likely comes first;
// each file comes once.
func (m *Machine) Find(name string, env []string) []string {
	if name == "" || strings.ContainsAny(name, `/\`) {
		return nil
	}
	given := value(env, "PATH", m.OS == "windows")
	return once(m, "find\n"+name+"\n"+given, func() []string {
		var found []string
		seen := map[string]bool{}
		look := func(dirs []string) {
			for _, dir := range dirs {
				real, err := filepath.EvalSymlinks(dir) // /bin is often /usr/bin
				if err != nil || !filepath.IsAbs(dir) || seen[real] {
					continue
				}
				seen[real] = true
				for _, file := range m.spellings(name) {
					if path := filepath.Join(dir, file); runnable(path) {
						found = append(found, path)
						break
					}
				}
			}
		}
		look(filepath.SplitList(given))
		look(filepath.SplitList(m.variable("PATH")))
		look(m.LoginPath())
		look(m.Places())
		return found
	})
}

// spellings returns the file names of a program: Windows needs an extension.
func (m *Machine) spellings(name string) []string {
	if m.OS != "windows" || strings.Contains(name, ".") {
		return []string{name}
	}
	return []string{name + ".exe", name + ".cmd", name + ".bat"}
}

// LoginPath returns the PATH of a login shell, which a person has in a terminal and a program
// started from a desktop does not.
func (m *Machine) LoginPath() []string {
	return once(m, "login", func() []string {
		shell := m.variable("SHELL")
		known := []string{"bash", "zsh", "fish", "sh", "dash", "ksh"}
		if m.OS == "windows" || !filepath.IsAbs(shell) || !slices.Contains(known, filepath.Base(shell)) || !runnable(shell) {
			return nil
		}
		env := []string{"HOME=" + m.Home, "SHELL=" + shell, "TERM=dumb"}
		for _, name := range []string{"USER", "LOGNAME", "LANG", "XDG_CONFIG_HOME"} {
			if value, ok := m.Env(name); ok {
				env = append(env, name+"="+value)
			}
		}
		ctx, cancel := m.inTime()
		defer cancel()
		said, err := m.Run(ctx, env, shell, "-lc", `printf %s "$PATH"`)
		if err != nil {
			return nil
		}
		lines := strings.Split(strings.TrimSpace(said), "\n") // a profile may print something first
		return filepath.SplitList(lines[len(lines)-1])
	})
}

// Places returns the existing directories that programs are installed in.
func (m *Machine) Places() []string {
	return once(m, "places", func() []string {
		var dirs []string
		for _, pattern := range m.placePatterns() {
			found, _ := filepath.Glob(pattern)
			slices.SortFunc(found, func(a, b string) int { return compareVersions(versionInPath(b), versionInPath(a)) }) // newest first
			for _, dir := range found {
				if isFolder(dir) && !slices.Contains(dirs, dir) {
					dirs = append(dirs, dir)
				}
			}
		}
		return dirs
	})
}

// placePatterns returns where installers and version managers put programs.
func (m *Machine) placePatterns() []string {
	home := func(parts ...string) string { return filepath.Join(append([]string{m.Home}, parts...)...) }
	under := func(name, otherwise string, parts ...string) string { // a directory that a variable may name
		base := otherwise
		if set := m.variable(name); filepath.IsAbs(set) {
			base = set
		}
		return filepath.Join(append([]string{base}, parts...)...)
	}
	if m.OS == "windows" {
		return []string{
			under("NVM_SYMLINK", m.system(`/Program Files/nodejs`)),
			under("ProgramFiles", m.system(`/Program Files`), "nodejs"),
			under("APPDATA", home("AppData", "Roaming"), "npm"),
			under("LOCALAPPDATA", home("AppData", "Local"), "Volta", "bin"),
			under("LOCALAPPDATA", home("AppData", "Local"), "fnm_multishells", "*"),
			under("APPDATA", home("AppData", "Roaming"), "fnm", "node-versions", "*", "installation"),
			under("APPDATA", home("AppData", "Roaming"), "nvm", "v*"),
			under("LOCALAPPDATA", home("AppData", "Local"), "Programs", "Python", "Python*"),
			under("LOCALAPPDATA", home("AppData", "Local"), "pnpm"),
			under("LOCALAPPDATA", home("AppData", "Local"), "mise", "shims"),
			under("LOCALAPPDATA", home("AppData", "Local"), "Microsoft", "WinGet", "Links"),
			home(".local", "bin"), home(".cargo", "bin"), home(".bun", "bin"), home(".deno", "bin"), home("scoop", "shims"),
			home(".pyenv", "pyenv-win", "versions", "*"),
			m.system(`/ProgramData/chocolatey/bin`), under("ProgramFiles", m.system(`/Program Files`), "Docker", "Docker", "resources", "bin"),
		}
	}
	places := []string{
		home(".local", "bin"),
		m.system("/opt/homebrew/bin"), m.system("/usr/local/bin"), m.system("/home/linuxbrew/.linuxbrew/bin"),
		under("NVM_BIN", home(".nvm", "current", "bin")),
		m.nvmDefault(),
		under("NVM_DIR", home(".nvm"), "versions", "node", "*", "bin"),
		under("FNM_DIR", home(".local", "share", "fnm"), "aliases", "default", "bin"),
		under("FNM_DIR", home(".local", "share", "fnm"), "node-versions", "*", "installation", "bin"),
		home("Library", "Application Support", "fnm", "node-versions", "*", "installation", "bin"),
		under("VOLTA_HOME", home(".volta"), "bin"),
		under("MISE_DATA_DIR", home(".local", "share", "mise"), "installs", "*", "latest", "bin"),
		under("MISE_DATA_DIR", home(".local", "share", "mise"), "installs", "*", "*", "bin"),
		under("MISE_DATA_DIR", home(".local", "share", "mise"), "shims"),
		under("ASDF_DATA_DIR", home(".asdf"), "installs", "*", "*", "bin"),
		under("ASDF_DATA_DIR", home(".asdf"), "shims"),
		under("PYENV_ROOT", home(".pyenv"), "versions", "*", "bin"),
		under("PYENV_ROOT", home(".pyenv"), "shims"),
		home(".local", "share", "uv", "python", "*", "bin"),
		home(".cargo", "bin"), under("BUN_INSTALL", home(".bun"), "bin"), under("DENO_INSTALL", home(".deno"), "bin"),
		under("PNPM_HOME", home(".local", "share", "pnpm")), home("Library", "pnpm"),
		home("go", "bin"), home("miniconda3", "bin"), home("anaconda3", "bin"), m.system("/opt/local/bin"), m.system("/snap/bin"),
		m.system("/Applications/Docker.app/Contents/Resources/bin"), home(".docker", "bin"), home(".orbstack", "bin"),
		m.system("/usr/bin"), m.system("/bin"),
	}
	if prefix := m.npmPrefix(); prefix != "" {
		places = append(places, filepath.Join(prefix, "bin"))
	}
	return places
}

// nvmDefault returns the directory of nvm's default version.
func (m *Machine) nvmDefault() string {
	dir := filepath.Join(m.Home, ".nvm")
	if set := m.variable("NVM_DIR"); filepath.IsAbs(set) {
		dir = set
	}
	text, err := os.ReadFile(filepath.Join(dir, "alias", "default"))
	alias := strings.TrimPrefix(strings.TrimSpace(string(text)), "v")
	if err != nil || len(versionIn(alias)) == 0 || strings.ContainsAny(alias, `/\*?[`) {
		return ""
	}
	return filepath.Join(dir, "versions", "node", "v"+alias+"*", "bin")
}

// npmPrefix returns the directory of npm's global packages if it was changed, or "".
func (m *Machine) npmPrefix() string {
	for _, name := range []string{"npm_config_prefix", "NPM_CONFIG_PREFIX"} {
		if prefix := m.variable(name); filepath.IsAbs(prefix) {
			return prefix
		}
	}
	text, _ := readSmall(filepath.Join(m.Home, ".npmrc"))
	for line := range strings.Lines(string(text)) {
		if name, prefix, ok := strings.Cut(line, "="); ok && strings.TrimSpace(name) == "prefix" {
			prefix = strings.Trim(strings.TrimSpace(prefix), `"'`)
			prefix = strings.NewReplacer("${HOME}", m.Home, "$HOME", m.Home).Replace(prefix)
			if rest, ok := strings.CutPrefix(prefix, "~/"); ok {
				prefix = filepath.Join(m.Home, rest)
			}
			if filepath.IsAbs(prefix) {
				return prefix
			}
		}
	}
	return ""
}
