package fleet

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/gauze-mcp/gauze/internal/clientconfig"
	"github.com/gauze-mcp/gauze/internal/redact"
)

// Masked takes secrets out of a text of several lines. A reference to a
// variable is none: whether a value or a reference is written is what people
// look for in a diff.
func Masked(text string, secrets ...redact.Secrets) string {
	all := redact.JoinSecrets(secrets...)
	hide := func(line string) string { return redact.Text(all.Redact(line)) }
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if bare := plainReference.ReplaceAllString(line, ""); hide(bare) != bare || bare == line {
			lines[i] = hide(line)
		}
	}
	return strings.Join(lines, "\n")
}

var plainReference = regexp.MustCompile(`\$?\{(env:)?[A-Z_][A-Z0-9_]{0,63}\}`)

// diffSecrets returns the values that a diff of a file does not show. Somebody
// may have put a key into a project's file, so those of its entries count, too:
// all but those of an entry that would hide a part of a command with them.
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

// hidesCommand reports whether secrets would mask a word of a command in a file
// that is not simply the key that a flag names.
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

// maskedDiff is Masked for a diff, with a number for each secret: whoever agrees
// to a diff sees whether a hidden value stays, changes or moves elsewhere.
func maskedDiff(diff string, secrets ...redact.Secrets) string {
	numbers := map[string]int{}
	numbered := func(secret string) string {
		if numbers[secret] == 0 {
			numbers[secret] = len(numbers) + 1
		}
		return fmt.Sprintf("«secret %d»", numbers[secret])
	}
	lines, masked := strings.Split(diff, "\n"), strings.Split(Masked(diff, secrets...), "\n")
	if len(lines) != len(masked) { // something was hidden across lines
		return strings.Join(masked, "\n")
	}
	for i, line := range masked {
		if i < 2 { // the names of the files
			continue
		}
		masked[i] = renamed(lines[i], line, numbered)
		if i > 2 && strings.HasPrefix(masked[i], "+") && strings.HasPrefix(masked[i-1], "-") && masked[i][1:] == masked[i-1][1:] {
			masked[i] += "   (a hidden value changes)"
		}
	}
	return strings.Join(masked, "\n")
}

// renamed puts a name of its own in the place of each mask in a line. A mask's
// secret is what the line has between the words around it.
func renamed(line, masked string, name func(secret string) string) string {
	words := strings.Split(masked, redact.Redacted)
	rest, ok := strings.CutPrefix(line, words[0])
	if !ok || len(words) == 1 {
		return masked
	}
	var b strings.Builder
	b.WriteString(words[0])
	for i, word := range words[1:] {
		end := strings.Index(rest, word)
		if i == len(words)-2 { // the last one goes as far as it can
			end = strings.LastIndex(rest, word)
		}
		if end < 0 {
			return masked
		}
		b.WriteString(name(rest[:end]) + word)
		rest = rest[end+len(word):]
	}
	return b.String()
}
