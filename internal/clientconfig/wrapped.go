package clientconfig

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/launch"
)

// unwrapped returns the server behind gauze run, if the command is gauze run. variable looks up a
// variable that the entry does not set.
func unwrapped(s launch.Spec, variable func(string) (string, bool)) (bool, *launch.Spec) {
	if !isGauze(s.Command) || len(s.Args) < 2 || s.Args[0] != "run" {
		return false, nil
	}
	inner := s
	inner.Command, inner.Args = "", nil
	rest := withoutName(s.Args[1:])
	for i, word := range rest {
		switch {
		case word == "--" && i+1 < len(rest):
			inner.Command, inner.Args = rest[i+1], slices.Clone(rest[i+2:])
			return true, &inner
		case word == "--url" && i+1 < len(rest):
			env := environment{s.Env, variable}
			inner.URL, inner.Header, inner.Login = rest[i+1], env.headers(rest), env.login(rest)
			return true, &inner
		case i == 0 && !strings.HasPrefix(word, "-"):
			inner.Command, inner.Args = word, slices.Clone(rest[1:])
			return true, &inner
		}
	}
	return true, nil
}

// environment is that of a wrapped server: what its entry sets and what the client passes on.
type environment struct {
	set      []string
	variable func(string) (string, bool)
}

// lookup returns a variable. It always calls variable, which records that the entry uses it.
func (e environment) lookup(name string) (value string, ok bool) {
	inherited, passed := e.variable(name)
	for _, pair := range e.set {
		if v, is := strings.CutPrefix(pair, name+"="); is {
			value, ok = v, true
		}
	}
	if ok {
		return value, true
	}
	return inherited, passed
}

// values returns the values of a flag of gauze run, as FLAG VALUE or FLAG=VALUE.
func values(words []string, flag string) (all []string) {
	for i, word := range words {
		if word == flag && i+1 < len(words) {
			all = append(all, words[i+1])
		} else if value, ok := strings.CutPrefix(word, flag+"="); ok {
			all = append(all, value)
		}
	}
	return all
}

// headers returns the headers that --header-env names.
func (e environment) headers(words []string) (all []launch.Header) {
	for _, text := range values(words, "--header-env") {
		if h, err := launch.HeaderFromEnv(text, e.lookup); err == nil && h.Value != "" {
			all = append(all, h)
		}
	}
	return all
}

// login returns the login that the flags of gauze run describe.
func (e environment) login(words []string) (l launch.Login) {
	last := func(flag string) string {
		all := values(words, flag)
		if len(all) == 0 {
			return ""
		}
		return all[len(all)-1]
	}
	l.Mode, l.Account, l.ClientID = last("--login"), last("--account"), last("--client-id")
	l.RedirectURL, l.Grant, l.AssertionFile, l.Scopes = last("--redirect-url"), last("--grant"), last("--assertion-file"), values(words, "--scope")
	l.NoResource = slices.Contains(words, "--no-resource")
	l.Issuer, l.Endpoints = last("--login-issuer"), values(words, "--login-endpoint")
	if from := last("--client-secret-env"); from != "" {
		if secret, ok := e.lookup(from); ok {
			l.ClientSecret, l.SecretSource = secret, "the variable "+from
		}
	}
	return l
}

// WrapFlags reports whether words are flags of gauze run that Wrap writes, with their values.
func WrapFlags(words []string) bool {
	for i := 0; i < len(words); i++ {
		name, _, joined := strings.Cut(words[i], "=")
		switch {
		case words[i] == "--" || words[i] == "--url":
		case words[i] == "--header-env" || words[i] == "--client-secret-env":
			i++
		case joined && slices.Contains([]string{"--name", "--entry", "--client-id", "--scope", "--redirect-url"}, name), words[i] == "--login=off":
		default:
			return false
		}
	}
	return true
}
