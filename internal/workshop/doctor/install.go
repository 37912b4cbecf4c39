package doctor

import (
	"path/filepath"
	"slices"
	"strings"
)

// product is what a person installs to get a program.
type product struct {
	name     string
	programs []string // that it contains
	by       []string // commands that install it, best first; each needs its first word
	byHand   string   // what to do without them, as a sentence
}

var products = []product{
	{"Node.js", []string{"node", "npx", "npm"}, []string{"winget install OpenJS.NodeJS.LTS", "brew install node"},
		"Install Node.js from https://nodejs.org or with your package manager."},
	{"uv", []string{"uv", "uvx"}, []string{"winget install astral-sh.uv", "brew install uv", "pipx install uv", "pip install uv",
		"pip3 install uv"}, "Install uv: see https://docs.astral.sh/uv/getting-started/installation/ for instructions."},
	{"Python", []string{"python", "python3", "pip", "pip3"}, []string{"winget install Python.Python.3.13", "brew install python"},
		"Install python3 with your package manager."},
	{"Docker", []string{"docker"}, []string{"winget install Docker.DockerDesktop", "brew install --cask docker"},
		"Install Docker: see https://docs.docker.com/engine/install/ for instructions."},
	{"Bun", []string{"bun", "bunx"}, []string{"winget install Oven-sh.Bun", "brew install oven-sh/bun/bun", "npm install -g bun"},
		"Install Bun: see https://bun.sh/docs/installation for instructions."},
	{"Deno", []string{"deno"}, []string{"winget install DenoLand.Deno", "brew install deno", "npm install -g deno"},
		"Install Deno: see https://docs.deno.com/runtime/getting_started/installation/ for instructions."},
	{"Git", []string{"git"}, []string{"winget install Git.Git", "brew install git"}, "Install git with your package manager."},
}

// productOf returns the product that contains a program, or nil if it is not known.
func productOf(program string) *product {
	i := slices.IndexFunc(products, func(p product) bool { return slices.Contains(p.programs, program) })
	if i < 0 {
		return nil
	}
	return &products[i]
}

// installation returns how to install a program with what this machine has, or "" if that is not
// known.
func (m *Machine) installation(program string) string {
	p := productOf(program)
	if p == nil {
		return ""
	}
	for _, command := range p.by {
		if installer, _, _ := strings.Cut(command, " "); m.installs(installer) {
			return "Install " + p.name + ": `" + command + "`"
		}
	}
	return p.byHand
}

// installs reports whether an installer is on this machine and may be used. Many systems forbid pip to
// install into their own Python.
func (m *Machine) installs(installer string) bool {
	if installer == "winget" {
		return m.OS == "windows" // it is part of the system
	}
	found := m.Find(installer, nil)
	if len(found) == 0 {
		return false
	}
	if strings.HasPrefix(installer, "pip") && installer != "pipx" {
		managed, _ := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(found[0])), "lib", "python3*", "EXTERNALLY-MANAGED"))
		return len(managed) == 0
	}
	return true
}
