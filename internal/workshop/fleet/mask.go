package fleet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Masked removes secrets from a text of several lines. References to variables stay: a diff must
// show whether a value or a reference is written.
func Masked(text string, secrets ...redact.Secrets) string {
	all := redact.JoinSecrets(secrets...)
	hide := func(line string) string { return redact.Text(all.Redact(line)) }
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if bare := plainReference.ReplaceAllString(line, ""); hide(bare) != bare || bare == line {
			lines[i] = renamed(line, hide(line), func(secret string) string {
				if secret != "" && plainReference.ReplaceAllString(secret, "") == "" {
					return secret
				}
				return redact.Redacted
			})
		}
	}
	return strings.Join(lines, "\n")
}

var plainReference = regex.New(`\$?\{(env:)?[A-Z_][A-Z0-9_]{0,63}\}`)

// diffSecrets returns the values that a diff of a file does not show. A project's file may contain
// keys, so the secrets of its entries count, except those that would hide part of a command.
func diffSecrets(c *clientconfig.Config) []redact.Secrets {
	all := secretsOf(c)
	if !c.InProject() {
		return all
	}
	for i := range c.Entries {
		if own := c.Entries[i].Secrets(); !hidesCommand(c, own) {
			all = append(all, own)
		}
	}
	return all
}

// hidesCommand reports whether secrets would mask a word of a command that is not simply the value
// of a key flag.
func hidesCommand(c *clientconfig.Config, secrets redact.Secrets) bool {
	for i := range c.Entries {
		s, flag := c.Written(&c.Entries[i]), ""
		for _, word := range append([]string{s.Command}, s.Args...) {
			name, value, joined := strings.Cut(word, "=")
			if !joined {
				name, value = flag, word
			}
			isKey := strings.HasPrefix(name, "-") && redact.NamesSecret(strings.TrimLeft(name, "-"), value) && keyShape.MatchString(value)
			if !isKey && secrets.Redact(word) != word {
				return true
			}
			flag = word
		}
	}
	return false
}

// maskedDiff is Masked for a diff, with a number for each secret, so that the diff shows whether a
// hidden value stays, changes or moves.
func maskedDiff(diff string, secrets ...redact.Secrets) string {
	numbers := Numbers{}
	lines, masked := strings.Split(diff, "\n"), strings.Split(maskedLines(diff, secrets...), "\n")
	if len(lines) != len(masked) { // a secret spans several lines
		return strings.Join(masked, "\n")
	}
	for i, line := range masked {
		if i < 2 { // the file names
			continue
		}
		masked[i] = renamed(lines[i], line, numbers.name)
		if i > 2 && strings.HasPrefix(masked[i], "+") && strings.HasPrefix(masked[i-1], "-") && masked[i][1:] == masked[i-1][1:] {
			masked[i] += "   (a hidden value will change)"
		}
	}
	return strings.Join(masked, "\n")
}

// maskedLines is Masked for a diff. The sign of a line is kept apart from it, because -TOKEN = "x" reads
// like a flag with a value.
func maskedLines(diff string, secrets ...redact.Secrets) string {
	return signsBack.Replace(Masked(signsApart.Replace(diff), secrets...))
}

var (
	signsApart = strings.NewReplacer("\n-", "\n- ", "\n+", "\n+ ")
	signsBack  = strings.NewReplacer("\n- ", "\n-", "\n+ ", "\n+")
)

// Numbers has a number for each secret that a text does not show, so that a reader sees which are the same.
type Numbers map[string]int

func (n Numbers) name(secret string) string {
	if n[secret] == 0 {
		n[secret] = len(n) + 1
	}
	return fmt.Sprintf("«secret %d»", n[secret])
}

// Whole is [Whole] without the values of variables that are secrets. Everything that could be a command, or the
// path of one, is complete.
func (n Numbers) Whole(s launch.Spec, sends ...string) (string, error) {
	header := func(value string) string { return value }
	return reviewable(rendered(s, sends, header, n.mask))
}

// mask returns the value of a variable without its secrets. What the value reaches or starts is never one: a person
// must see it to decide.
func (n Numbers) mask(name, value string) string {
	isSecret := redact.NamesSecret(name, value) && !isInstruction(name) || keyShape.MatchString(value) && redact.Text(value) != value
	switch {
	case len(References(value)) > 0 || startsSomething(value):
		return value
	case strings.Contains(value, "://"):
		return renamed(value, redact.MaskAddress(value), n.nameUnlessCode)
	case isSecret:
		return n.name(value)
	}
	return value
}

// nameUnlessCode is name for a part of an address, which a shell may run.
func (n Numbers) nameUnlessCode(part string) string {
	if strings.ContainsAny(part, "`({") {
		return part
	}
	return n.name(part)
}

// startsSomething reports whether a value is a path, or a command line with a path or an operator of a shell.
func startsSomething(value string) bool {
	return pathShape.MatchString(value) || strings.Contains(value, " ") && operators.MatchString(value)
}

var (
	pathShape = regex.New(`^(?:\.{1,2}[/\\]|~[/\\]|[A-Za-z]:[/\\]|/[^+=]*[/.])`)
	operators = regex.New("[/|;&<>`]|\\$\\(")
)

// isInstruction reports whether a variable that is called like a secret says how to get it, or where it is: what
// it says may be started.
func isInstruction(name string) bool {
	name = strings.ToLower(strings.TrimRight(name, "0123456789_"))
	return strings.HasPrefix(name, "git_config_") ||
		slices.ContainsFunc(instructionWords, func(word string) bool { return strings.HasSuffix(name, word) })
}

var instructionWords = []string{"askpass", "cmd", "command", "dir", "exec", "file", "helper", "hook", "path", "process", "program", "provider",
	"script", "source"}

// renamed replaces each mask in a line with a name.
func renamed(line, masked string, name func(secret string) string) string {
	secrets, ok := hidden(line, masked)
	if !ok {
		return masked
	}
	var b strings.Builder
	for i, word := range strings.Split(masked, redact.Redacted) {
		if i > 0 {
			b.WriteString(name(secrets[i-1]))
		}
		b.WriteString(word)
	}
	return b.String()
}

// hidden returns what each mask in a line stands for: the part of the line between the words around
// it.
func hidden(line, masked string) (secrets []string, ok bool) {
	words := strings.Split(masked, redact.Redacted)
	rest, ok := strings.CutPrefix(line, words[0])
	if !ok {
		return nil, false
	}
	for i, word := range words[1:] {
		end := strings.Index(rest, word)
		if i == len(words)-2 { // the last mask extends as far as possible
			end = strings.LastIndex(rest, word)
		}
		if end < 0 {
			return nil, false
		}
		secrets = append(secrets, rest[:end])
		rest = rest[end+len(word):]
	}
	return secrets, true
}

// hides reports whether the diff does not show one of these words, or masks something new that is not
// the value of a variable or header.
func (c Change) hides(words []string) bool {
	if slices.ContainsFunc(words, func(word string) bool { return Masked(word, c.secrets...) != word }) {
		return true
	}
	then := c.file.Home.ReadText(c.file.File, c.New)
	known := []string{string(c.Old)}
	for i := range then.Entries {
		spec := then.Written(&then.Entries[i])
		known = append(known, spec.Env...)
		for _, h := range spec.Header {
			known = append(known, h.Value)
		}
	}
	isNew := func(part string) bool {
		return !slices.ContainsFunc(known, func(text string) bool { return strings.Contains(text, part) })
	}
	diff := backup.Unified(c.Path, c.Old, c.New)
	lines, masked := strings.Split(diff, "\n"), strings.Split(Masked(diff, c.secrets...), "\n")
	if len(lines) != len(masked) {
		return true
	}
	for i, line := range lines {
		if i < 2 || !strings.HasPrefix(line, "+") { // the file names, and what is there already
			continue
		}
		if parts, ok := hidden(line, masked[i]); !ok || slices.ContainsFunc(parts, isNew) {
			return true
		}
	}
	return false
}
