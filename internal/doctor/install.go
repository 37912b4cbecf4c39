package doctor

import "strings"

// product is what a person installs to get a program. How it is installed on a platform is a
// command, or a sentence that starts with "Install".
type product struct {
	name                   string
	darwin, windows, other string
}

var (
	nodeJS  = &product{"Node.js", "brew install node", "winget install OpenJS.NodeJS.LTS", "Install Node.js from https://nodejs.org or with your package manager."}
	uv      = &product{"uv", "brew install uv", "winget install astral-sh.uv", "pipx install uv"}
	python3 = &product{"Python", "brew install python", "winget install Python.Python.3.13", "Install python3 with your package manager."}
	docker  = &product{"Docker", "brew install --cask docker", "winget install Docker.DockerDesktop", "Install Docker: see https://docs.docker.com/engine/install/ for instructions."}
	bun     = &product{"Bun", "brew install oven-sh/bun/bun", "winget install Oven-sh.Bun", "npm install -g bun"}
	deno    = &product{"Deno", "brew install deno", "winget install DenoLand.Deno", "npm install -g deno"}
	git     = &product{"Git", "brew install git", "winget install Git.Git", "Install git with your package manager."}
)

// productOf returns the product that contains a program, or nil if it is not known.
func productOf(program string) *product {
	switch program {
	case "node", "npx", "npm":
		return nodeJS
	case "uv", "uvx":
		return uv
	case "python", "python3", "pip", "pip3":
		return python3
	case "docker":
		return docker
	case "bun", "bunx":
		return bun
	case "deno":
		return deno
	case "git":
		return git
	}
	return nil
}

// installation returns how to install a program on a platform, or "" if it is not known.
func installation(goos, program string) string {
	p := productOf(program)
	if p == nil {
		return ""
	}
	how := p.other
	switch goos {
	case "darwin":
		how = p.darwin
	case "windows":
		how = p.windows
	}
	if strings.HasPrefix(how, "Install ") {
		return how
	}
	return "Install " + p.name + ": `" + how + "`"
}
