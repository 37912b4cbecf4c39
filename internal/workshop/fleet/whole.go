package fleet

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// maxLines bounds what the user is asked to confirm: of a longer text, the beginning is off the screen
// when the question appears.
const maxLines = 60

// Written returns how the server is started or reached as its file says, with references not
// expanded.
func (s *Server) Written() launch.Spec { return s.Config.Written(s.Entry) }

// Whole returns everything that determines what is run, or what is sent where, for the user's
// confirmation. Nothing is masked, shortened or expanded, except that a URL with references is also
// shown as it is now.
func (s *Server) Whole() (string, error) {
	text := complete(s.Written(), s.Sends())
	if address := s.address(); address != "" {
		text += "\n  currently resolves to " + plaintext.Visible(redact.Text(s.namedSecrets().Redact(address)))
	}
	if stored := s.view.fleet.StoredLogin(s.Real()); stored != "" {
		text += "\n  may use " + stored
	}
	return reviewable(text)
}

// Outline is Whole for an agent. Values of the user's variables are masked.
func (s *Server) Outline() string {
	text := Outline(s.Written(), s.Sends()...)
	if address := s.address(); address != "" {
		text += "\n  currently resolves to " + plaintext.Visible(s.Hide(address))
	}
	if s.view.fleet.StoredLogin(s.Real()) != "" {
		text += "\n  may use a stored login"
	}
	return text
}

// address returns the URL of the server without user and query, if its file has references in it.
func (s *Server) address() string {
	if real := s.Real(); real.URL != "" && real.String() != s.Written().String() {
		return real.String()
	}
	return ""
}

// namedSecrets returns the values of those variables of the user's that are called like a secret.
func (s *Server) namedSecrets() redact.Secrets {
	var values []string
	for _, pair := range s.Config.Home.Environ {
		if name, value, _ := strings.Cut(pair, "="); slices.Contains(s.Sends(), name) && redact.NamesSecret(name, value) {
			values = append(values, value)
		}
	}
	return redact.KnownSecrets(values...)
}

// Whole renders a spec as written, for the user's confirmation. sends names the variables of the
// user's environment whose values are sent. A spec that is too long to review is an error.
func Whole(s launch.Spec, sends ...string) (string, error) { return reviewable(complete(s, sends)) }

// complete renders a spec as written, in lines of any length.
func complete(s launch.Spec, sends []string) string {
	return rendered(s, sends, func(value string) string { return value }, func(_, value string) string { return value })
}

// reviewable returns a text in lines that fit a terminal. One that is too long to review is an error.
func reviewable(text string) (string, error) {
	text = Fold(text)
	if n := 1 + strings.Count(text, "\n"); n > maxLines {
		return "", fmt.Errorf("the entry is %d lines long, which is too long to review", n)
	}
	return text, nil
}

// Target returns the command line or the URL of a spec as Whole shows it.
func Target(s launch.Spec) string { return Fold(plaintext.Visible(target(s))) }

func target(s launch.Spec) string {
	if s.URL != "" {
		return s.URL
	}
	return s.String()
}

// Outline is Whole without keys in headers and variables, for an agent. The command, its arguments
// and anything that could be one are complete.
func Outline(s launch.Spec, sends ...string) string {
	header := func(value string) string {
		if !strings.ContainsAny(value, "${") { // a reference is not a key
			return redact.Redacted
		}
		return value
	}
	variable := func(name, value string) string {
		if isKey(name, value) {
			return redact.Redacted
		}
		return value
	}
	s.Login = masked(s.Login)
	return rendered(s, sends, header, variable)
}

// Describe renders a spec without its secrets. Of an address, everything but the user, the password
// and the query stays readable. sends is as of Whole.
func Describe(s launch.Spec, sends ...string) string {
	words := redact.MaskWords(append([]string{s.Command}, s.Args...))
	s.Command, s.Args, s.URL, s.Login = words[0], words[1:], redact.MaskAddress(s.URL), masked(s.Login)
	if s.URL != "" {
		s.Env, s.Dir = nil, "" // of the gauze that connects to it
	}
	mask := func(name, value string) string {
		switch {
		case strings.Contains(value, "://"):
			return redact.MaskAddress(value)
		case redact.NamesSecret(name, value) && len(References(value)) == 0:
			return redact.Redacted
		}
		return value
	}
	return rendered(s, sends, func(value string) string { return mask("Authorization", value) }, mask)
}

// masked returns a login without the secret of its client, but with the variable that contains it.
func masked(l launch.Login) launch.Login {
	if l.ClientSecret != "" && !refersToSecret(l) {
		l.ClientSecret = redact.Redacted
	}
	return l
}

// refersToSecret reports whether a login as written names the variable with the secret of its client.
func refersToSecret(l launch.Login) bool {
	name, ok := strings.CutPrefix(l.SecretSource, "the variable ")
	return ok && l.ClientSecret == "${"+name+"}"
}

// isKey reports whether a value can only be a key, and not a command or the path of one.
func isKey(name, value string) bool {
	return redact.NamesSecret(name, value) && keyShape.MatchString(value) && strings.ContainsAny(value, "0123456789")
}

var keyShape = regex.New(`^[A-Za-z0-9_.~+=-]{12,}$`)

// rendered describes a server for someone who decides about it. All descriptions come from here.
func rendered(s launch.Spec, sends []string, header func(value string) string, variable func(name, value string) string) string {
	text := plaintext.Visible(target(s))
	add := func(what string, values ...string) {
		text += "\n  " + what
		for i, value := range values {
			if i > 0 {
				text += ": "
			}
			text += plaintext.Visible(value)
		}
	}
	if s.URL != "" && len(s.Args)+len(s.Command) > 0 {
		s.URL = ""
		add("instead of the command ", s.String())
	}
	for _, h := range s.Header {
		add("with the header ", h.Name, header(h.Value))
	}
	addLogin(s.Login, add)
	if s.Dir != "" {
		add("in the directory ", s.Dir)
	}
	for _, pair := range s.Env {
		name, value, _ := strings.Cut(pair, "=")
		add("with ", name+"="+variable(name, value))
	}
	for _, field := range s.Others {
		name, value, _ := strings.Cut(field, "=")
		add("with the field ", name, maskedJSON(name, value, variable))
	}
	if len(sends) > 0 {
		add("sends the value of ", strings.Join(sends, ", ")+" from your environment")
	}
	return text
}

// addLogin describes every field of a login. Different logins have different descriptions.
func addLogin(l launch.Login, add func(what string, values ...string)) {
	for _, field := range []struct{ what, value string }{
		{"with the login mode ", l.Mode},
		{"with the login for the account ", l.Account},
		{"logs in as the client ", l.ClientID},
		{"logs in without user interaction, with the grant ", l.Grant},
		{"logs in at ", l.Issuer},
		{"sends the content of this file to log in: ", l.AssertionFile},
		{"receives the login redirect at ", l.RedirectURL},
	} {
		if field.value != "" {
			add(field.what, field.value)
		}
	}
	for _, scope := range l.Scopes {
		add("requests the scope ", scope)
	}
	for _, host := range l.Endpoints {
		add("sends the login's codes and tokens to ", host)
	}
	if l.NoResource {
		add("does not tell the authorization server which server the token is for")
	}
	if refersToSecret(l) {
		add("sends the value of ", l.SecretSource+" as its client secret")
		return
	}
	if l.ClientSecret != "" {
		add("sends the client secret ", l.ClientSecret)
	}
	if l.SecretSource != "" {
		add("reads the client secret from ", l.SecretSource)
	}
}

// maskedJSON applies mask to the strings in a JSON value, each with the name of the member that it is
// or is in.
func maskedJSON(name, text string, mask func(name, value string) string) string {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil { // a number in a form that only TOML or YAML has
		return mask(name, text)
	}
	var masked func(name string, value any) any
	masked = func(name string, value any) any {
		switch v := value.(type) {
		case string:
			return mask(name, v)
		case []any:
			for i := range v {
				v[i] = masked(name, v[i])
			}
		case map[string]any:
			for member := range v {
				v[member] = masked(member, v[member])
			}
		}
		return value
	}
	encoded, _ := plaintext.EncodeJSON(masked(name, value), "") // it was decoded
	return string(encoded)
}

const (
	maxColumns = plaintext.Width - 2
	continued  = "\n    ↳ " // what a folded line continues with; no other line begins like this
)

// Fold breaks lines that are too long for a terminal and marks where they continue: a terminal would
// break them without a mark. Nothing else changes.
func Fold(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		room := maxColumns
		for {
			end := fitting(line, room)
			b.WriteString(line[:end])
			if line = line[end:]; line == "" {
				break
			}
			b.WriteString(continued)
			room = maxColumns - columns(continued[1:])
		}
	}
	return b.String()
}

// unfolded reverts Fold.
func unfolded(text string) string { return strings.ReplaceAll(text, continued, "") }

// fitting returns how much of a line has at most so many columns. It prefers to end after a space.
func fitting(line string, room int) int {
	width, space := 0, 0
	for i, r := range line {
		if width += columns(string(r)); width > room {
			return cmp.Or(space, i)
		}
		if r == ' ' && width > room/2 {
			space = i + 1
		}
	}
	return len(line)
}

// columns returns how many columns a text has at most.
func columns(text string) (n int) {
	for _, r := range text {
		switch {
		case r == '\n':
		case r < unicode.MaxASCII:
			n++
		default:
			n += 2
		}
	}
	return n
}

// References returns the names of the variables that a text refers to as ${NAME}.
func References(text string) (names []string) {
	for _, found := range reference.FindAllString(text, -1) {
		names = append(names, found[2:len(found)-1])
	}
	return names
}
