package installed

import (
	"cmp"

	"github.com/gauze-mcp/gauze/internal/text/shell"
)

// Upgrade returns the command that upgrades this installation to a version, by default the latest. It
// returns "" for Download, which gauze upgrade replaces itself, for Bundle, which its client installs, and for packages of distributions, which
// are upgraded by installing the file of the new version. A gauze in a cache is run again, and then replaces its copy.
func (i Installation) Upgrade(version string) string {
	latest := cmp.Or(version, "latest")
	npm := i.quoted("gauze-mcp@" + latest)
	pypi := "gauze-mcp"
	if version != "" {
		pypi = i.quoted("gauze-mcp==" + version)
	}
	switch i.Channel {
	case NPM:
		return i.in("npm install " + i.global("-g") + npm)
	case PNPM:
		return i.in("pnpm add " + i.global("-g") + npm)
	case Bun:
		return i.in("bun add " + i.global("-g") + npm)
	case Yarn:
		return i.in("yarn " + i.global("global") + "add " + npm)
	case NPX:
		return "npx -y " + npm + replaceCopy(version)
	case PNPMDlx:
		return "pnpm dlx " + npm + replaceCopy(version)
	case Bunx:
		return "bunx " + npm + replaceCopy(version)
	case Pip:
		if i.target {
			pypi = "--target " + i.quoted(i.dir) + " " + pypi
		}
		return i.pip("install --upgrade "+pypi, "install --upgrade "+pypi)
	case UV:
		if version != "" {
			return "uv tool install --force " + pypi
		}
		return "uv tool upgrade gauze-mcp"
	case UVX:
		return "uvx " + npm + replaceCopy(version)
	case Pipx:
		if version != "" {
			return "pipx install --force " + pypi
		}
		return "pipx upgrade gauze-mcp"
	case PipxRun:
		return "pipx run --no-cache " + pypi + replaceCopy(version)
	case Brew:
		return "brew upgrade " + i.quoted(i.name)
	case Scoop:
		return "scoop update " + i.quoted(i.name)
	case Winget:
		return "winget upgrade --id " + i.quoted(i.name)
	case Image:
		return "docker pull ghcr.io/gauze-mcp/gauze:" + latest
	case Go:
		if version != "" {
			latest = "v" + version
		}
		return "go install github.com/gauze-mcp/gauze/cmd/gauze@" + latest
	case Clone:
		return i.shell().Then("git pull", "go build -o "+i.quoted(i.Path)+" ./cmd/gauze")
	}
	return ""
}

// replaceCopy returns the words with which a gauze in a cache replaces its copy: an older one, or any if the
// user chose the version.
func replaceCopy(version string) string {
	if version == "" {
		return " upgrade"
	}
	return " upgrade --version " + version
}

// Uninstall returns the command that uninstalls this installation. It returns "" if there is nothing to
// run, because it is only in a cache or its client deletes it.
func (i Installation) Uninstall() string {
	switch i.Channel {
	case NPM:
		return i.in("npm uninstall " + i.global("-g") + "gauze-mcp")
	case PNPM:
		return i.in("pnpm remove " + i.global("-g") + "gauze-mcp")
	case Bun:
		return i.in("bun remove " + i.global("-g") + "gauze-mcp")
	case Yarn:
		return i.in("yarn " + i.global("global") + "remove gauze-mcp")
	case Pip:
		if i.target { // which pip does not uninstall from
			return System{OS: i.os}.Delete(i.Path)
		}
		return i.pip("uninstall --yes gauze-mcp", "uninstall gauze-mcp")
	case UV:
		return "uv tool uninstall gauze-mcp"
	case Pipx:
		return "pipx uninstall gauze-mcp"
	case Brew:
		return "brew uninstall " + i.quoted(i.name)
	case Scoop:
		return "scoop uninstall " + i.quoted(i.name)
	case Winget:
		return "winget uninstall --id " + i.quoted(i.name)
	case Deb:
		return "sudo apt-get remove gauze"
	case RPM:
		return "sudo rpm --erase gauze"
	case APK:
		return "sudo apk del gauze"
	case Arch:
		return "sudo pacman -R gauze"
	case Go, Download, Clone:
		return System{OS: i.os}.Delete(i.Path)
	case Image:
		return "docker image rm ghcr.io/gauze-mcp/gauze"
	}
	return ""
}

// Delete returns the command that deletes a file.
func (s System) Delete(file string) string {
	command := "rm "
	if s.OS == "windows" {
		command = "del "
	}
	return command + shell.For(s.OS).Quote(file)
}

// global returns the word for an installation that is not of one project.
func (i Installation) global(word string) string {
	if i.local {
		return ""
	}
	return word + " "
}

// in returns a command that runs in the directory of the project, if gauze is installed in one.
func (i Installation) in(command string) string {
	if !i.local {
		return command
	}
	return i.shell().Then("cd "+i.quoted(i.dir), command)
}

// pip returns a command of pip, or of uv in its place.
func (i Installation) pip(command, ofUV string) string {
	if i.byUV {
		return "uv pip " + ofUV + " --python " + i.quoted(i.name)
	}
	program := i.quoted(i.name)
	if i.os == "windows" && program != i.name {
		program = "& " + program // PowerShell takes quotes for a string
	}
	return program + " -m pip " + command
}

func (i Installation) shell() shell.Words { return shell.For(i.os) }

func (i Installation) quoted(word string) string { return i.shell().Quote(word) }
