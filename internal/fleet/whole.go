package fleet

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/plaintext"
	"github.com/gauze-mcp/gauze/internal/redact"
)

// maxShown bounds what the user is asked to confirm: a longer text would not be read in a dialog.
const maxShown = 32 << 10

// Written returns how the server is started or reached as its file says, with references not
// expanded.
func (s *Server) Written() launch.Spec { return s.Config.Written(s.Entry) }

// Whole returns everything that determines what is run, or what is sent where, for the user's
// confirmation. Nothing is masked, shortened or expanded.
func (s *Server) Whole() (string, error) {
	whole, err := Whole(s.Written(), s.Sends()...)
	if stored := s.view.fleet.StoredLogin(s.Real()); stored != "" {
		whole += "\n  may use " + stored
	}
	return whole, err
}

// Whole renders a spec as written, for the user's confirmation. sends names the variables of the
// user's environment whose values are sent. A spec that is too long to review is an error.
func Whole(s launch.Spec, sends ...string) (string, error) {
	text := rendered(s, sends, func(value string) string { return value }, func(_, value string) string { return value })
	if len(text) > maxShown {
		return "", fmt.Errorf("the entry is %d kB long, which is too long to review", len(text)>>10)
	}
	return text, nil
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
	return rendered(s, sends, header, variable)
}

// Describe renders a spec without its secrets. Of an address, everything but the user, the password
// and the query stays readable. sends is as of Whole.
func Describe(s launch.Spec, sends ...string) string {
	words := redact.MaskWords(append([]string{s.Command}, s.Args...))
	s.Command, s.Args, s.URL = words[0], words[1:], redact.MaskAddress(s.URL)
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

// isKey reports whether a value can only be a key, and not a command or the path of one.
func isKey(name, value string) bool {
	return redact.NamesSecret(name, value) && keyShape.MatchString(value) && strings.ContainsAny(value, "0123456789")
}

var keyShape = regexp.MustCompile(`^[A-Za-z0-9_.~+=-]{12,}$`)

// rendered describes a server for someone who decides about it. All descriptions come from here.
func rendered(s launch.Spec, sends []string, header func(value string) string, variable func(name, value string) string) string {
	var b strings.Builder
	if s.URL != "" {
		b.WriteString(Visible(s.URL))
		for _, h := range s.Header {
			fmt.Fprintf(&b, "\n  with the header %s: %s", Visible(h.Name), Visible(header(h.Value)))
		}
		if account := s.Login.Account; account != "" {
			fmt.Fprintf(&b, "\n  with the login of the account %s", Visible(account))
		}
		if id := s.Login.ClientID; id != "" {
			fmt.Fprintf(&b, "\n  logs in as the client %s", Visible(id))
		}
		if host := s.Login.Issuer; host != "" {
			fmt.Fprintf(&b, "\n  logs in at %s", Visible(host))
		}
		if hosts := s.Login.Endpoints; len(hosts) > 0 {
			fmt.Fprintf(&b, "\n  sends codes and tokens of the login to %s", Visible(strings.Join(hosts, ", ")))
		}
		if file := s.Login.AssertionFile; file != "" {
			fmt.Fprintf(&b, "\n  sends the content of the file %s to log in", Visible(file))
		}
	} else {
		b.WriteString(Visible(s.String()))
		if s.Dir != "" {
			fmt.Fprintf(&b, "\n  in the directory %s", Visible(s.Dir))
		}
		for _, pair := range s.Env {
			name, value, _ := strings.Cut(pair, "=")
			fmt.Fprintf(&b, "\n  with %s=%s", Visible(name), Visible(variable(name, value)))
		}
	}
	for _, field := range s.Others {
		name, value, _ := strings.Cut(field, "=")
		fmt.Fprintf(&b, "\n  with the field %s: %s", Visible(name), Visible(maskedJSON(name, value, variable)))
	}
	if len(sends) > 0 {
		b.WriteString("\n  sends the value of " + Visible(strings.Join(sends, ", ")) + " from your environment")
	}
	return b.String()
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

// Visible makes characters visible that a terminal or dialog would not show.
func Visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || plaintext.Unseen(r) {
			fmt.Fprintf(&b, "‹U+%04X›", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// References returns the names of the variables that a text refers to as ${NAME}.
func References(text string) (names []string) {
	for _, found := range reference.FindAllString(text, -1) {
		names = append(names, found[2:len(found)-1])
	}
	return names
}
