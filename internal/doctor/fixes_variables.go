package doctor

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/trust"
)

// aliases returns the names that the same key is known by. Each line is one service: a key is never
// given to a different one.
var aliases = sync.OnceValue(func() [][]string {
	return [][]string{
		{"GITHUB_TOKEN", "GITHUB_PERSONAL_ACCESS_TOKEN", "GH_TOKEN", "GITHUB_PAT", "GITHUB_ACCESS_TOKEN", "GITHUB_API_TOKEN"},
		{"GITLAB_TOKEN", "GITLAB_PERSONAL_ACCESS_TOKEN", "GITLAB_ACCESS_TOKEN", "GITLAB_API_TOKEN"},
		{"OPENAI_API_KEY", "OPENAI_KEY", "OPENAI_APIKEY", "OPENAI_TOKEN"},
		{"ANTHROPIC_API_KEY", "CLAUDE_API_KEY", "ANTHROPIC_KEY"},
		{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "GOOGLE_GENAI_API_KEY", "GOOGLE_AI_API_KEY"},
		{"BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"},
		{"TAVILY_API_KEY", "TAVILY_KEY"},
		{"FIRECRAWL_API_KEY", "FIRECRAWL_KEY", "FIRECRAWL_TOKEN"},
		{"NOTION_API_KEY", "NOTION_TOKEN", "NOTION_API_TOKEN", "NOTION_INTEGRATION_TOKEN"},
		{"SLACK_BOT_TOKEN", "SLACK_TOKEN", "SLACK_MCP_BOT_TOKEN"},
		{"LINEAR_API_KEY", "LINEAR_API_TOKEN", "LINEAR_ACCESS_TOKEN"},
		{"FIGMA_API_KEY", "FIGMA_ACCESS_TOKEN", "FIGMA_TOKEN", "FIGMA_PERSONAL_ACCESS_TOKEN"},
		{"SENTRY_AUTH_TOKEN", "SENTRY_TOKEN", "SENTRY_ACCESS_TOKEN"},
		{"STRIPE_SECRET_KEY", "STRIPE_API_KEY"},
		{"SUPABASE_ACCESS_TOKEN", "SUPABASE_TOKEN"},
		{"CLOUDFLARE_API_TOKEN", "CF_API_TOKEN"},
		{"CLOUDFLARE_ACCOUNT_ID", "CF_ACCOUNT_ID"},
		{"HF_TOKEN", "HUGGINGFACE_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_API_KEY", "HUGGINGFACEHUB_API_TOKEN"},
		{"AWS_REGION", "AWS_DEFAULT_REGION"},
		{"DATABASE_URL", "DB_URL", "DATABASE_URI", "DB_CONNECTION_STRING", "DATABASE_CONNECTION_STRING"},
		{"POSTGRES_URL", "POSTGRESQL_URL", "POSTGRES_CONNECTION_STRING", "POSTGRES_DSN", "PG_URL", "DATABASE_URL"},
		{"MONGODB_URI", "MONGODB_URL", "MONGO_URI", "MONGO_URL", "MONGODB_CONNECTION_STRING", "MDB_MCP_CONNECTION_STRING"},
		{"REDIS_URL", "REDIS_URI"},
		{"JIRA_API_TOKEN", "JIRA_TOKEN", "ATLASSIAN_API_TOKEN"},
		{"AIRTABLE_API_KEY", "AIRTABLE_PAT", "AIRTABLE_TOKEN", "AIRTABLE_PERSONAL_ACCESS_TOKEN"},
		{"DISCORD_TOKEN", "DISCORD_BOT_TOKEN"},
		{"TELEGRAM_BOT_TOKEN", "TELEGRAM_TOKEN"},
		{"HUBSPOT_ACCESS_TOKEN", "HUBSPOT_API_KEY", "PRIVATE_APP_ACCESS_TOKEN"},
		{"PERPLEXITY_API_KEY", "PPLX_API_KEY"},
		{"GOOGLE_MAPS_API_KEY", "MAPS_API_KEY"},
	}
})

// loads reports whether a variable is known to decide what code runs, what it trusts or where it
// connects. No fix sets one, even from an allowed source; what may be set at all is decided by the
// source alone.
func loads(name string) bool {
	upper := strings.ToUpper(name)
	for _, prefix := range []string{"LD_", "DYLD_", "NODE_", "PYTHON", "NPM_CONFIG_", "PIP_", "UV_", "SSL_", "GIT_", "DOCKER_", "BUN_", "DENO_", "BASH_", "PERL5", "RUBY", "JAVA_TOOL", "JDK_JAVA", "_JAVA", "DOTNET_STARTUP", "COMPOSE_"} {
		if strings.HasPrefix(upper, prefix) {
			return true
		}
	}
	for _, ending := range []string{"_PROXY", "_BASE_URL", "_CA_BUNDLE", "_CA_CERTS"} {
		if strings.HasSuffix(upper, ending) {
			return true
		}
	}
	return slices.Contains([]string{"PATH", "ENV", "SHELL", "HOME", "IFS", "PROMPT_COMMAND", "PS1", "PS2", "PS4", "GCONV_PATH", "CLASSPATH", "PATHEXT", "COMSPEC", "CURL_CA_BUNDLE"}, upper)
}

// confidential reports whether a value must not be where others can read it.
func confidential(name, value string) bool {
	return value != "" && (redact.EnvironSecrets([]string{name + "=" + value}).Redact(value) != value || redact.Text(value) != value)
}

// source is where a value was found.
type source struct {
	value Hidden
	where string // for people
	from  trust.Source
}

// given looks up a variable in the environment that the server already has.
func (p *plan) given(name string) (source, bool) {
	v, ok := lookup(p.env, name, p.OS == "windows")
	return source{Hidden{v}, name + " in the server's environment", trust.Expansion}, ok && v != "" && !isPlaceholder(v)
}

// inFile looks up a variable in the .env files of one source.
func (p *plan) inFile(name string, from trust.Source) (source, bool) {
	for _, dir := range p.folders() {
		for _, file := range p.Dotenvs(dir) {
			if v, ok := file.Values[name]; ok && p.of(file.Path) == from {
				return source{v, name + " in " + p.quoted(file.Path), from}, true
			}
		}
	}
	return source{}, false
}

// outside looks up a variable where it is not the server's own: in the .env of a project and in
// gauze's environment.
func (p *plan) outside(name string) (source, bool) {
	if s, ok := p.inFile(name, trust.Project); ok {
		return s, true
	}
	v, ok := p.Env(name)
	return source{Hidden{v}, name + " in gauze's own environment", trust.Environment}, ok && v != "" && !isPlaceholder(v)
}

// found looks up a variable by its name, then by its aliases: first where it is the server's own,
// then elsewhere.
func (p *plan) found(name string) (source, bool) {
	own := func(name string) (source, bool) {
		if s, ok := p.given(name); ok {
			return s, true
		}
		return p.inFile(name, trust.OwnFolder)
	}
	names := []string{name}
	for _, service := range aliases() {
		if slices.Contains(service, name) {
			names = append(names, service...)
		}
	}
	for _, look := range []func(string) (source, bool){own, p.outside} {
		for _, name := range names {
			if s, ok := look(name); ok {
				return s, true
			}
		}
	}
	return source{}, false
}

// wanted returns the variable that the evidence says is missing. Other variables in the evidence are
// foreign text.
func (p *plan) wanted() []string {
	name := p.said["variable"]
	v, _ := lookup(p.env, name, p.OS == "windows")
	if !isVariable(name) || loads(name) || v != "" && !isPlaceholder(v) {
		return nil
	}
	return []string{name}
}

// findVariable gives the server the variables that it lacks, from where they are set.
func findVariable(p *plan) []Fix {
	if p.spec.URL != "" || p.containerRun() >= 0 {
		return nil
	}
	names := p.wanted()
	f := filling{plan: p}
	values := map[string]Hidden{}
	for _, name := range names {
		if s, ok := p.found(name); ok {
			values[name] = s.value
			f.note(name, s.where, s.from)
		}
	}
	if len(values) == 0 {
		return p.provide(names)
	}
	list := strings.Join(f.names, ", ")
	return []Fix{{Name: "set " + strings.Join(f.names, " "), Origins: starts(f.sources...),
		About: fmt.Sprintf("sets %s for the server (value from %s)", list, strings.Join(f.from, ", ")),
		Next:  f.next(fmt.Sprintf(`set %s under "env" in the server's entry.`, list)),
		Apply: func(s launch.Spec) launch.Spec {
			s = copied(s)
			for name, v := range values {
				s.Env = set(s.Env, name, v.Reveal(), p.OS == "windows")
			}
			return s
		}}}
}

// provide asks a person for a value that was not found.
func (p *plan) provide(names []string) []Fix {
	if len(names) == 0 {
		return nil
	}
	return []Fix{{Name: "provide " + names[0], Risk: Secret, About: names[0] + " is not set anywhere that gauze may read",
		Next: fmt.Sprintf(`Get a value for %s and set it under "env" in the server's entry.`, names[0])}}
}

// argumentToVariable moves NAME=value from the arguments to the environment.
func argumentToVariable(p *plan) []Fix {
	name := p.said["variable"]
	given := func(word string) bool { return strings.HasPrefix(strings.TrimLeft(word, "-"), name+"=") }
	if !isVariable(name) || loads(name) || p.containerRun() >= 0 || !slices.ContainsFunc(p.spec.Args, given) {
		return nil
	}
	return []Fix{{Name: "argument-to-variable " + name, Origins: starts(trust.Entry), About: "passes " + name + " as a variable, because the server does not read it from its arguments",
		Next: fmt.Sprintf(`Move %s from "args" to "env" in the server's entry.`, name),
		Apply: func(s launch.Spec) launch.Spec {
			s = copied(s)
			for _, word := range s.Args {
				if given(word) {
					_, v, _ := strings.Cut(word, "=")
					s.Env = set(s.Env, name, v, p.OS == "windows")
				}
			}
			s.Args = slices.DeleteFunc(s.Args, given)
			return s
		}}}
}

// startInProject starts the server in the directory of its own program, where its .env is. It does
// nothing if there are relative arguments, because their meaning would change.
func startInProject(p *plan) []Fix {
	relative := func(word string) bool {
		return !filepath.IsAbs(word) && !strings.HasPrefix(word, "-") && strings.ContainsAny(word, `./\`)
	}
	if p.spec.Dir != "" || p.spec.URL != "" || p.containerRun() >= 0 || slices.ContainsFunc(p.spec.Args, relative) {
		return nil
	}
	own := p.own()
	if own == "" {
		return nil
	}
	for _, dir := range p.upwards(own) {
		if isFile(filepath.Join(dir, ".env")) {
			return []Fix{{Name: "start-in " + dir, Origins: starts(p.of(filepath.Join(dir, ".env"))), About: "starts the server in its own directory, where its .env is: " + p.quoted(dir),
				Next: "Set the working directory in the server's entry: `\"cwd\": \"" + p.quoted(dir) + "\"`",
				Apply: func(s launch.Spec) launch.Spec {
					s.Dir = dir
					return copied(s)
				}}}
		}
	}
	return nil
}
