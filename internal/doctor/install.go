package doctor

// product is what a person installs to get a program.
type product struct {
	name                   string
	darwin, windows, other string // how it is installed there
}

var (
	nodeJS  = &product{"Node.js", "brew install node", "winget install OpenJS.NodeJS.LTS", "install Node.js from https://nodejs.org or with your package manager"}
	uv      = &product{"uv", "brew install uv", "winget install astral-sh.uv", "pipx install uv"}
	python3 = &product{"Python", "brew install python", "winget install Python.Python.3.13", "install python3 with your package manager"}
	docker  = &product{"Docker", "brew install --cask docker", "winget install Docker.DockerDesktop", "install Docker: https://docs.docker.com/engine/install/"}
	bun     = &product{"Bun", "brew install oven-sh/bun/bun", "winget install Oven-sh.Bun", "npm install -g bun"}
	deno    = &product{"Deno", "brew install deno", "winget install DenoLand.Deno", "npm install -g deno"}
	git     = &product{"Git", "brew install git", "winget install Git.Git", "install git with your package manager"}
)

// productOf returns what brings a program along, or nil if that is not known.
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

// installer returns the one command that installs a program on a platform, or
// nothing if it is not known.
func installer(goos, program string) string {
	p := productOf(program)
	switch {
	case p == nil:
		return ""
	case goos == "darwin":
		return p.darwin
	case goos == "windows":
		return p.windows
	}
	return p.other
}
