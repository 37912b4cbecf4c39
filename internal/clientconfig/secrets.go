package clientconfig

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/splice"
)

// Secrets are the values of an entry that no output shows: every variable and
// every header, what a flag promises to be one, what an address carries. They
// are meant as they are used and as they are written: a diff shows the file.
func (e Entry) Secrets() fault.Secrets {
	s := secretValues{values: slices.Clone(e.referred)}
	own := e.Variables()
	for _, pair := range e.Spec.Env {
		name, value, _ := strings.Cut(pair, "=")
		if fault.NamesSecret(name, value) || slices.Contains(own, name) && !strings.HasPrefix(value, "/") {
			s.add(value)
		}
	}
	for _, h := range e.Spec.Header {
		s.add(h.Value)
	}
	s.flags(append([]string{e.Spec.Command}, e.Spec.Args...))
	s.address(e.Spec.URL)
	if e.Inner != nil {
		s.address(e.Inner.URL)
	}
	for _, name := range []string{e.fields.Env, e.fields.Headers, "env", "headers", "http_headers"} {
		if m, ok := member(e.node, name); ok {
			s.written(m)
		}
	}
	s.values = slices.DeleteFunc(s.values, e.seen)
	if args, ok := member(e.node, e.fields.Args); ok {
		s.flags(append([]string{e.Spec.Command}, words(args)...))
		if line, ok := text(args); ok { // which is wrong, and happens
			s.flags(append([]string{e.Spec.Command}, strings.Fields(line)...))
		}
	}
	s.address(e.url())
	return fault.KnownSecrets(s.values...)
}

// seen are values that whoever agrees to a change has to see: what decides
// which programs are found is no secret.
func (e Entry) seen(value string) bool {
	path, ok := e.Variable("PATH")
	return ok && value == path
}

type secretValues struct{ values []string }

func (s *secretValues) add(value string) {
	s.values = append(s.values, value)
	if _, rest, ok := strings.Cut(value, " "); ok {
		s.values = append(s.values, rest) // Bearer, Basic
	}
	for line := range strings.Lines(value) { // a diff shows one at a time
		s.values = append(s.values, strings.TrimSpace(line))
	}
}

// written takes every text below a node, as it is meant and as it is spelled.
func (s *secretValues) written(n splice.Node) {
	switch n.Kind() {
	case splice.MapKind:
		for _, value := range n.Members() {
			s.written(value)
		}
	case splice.ListKind:
		for _, value := range n.Items() {
			s.written(value)
		}
	case splice.StringKind:
		value, _ := text(n)
		s.add(value)
		s.add(strings.Trim(n.Raw(), `"'`))
	}
}

// flags takes --token VALUE, --token=VALUE, NAME_KEY=VALUE, a header in an
// argument, and addresses. What may be a command is none of these, whatever
// stands before it: who agrees to run something has to see it whole.
func (s *secretValues) flags(words []string) {
	started := slices.IndexFunc(words, func(word string) bool { return !strings.HasPrefix(word, "-") && !launches(word) })
	for i, word := range words {
		name, value, joined := strings.Cut(word, "=")
		name = strings.TrimLeft(name, "-")
		header, inHeader, isHeader := strings.Cut(word, ":")
		switch {
		case joined && fault.NamesSecret(name, value) && !commands(value):
			s.add(value)
		case joined && i > 0 && (words[i-1] == "-e" || words[i-1] == "--env") && len(value) > 7 && !commands(value):
			s.add(value) // of a container, and so a variable's
		case isHeader && i > 0 && (words[i-1] == "-u" || words[i-1] == "--user"):
			s.add(inHeader) // name:password
		case isHeader && (fault.NamesSecret(header, inHeader) || strings.EqualFold(header, "authorization")):
			s.add(strings.TrimSpace(inHeader))
		case !joined && strings.HasPrefix(word, "-") && i+1 < len(words) && i+1 != started && fault.NamesSecret(name, words[i+1]) && !commands(words[i+1]):
			s.add(words[i+1])
		case i > 0 && isHeader && (words[i-1] == "--header" || words[i-1] == "-H"):
			s.add(strings.TrimSpace(inHeader))
		}
		if at := strings.Index(word, "://"); at > 0 {
			s.address(word[strings.LastIndexAny(word[:at], "= '\"")+1:])
		}
	}
}

// launches: a program that runs what its first word without a dash names.
func launches(word string) bool {
	name := strings.TrimSuffix(strings.ToLower(path.Base(strings.ReplaceAll(word, `\`, "/"))), ".exe")
	return slices.Contains([]string{"npx", "uvx", "bunx", "pnpx", "pipx", "npm", "pnpm", "yarn", "uv", "node", "bun", "deno", "python", "python3", "sh", "bash", "zsh", "cmd",
		"docker", "podman", "run", "exec", "x", "dlx", "tool", "gauze"}, strings.TrimSuffix(name, ".cmd"))
}

// commands: a value with blanks or signs of a shell, or the path of a file.
func commands(value string) bool {
	return strings.ContainsAny(value, " \t\n;|&<>`$(){}") || strings.HasPrefix(value, "/") || strings.HasPrefix(value, "./") || strings.HasPrefix(value, "~")
}

// address takes the password and the values of the query: some servers take
// their key there.
func (s *secretValues) address(text string) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return
	}
	if password, ok := u.User.Password(); ok {
		s.add(password)
	}
	for _, values := range u.Query() {
		for _, value := range values {
			s.add(value)
		}
	}
}
