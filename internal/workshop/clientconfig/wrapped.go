package clientconfig

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig/reference"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// wrap is how an entry runs a server through gauze run. It is found in the words as they are written,
// and none of the words of gauze run changes when the client expands them. So the server that is shown
// and the one that is started are the same words of the entry.
type wrap struct {
	flags  []string // the words of gauze run, without the dashes and the URL
	server int      // index of the server's command or URL in the arguments
	url    bool
	joined string // the flag, if it is in one word with the URL

	runs *launch.Spec // the server
}

// wrap returns how the entry runs gauze, whichever program that is, or nil: it does not, it has no
// server or two, or the client may expand words of gauze run.
func (r reader) wrap() *wrap {
	argv := r.src.argv()
	if len(argv) < 3 || !isGauze(argv[0]) || argv[1] != "run" {
		return nil
	}
	w := findServer(argv[1:])
	dialect := r.Client.Dialect.On(r.home.OS)
	if w == nil || slices.ContainsFunc(w.flags, func(word string) bool { return dialect.MayExpand(word, reference.Args) }) {
		return nil
	}
	written, expanded := argv[1+w.server], r.Spec.Args[w.server]
	if !w.url && strings.HasPrefix(expanded, "-") && !strings.HasPrefix(written, "-") {
		return nil // a reference became a flag
	}
	return w
}

// findServer finds the server in the arguments of gauze, the first of which is run. Its command follows
// two dashes, or only flags that Wrap writes.
func findServer(args []string) *wrap {
	w := &wrap{}
	for i := 1; i < len(args); i++ {
		word := args[i]
		isURL := word == "--url" || strings.HasPrefix(word, "--url=")
		switch {
		case word == "--" || !strings.HasPrefix(word, "-") && !w.url && WrapFlags(w.flags):
			if word == "--" {
				i++
			}
			if w.server = i; w.url || i >= len(args) {
				return nil
			}
			return w
		case isURL && w.url, word == "--url" && i+1 == len(args):
			return nil
		case word == "--url":
			i++
			w.url, w.server = true, i
		case isURL:
			w.url, w.server, w.joined = true, i, "--url="
		case slices.Contains(valued, word) && i+1 < len(args):
			i++
			w.flags = append(w.flags, word, args[i])
		default:
			w.flags = append(w.flags, word)
		}
	}
	if !w.url {
		return nil
	}
	return w
}

// inner returns the server of an entry that is wrapped. variable looks up a variable that the entry does
// not set.
func (w *wrap) inner(s launch.Spec, variable func(string) (string, bool)) *launch.Spec {
	if word := s.Args[w.server]; w.url {
		env := environment{s.Env, variable}
		s.URL, s.Header, s.Login = strings.TrimPrefix(word, w.joined), env.headers(w.flags), env.login(w.flags)
		s.Command, s.Args = "", nil
	} else {
		s.Command, s.Args = word, slices.Clone(s.Args[w.server+1:])
	}
	return &s
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
	l.RedirectURL, l.Grant, l.AssertionFile = last("--redirect-url"), last("--grant"), last("--assertion-file")
	l.Scopes = values(words, "--scope")
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
func WrapFlags(words []string) bool { return len(unusual(words)) == 0 }

// valued are the flags that Wrap writes in front of their values.
var valued = []string{"--header-env", "--client-secret-env"}

// unusual returns the words that Wrap does not write.
func unusual(words []string) (all []string) {
	for i := 0; i < len(words); i++ {
		name, _, joined := strings.Cut(words[i], "=")
		switch {
		case words[i] == "--" || words[i] == "--url" || words[i] == "--login=off":
		case slices.Contains(valued, words[i]) && i+1 < len(words):
			i++
		case joined && slices.Contains([]string{"--name", "--entry", "--client-id", "--scope", "--redirect-url"}, name):
		default:
			all = append(all, words[i])
		}
	}
	return all
}
