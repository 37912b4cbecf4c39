package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/trust"
)

// runnerFamilies are the runners that start packages of the same registry.
var runnerFamilies = [][][]string{
	{{"npx", "-y"}, {"bunx"}, {"pnpm", "dlx"}, {"yarn", "dlx"}},
	{{"uvx"}, {"uv", "tool", "run"}, {"pipx", "run"}},
}

// siblingRunner starts a package without the missing runner: with its program if that is installed, or
// with a different runner for the same registry. It changes what runs, so a person decides, and a
// runner that would download the package is only suggested.
func siblingRunner(p *plan) []Fix {
	missing := p.missing()
	if len(p.Find(missing, p.env)) > 0 {
		return nil
	}
	if name := p.bareCommand(missing); name != "" {
		return p.asPackage(name)
	}
	words, ok := packageWords(p.spec.Command, p.spec.Args)
	if !ok || program(p.spec.Command) != missing {
		return nil
	}
	name := words[0]
	if found := p.Find(withoutVersion(name), p.env); !strings.Contains(name, "/") && len(found) > 0 {
		fixes := p.suggest(missing, fmt.Sprintf("%s is not installed, but a program named %s is: %s", missing, withoutVersion(name), p.quoted(found[0])),
			append([]string{found[0]}, words[1:]...))
		fixes[0].Asks, fixes[0].Guess, fixes[0].Origins = true, true, starts(trust.Entry, trust.Machine)
		fixes[0].Apply = func(s launch.Spec) launch.Spec {
			s = copied(s)
			s.Command, s.Args = found[0], slices.Clone(words[1:])
			return s
		}
		return fixes
	}
	for _, family := range runnerFamilies {
		if !slices.ContainsFunc(family, func(runner []string) bool { return runner[0] == missing }) {
			continue
		}
		for _, runner := range family {
			if runner[0] == missing || len(p.Find(runner[0], p.env)) == 0 {
				continue
			}
			return p.suggest(missing, fmt.Sprintf("%s is not installed, but %s is, which starts the same packages", missing, runner[0]),
				slices.Concat(runner, words))
		}
	}
	return nil
}

// suggest proposes a different command line for the same server.
func (p *plan) suggest(missing, about string, words []string) []Fix {
	line := shown(p.c.Secrets, p.typing().Line(words...))
	return []Fix{{Name: "sibling " + missing, Risk: Config, About: about, Next: "Start the server with this command instead: `" + line + "`"}}
}

// packageWords returns the package that a runner starts and its arguments. It returns false if the
// runner has options that a different one may not have.
func packageWords(command string, args []string) (words []string, ok bool) {
	switch program(command) {
	case "npx", "bunx", "uvx":
	default:
		return nil, false
	}
	for len(args) > 0 && (args[0] == "-y" || args[0] == "--yes") {
		args = args[1:]
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || !plainWord.MatchString(args[0]) {
		return nil, false
	}
	return args, true
}

// bareCommand returns the missing program if it is the server's command and is named like a package
// of a server: a plain name with "mcp" in it, neither a path nor a runner.
func (p *plan) bareCommand(missing string) string {
	if missing != p.spec.Command || !strings.Contains(missing, "mcp") || wellKnown(missing) || productOf(missing) != nil || isPath(missing) || strings.ContainsAny(missing, " @/") || !plainWord.MatchString(missing) {
		return ""
	}
	return missing
}

// asPackage suggests to start a missing program as a package. Only the server's documentation says
// whose package it is.
func (p *plan) asPackage(name string) []Fix {
	var ways []string
	if len(p.Find("npx", p.env)) > 0 {
		ways = append(ways, fmt.Sprintf(`for an npm package, set "command" to "npx" and put "-y", "%s" at the start of "args"`, name))
	}
	if len(p.Find("uvx", p.env)) > 0 {
		ways = append(ways, fmt.Sprintf(`for a Python package, set "command" to "uvx" and put "%s" at the start of "args"`, name))
	}
	if len(ways) == 0 {
		return nil
	}
	return []Fix{{Name: "sibling " + name, Risk: Config, About: "no program named " + name + " is installed",
		Next: "Check the program's name, or install " + name + " as the server's documentation says. If the documentation names a package " + name + ", a runner can start it: " + strings.Join(ways, "; ") + "."}}
}
