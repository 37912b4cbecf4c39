package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// runnerFamilies are the runners that start packages of the same registry.
var runnerFamilies = [][][]string{
	{{"npx", "-y"}, {"bunx"}, {"pnpm", "dlx"}, {"yarn", "dlx"}},
	{{"uvx"}, {"uv", "tool", "run"}, {"pipx", "run"}},
}

// misspeltRunner suggests the installed runner whose name differs from the missing program's by one
// letter, or by the order of two. It changes what runs, so a person decides.
func misspeltRunner(p *plan) []Fix {
	missing := p.missing()
	if program(p.spec.Command) != missing || len(p.m.Find(missing, p.env)) > 0 {
		return nil
	}
	near := slices.DeleteFunc(runnersLike(missing), func(name string) bool { return len(p.m.Find(name, p.env)) == 0 })
	if len(near) == 0 {
		return nil
	}
	next := "Did you mean " + strings.Join(near, " or ") + "?"
	if len(near) == 1 {
		line := p.m.typing().Line(redact.MaskWords(append(near, p.spec.Args...))...)
		next += " Start the server with this command instead: `" + shown(p.c.Secrets, line) + "`"
	}
	return []Fix{{Name: "runner " + missing, Risk: Config, Next: next,
		About: p.server().quoted(missing) + " may be a misspelling of " + strings.Join(near, " or ")}}
}

// runnersLike returns the known programs that start servers and have almost the given name.
func runnersLike(name string) (near []string) {
	const minLen, maxLen = 3, 10 // almost any two letters are near "uv"
	if len(name) < minLen || len(name) > maxLen || wellKnown(name) {
		return nil
	}
	for _, known := range slices.Concat(launch.Runners(), runtimes, []string{"python"}) {
		if len(known) >= minLen && plaintext.Typos(name, known) == 1 {
			near = append(near, known)
		}
	}
	return near
}

// siblingRunner starts a package without the missing runner: with its program if that is installed, or
// with a different runner for the same registry. It changes what runs, so a person decides, and a
// runner that would download the package is only suggested.
func siblingRunner(p *plan) []Fix {
	missing := p.missing()
	if len(p.m.Find(missing, p.env)) > 0 {
		return nil
	}
	if name := p.server().bareCommand(missing); name != "" {
		return p.server().asPackage(name)
	}
	words, ok := packageWords(p.spec.Command, p.spec.Args)
	if !ok || program(p.spec.Command) != missing {
		return nil
	}
	name := words[0]
	if found := p.m.Find(withoutVersion(name), p.env); !strings.Contains(name, "/") && len(found) > 0 {
		fixes := p.server().suggest(missing, fmt.Sprintf("%s is not installed, but a program named %s is: %s", missing, withoutVersion(name),
			p.server().quoted(found[0])),
			append([]string{found[0]}, words[1:]...))
		fixes[0].Asks, fixes[0].Guess, fixes[0].Origins = true, true, starts(trust.Entry, trust.Machine)
		fixes[0].Apply = changed(func(s *launch.Spec) {
			s.Command, s.Args = found[0], slices.Clone(words[1:])
		})
		return fixes
	}
	for _, family := range runnerFamilies {
		if !slices.ContainsFunc(family, func(runner []string) bool { return runner[0] == missing }) {
			continue
		}
		for _, runner := range family {
			if runner[0] == missing || len(p.m.Find(runner[0], p.env)) == 0 {
				continue
			}
			return p.server().suggest(missing, fmt.Sprintf("%s is not installed, but %s is, and it can start the same packages", missing, runner[0]),
				slices.Concat(runner, words))
		}
	}
	return nil
}

// suggest proposes a different command line for the same server.
func (srv server) suggest(missing, about string, words []string) []Fix {
	line := shown(srv.secrets, srv.m.typing().Line(words...))
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
func (srv server) bareCommand(missing string) string {
	if missing != srv.spec.Command || !strings.Contains(missing, "mcp") || wellKnown(missing) || productOf(missing) != nil ||
		isPath(missing) || strings.ContainsAny(missing, " @/") || !plainWord.MatchString(missing) {
		return ""
	}
	return missing
}

// asPackage suggests to start a missing program as a package. Only the server's documentation says
// whose package it is.
func (srv server) asPackage(name string) []Fix {
	var ways []string
	if len(srv.m.Find("npx", srv.env)) > 0 {
		ways = append(ways, fmt.Sprintf(`for an npm package, set "command" to "npx" and put "-y", "%s" at the start of "args"`, name))
	}
	if len(srv.m.Find("uvx", srv.env)) > 0 {
		ways = append(ways, fmt.Sprintf(`for a Python package, set "command" to "uvx" and put "%s" at the start of "args"`, name))
	}
	if len(ways) == 0 {
		return nil
	}
	return []Fix{{Name: "sibling " + name, Risk: Config, About: "no program named " + name + " is installed",
		Next: "Check the program's name, or install " + name + " as the server's documentation describes. " +
			"If the documentation mentions a package named " + name + ", start it with a package runner: " + strings.Join(ways, "; ") + "."}}
}

// The well-known servers of each registry. A package that does not exist is compared with them and
// with the user's own entries only: any other similar name may be a trap.
var (
	npmServers = []string{
		"@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-filesystem", "@modelcontextprotocol/server-memory",
		"@modelcontextprotocol/server-sequential-thinking",
		"@modelcontextprotocol/server-github", "@modelcontextprotocol/server-postgres", "@modelcontextprotocol/server-slack",
		"@modelcontextprotocol/server-puppeteer",
		"@modelcontextprotocol/inspector", "@azure/mcp", "@brave/brave-search-mcp-server", "@browserbasehq/mcp", "@hubspot/mcp-server",
		"@notionhq/notion-mcp-server",
		"@playwright/mcp", "@sentry/mcp-server", "@stripe/mcp", "@supabase/mcp-server-supabase", "@upstash/context7-mcp",
		"@wonderwhy-er/desktop-commander",
		"chrome-devtools-mcp", "exa-mcp-server", "figma-developer-mcp", "firecrawl-mcp", "mcp-remote", "mcp-server-kubernetes",
		"mongodb-mcp-server", "tavily-mcp",
	}
	pypiServers = []string{
		"mcp-server-fetch", "mcp-server-git", "mcp-server-time", "mcp-server-sqlite", "mcp-server-docker", "mcp-server-qdrant",
		"mcp-atlassian", "arxiv-mcp-server",
		"awslabs.aws-documentation-mcp-server", "awslabs.core-mcp-server", "duckduckgo-mcp-server", "elevenlabs-mcp", "excel-mcp-server",
		"markitdown-mcp", "postgres-mcp", "redis-mcp-server",
	}
)

// similarPackage suggests the package whose name was misspelt. It changes what runs, so a person
// decides.
func similarPackage(p *plan) []Fix {
	typed := commandOf(p.spec).packageName()
	known := p.server().packages()
	at := slices.IndexFunc(known, func(name string) bool { return meansPackage(withoutVersion(typed), name) })
	if typed == "" || at < 0 {
		return nil
	}
	words := append([]string{p.spec.Command}, p.spec.Args...)
	words[slices.Index(words, typed)] = known[at] + strings.TrimPrefix(typed, withoutVersion(typed))
	line := shown(p.c.Secrets, p.m.typing().Line(redact.MaskWords(words)...))
	return []Fix{{Name: "package " + known[at], Risk: Config,
		About: p.server().quoted(typed) + " is not in the registry, but " + p.server().quoted(known[at]) + " has a similar name",
		Next: "Look up the exact name in the server's own documentation. If you meant " + p.server().quoted(known[at]) +
			", use that name: `" + line + "`"}}
}

// packages returns the names that a package of the entry's registry may have been meant by: those of
// other entries, then the well-known ones.
func (srv server) packages() (names []string) {
	known, family := npmServers, runnerFamilies[0]
	if strings.HasPrefix(srv.runner(), "uv") || srv.runner() == "pipx" {
		known, family = pypiServers, runnerFamilies[1]
	}
	for _, entry := range srv.m.Entries {
		runner := commandOf(entry).runner()
		if slices.ContainsFunc(family, func(one []string) bool { return one[0] == runner }) {
			names = append(names, withoutVersion(commandOf(entry).packageName()))
		}
	}
	return append(names, known...)
}

// meansPackage reports whether a name is likely a misspelling of a package, or lacks its scope.
func meansPackage(typed, name string) bool {
	if typed == name {
		return false
	}
	if _, bare, scoped := strings.Cut(name, "/"); scoped && !strings.Contains(typed, "/") && typed == bare {
		return len(bare) > len("mcp-server")
	}
	return plaintext.Misspells(typed, name)
}
