package doctor

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/plaintext"
	"github.com/gauze-mcp/gauze/internal/redact"
)

// The well-known servers of each registry. A package that does not exist is compared with them and
// with the user's own entries only: any other similar name may be a trap.
var (
	npmServers = []string{
		"@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-filesystem", "@modelcontextprotocol/server-memory", "@modelcontextprotocol/server-sequential-thinking",
		"@modelcontextprotocol/server-github", "@modelcontextprotocol/server-postgres", "@modelcontextprotocol/server-slack", "@modelcontextprotocol/server-puppeteer",
		"@modelcontextprotocol/inspector", "@azure/mcp", "@brave/brave-search-mcp-server", "@browserbasehq/mcp", "@hubspot/mcp-server", "@notionhq/notion-mcp-server",
		"@playwright/mcp", "@sentry/mcp-server", "@stripe/mcp", "@supabase/mcp-server-supabase", "@upstash/context7-mcp", "@wonderwhy-er/desktop-commander",
		"chrome-devtools-mcp", "exa-mcp-server", "figma-developer-mcp", "firecrawl-mcp", "mcp-remote", "mcp-server-kubernetes", "mongodb-mcp-server", "tavily-mcp",
	}
	pypiServers = []string{
		"mcp-server-fetch", "mcp-server-git", "mcp-server-time", "mcp-server-sqlite", "mcp-server-docker", "mcp-server-qdrant", "mcp-atlassian", "arxiv-mcp-server",
		"awslabs.aws-documentation-mcp-server", "awslabs.core-mcp-server", "duckduckgo-mcp-server", "elevenlabs-mcp", "excel-mcp-server", "markitdown-mcp", "postgres-mcp", "redis-mcp-server",
	}
)

// similarPackage suggests the package whose name was misspelt. It changes what runs, so a person
// decides.
func similarPackage(p *plan) []Fix {
	typed := packageOf(p.spec)
	known := p.packages()
	at := slices.IndexFunc(known, func(name string) bool { return meansPackage(withoutVersion(typed), name) })
	if typed == "" || at < 0 {
		return nil
	}
	words := append([]string{p.spec.Command}, p.spec.Args...)
	words[slices.Index(words, typed)] = known[at] + strings.TrimPrefix(typed, withoutVersion(typed))
	line := shown(p.c.Secrets, p.typing().Line(redact.MaskWords(words)...))
	return []Fix{{Name: "package " + known[at], Risk: Config, About: "the registry has no package " + p.quoted(typed) + ", but " + p.quoted(known[at]) + " is similar",
		Next: "Look up the exact name in the server's own documentation. If you meant " + p.quoted(known[at]) + ", start it instead: `" + line + "`"}}
}

// packages returns the names that a package of the entry's registry may have been meant by: those of
// other entries, then the well-known ones.
func (p *plan) packages() (names []string) {
	known, family := npmServers, runnerFamilies[0]
	if strings.HasPrefix(p.runner(), "uv") || p.runner() == "pipx" {
		known, family = pypiServers, runnerFamilies[1]
	}
	for _, entry := range p.Entries {
		runner := (&plan{spec: entry}).runner()
		if slices.ContainsFunc(family, func(one []string) bool { return one[0] == runner }) {
			names = append(names, withoutVersion(packageOf(entry)))
		}
	}
	return append(names, known...)
}

// packageOf returns the package that an entry's runner starts, or "".
func packageOf(s launch.Spec) string {
	return (&exam{Case: Case{Command: append([]string{s.Command}, s.Args...)}}).packageName()
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
