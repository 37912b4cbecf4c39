package doctor

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// fill replaces the names in a template: {port}, or {port|its port} with a fallback for when the
// port is not known; {{ is a brace. Names are foreign text and must come quoted.
func fill(template string, name func(string) string) string {
	var b strings.Builder
	for {
		open := strings.IndexByte(template, '{')
		if open < 0 {
			break
		}
		if strings.HasPrefix(template[open+1:], "{") {
			b.WriteString(template[:open+1])
			template = template[open+2:]
			continue
		}
		end := strings.IndexByte(template[open:], '}')
		if end < 0 {
			break
		}
		key, otherwise, _ := strings.Cut(template[open+1:open+end], "|")
		value := name(key)
		if value == "" {
			value = otherwise
		}
		b.WriteString(template[:open])
		b.WriteString(value)
		template = template[open+end+1:]
	}
	b.WriteString(template)
	return b.String()
}

// name returns the value of a name in an explanation: what the clue captured, or what the command
// says.
func (x *exam) name(key string, m *match) string {
	if verb, ok := strings.CutPrefix(key, "$"); ok {
		return x.spelled(verb, m)
	}
	value := m.names[key]
	switch key {
	case "variables":
		return inWords(x.listed(m))
	case "theport":
		return numbered(x.name("port", m))
	case "endpoint":
		if value = m.names["program"]; value == "" {
			value = x.name("host", m)
		}
		if port := x.name("port", m); port != "" && value != "" {
			value += ":" + port
		} else if plainEnglish.MatchString(value) {
			return "" // a word of a sentence, not a name
		}
	}
	if key == "path" {
		value = x.withoutSentence(value)
	}
	if key == "package" { // npm escapes it in URLs
		value = strings.NewReplacer("%2f", "/", "%2F", "/", "%40", "@").Replace(value)
	}
	if value == "" {
		switch key {
		case "command":
			value = x.cmd.runner()
		case "line":
			value = x.cmd.line
		case "package":
			value = x.cmd.packageName()
		case "url":
			value = x.cmd.address()
		case "host":
			_, rest, _ := strings.Cut(x.cmd.address(), "://")
			value, _, _ = strings.Cut(rest, "/")
		}
	}
	switch {
	case key == "text":
		return x.Secrets.Quote(value)
	case key == "variable" && x.showsName(value, m):
		return value
	}
	value = bare(x.Secrets, value)
	if strings.ContainsAny(value, ";|&$`<>") {
		value = "“" + value + "”" // to set it apart from our own words
	}
	return value
}

// withoutSentence returns a captured path without the rest of its sentence: "/srv/notes, skipping".
// Best known is the end of a path that is an argument.
func (x *exam) withoutSentence(path string) string {
	for _, word := range x.Command {
		if rest, ok := strings.CutPrefix(path, word); ok && len(word) > 1 && rest != "" && strings.ContainsRune(",;:) ", rune(rest[0])) {
			return word
		}
	}
	if at := restOfSentence.FindStringIndex(path); at != nil && !x.cmd.has(path) {
		return path[:at[0]]
	}
	return path
}

// restOfSentence matches what follows a path in its sentence.
var restOfSentence = regex.New(`[,;] [a-z][^/\\]*$`)

// numbered returns "port 3000" for a number, and an address unchanged.
func numbered(port string) string {
	port = strings.TrimPrefix(port, ":")
	if _, err := strconv.Atoi(port); err == nil {
		return "port " + port
	}
	return port
}

// advised returns the value of a name in a fix, which a person copies and a model follows. What a
// server wrote decides no word of it: programs, packages, paths and addresses are the configured
// ones or from our own lists; numbers and variables must have the right shape. Anything else is "",
// so that the template's fallback is used.
func (x *exam) advised(key string, m *match) string {
	if verb, ok := strings.CutPrefix(key, "$"); ok {
		return x.spelled(verb, m)
	}
	caught := m.names[key]
	switch key {
	case "line":
		return x.typed()
	case "command":
		if wellKnown(caught) || x.cmd.has(caught) && plainWord.MatchString(caught) {
			return caught
		}
		if runner := x.cmd.runner(); caught == "" && plainWord.MatchString(runner) {
			return runner
		}
	case "package":
		return x.cmd.advisedPackage(caught)
	case "pinned": // the package with the version the entry asks for
		if name := x.cmd.packageName(); pinnedName.MatchString(name) {
			return x.typing().Quote(name)
		}
	case "path":
		if (x.cmd.has(caught) || caught == x.Spawn.Path) && caught != "" && x.Secrets.Quote(caught) == caught {
			return x.typing().Quote(caught)
		}
	case "url", "host", "turned":
		if text := x.cmd.advisedAddress(key); text != "" {
			return x.Secrets.Quote(x.typing().Quote(text))
		}
	case "login": // the arguments of gauze login
		words := x.advised("url", m)
		if words != "" && x.Account != "" {
			words += " --account " + x.Secrets.Quote(x.typing().Quote(x.Account))
		}
		return words
	case "python":
		return pythonFor(m.names["version"])
	case "withpython": // the command with a Python that meets the requirement
		return x.withPython(cmp.Or(pythonFor(m.names["version"]), "3.12"))
	case "pairs": // the variables, as members of "env"
		var pairs []string
		for _, name := range x.listed(m) {
			pairs = append(pairs, `"`+name+`": "VALUE"`)
		}
		return strings.Join(pairs, ", ")
	case "port", "hash", "variable", "flag", "step":
		if shapes[key].MatchString(caught) && !loads(caught) {
			return caught
		}
	}
	return ""
}

// advisedPackage returns the package of the command, or the image that was caught.
func (c command) advisedPackage(caught string) string {
	name := c.packageName()
	switch {
	case plainWord.MatchString(withoutVersion(name)) && !strings.ContainsAny(name, " \t;|&$`'\"(){}\\") && !strings.Contains(name, "://"):
		return withoutVersion(name)
	case c.has(caught) && plainWord.MatchString(caught):
		return caught
	}
	return ""
}

// advisedAddress returns the server's URL, its host, or the URL with the other transport's path.
func (c command) advisedAddress(key string) string {
	address, err := url.Parse(c.address())
	switch {
	case err != nil || address.Host == "":
		return ""
	case key == "host":
		return address.Hostname()
	case key == "turned":
		address = turned(address)
	}
	return launch.Spec{URL: address.String()}.String()
}

// withPython returns the configured command of uv as a person types it, with a different Python, or
// "" if there is none.
func (x *exam) withPython(version string) string {
	words := slices.Clone(withoutShell(x.Command))
	for i := 0; i < len(words); i++ {
		if words[i] == "--python" && i+1 < len(words) {
			words = slices.Delete(words, i, i+2)
		}
	}
	at := 0
	if len(words) > 0 && program(words[0]) == "uv" {
		at = slices.Index(words, "run")
	}
	if at < 0 || at+1 >= len(words) {
		return ""
	}
	return x.copied(slices.Insert(words, at+1, "--python", version))
}

// typing returns the commands of the reader's shell: of their platform, or of Windows if the log is
// from there.
func (x *exam) typing() shell.Words {
	if !x.Live && x.windows() {
		return shell.For("windows")
	}
	return shell.For(x.OS)
}

// spelled returns a command or a name that differs by platform: {$which} in a
// template is `command -v npx` or `where.exe npx`.
func (x *exam) spelled(verb string, m *match) string {
	words, command := x.typing(), x.advised("command", m)
	verb, of, _ := strings.Cut(verb, " ")
	switch verb {
	case "which":
		return words.Which(cmp.Or(command, "COMMAND"))
	case "listener":
		return words.Listener(cmp.Or(x.advised("port", m), "PORT"))
	case "python":
		return words.Python()
	case "forget": // mcp-remote's stored sign-ins
		return words.RemoveThere("~/.mcp-auth", `$env:USERPROFILE\.mcp-auth`)
	case "npxcopy":
		hash := cmp.Or(x.advised("hash", m), "HASH")
		return words.RemoveThere("~/.npm/_npx/"+hash, `$env:LOCALAPPDATA\npm-cache\_npx\`+hash)
	case "path":
		return words.Path("path", "to", of)
	case "json": // a path in JSON, where a backslash would have to be escaped
		return strings.ReplaceAll(words.Path("path", "to", of), `\`, "/")
	case "home":
		return words.Home(of)
	case "trust":
		return words.TrustAuthority(words.Path("path", "to", "ca.pem"))
	case "venv":
		return words.Venv(of)
	case "product":
		if p := productOf(command); p != nil && !strings.EqualFold(p.name, command) {
			return p.name + " (" + command + ")"
		}
		return command
	case "install":
		if p := productOf(command); p != nil && words.Windows() {
			return "install " + p.name + " (" + p.by[0] + ")"
		}
		return "install it"
	}
	return ""
}

// pythonFor returns a version of Python, as 3.13, that meets a requirement, as >=3.13 or >=3.8,<3.11. It
// returns "" for a requirement that it does not understand, or that most current versions meet.
func pythonFor(requirement string) string {
	for bound := range strings.SplitSeq(requirement, ",") {
		m := pythonBound.FindStringSubmatch(strings.TrimSpace(bound))
		if m == nil {
			continue
		}
		minor, _ := strconv.Atoi(m[2])
		switch {
		case m[1] == "<":
			minor--
			fallthrough
		case m[1] == "<=":
			if minor >= 12 {
				continue
			}
			return "3." + strconv.Itoa(minor)
		case m[1] == "==", m[1] == "~=", minor > 12:
			return "3." + strconv.Itoa(minor)
		}
	}
	return ""
}

var pythonBound = regex.New(`^(>=|<=|<|==|~=)3\.([1-9]\d?)(?:\.(?:\d+|\*))*$`)

// plainEnglish matches a lower-case word, which names neither a program nor a host.
var plainEnglish = regex.New(`^[a-z]{1,7}$`)

// plainWord matches a name that is special neither to shells nor, as an option, to programs.
var plainWord = regex.New(`^[A-Za-z0-9@._/+][A-Za-z0-9@._/+-]{0,160}$`)

// pinnedName matches a package with or without a version.
var pinnedName = regex.New(`^@?[A-Za-z0-9][A-Za-z0-9._/+-]{0,160}(?:\[[\w,-]+\])?(?:(?:@|[=~<>!]=|[<>])[A-Za-z0-9.*+_-]{1,60})?$`)

// shapes are the forms that values from the evidence must have to be used in a fix.
var shapes = map[string]*regex.Lazy{
	"port":     regex.New(`^\d{2,5}$`),
	"hash":     regex.New(`^[0-9a-f]{16}$`), // the form of directory names in npx's cache
	"variable": regex.New(`^[A-Za-z][A-Za-z0-9_]{1,60}$`),
	"step":     regex.New(`^(?:auth|login|authenticate|setup|init|configure)$`),
	"flag":     regex.New(`^--allow-(?:env|net|read|write|run|ffi|sys|import)$`),
}

// wellKnown reports whether a program is in our own lists.
func wellKnown(name string) bool {
	return launch.Fetches(name) || slices.Contains(runtimes, name) || slices.Contains(helpers, name) || name == "python"
}

// typed returns the configured command as a person types it, or "" if it is too long to be copied.
func (x *exam) typed() string {
	if len(x.Command) == 0 || x.URL != "" || webAddress.FindString(x.Command[0]) == x.Command[0] {
		return ""
	}
	return x.copied(x.Command)
}

// copied returns a command line that a person copies, or "" if it is too long for that.
func (x *exam) copied(words []string) string {
	line := x.Secrets.Quote(x.typing().Line(redact.MaskWords(words)...))
	if strings.HasSuffix(line, "…") {
		return ""
	}
	return line
}

// maxNameLen is longer than any honest name; a path may be long.
const maxNameLen = 160

// shown returns a name from the evidence, fit for a command that may be copied.
func shown(secrets redact.Secrets, text string) string {
	text = bare(secrets, text)
	if strings.ContainsAny(text, ";|&$`<>()\\*?") {
		text = "'" + strings.ReplaceAll(text, "'", "") + "'"
	}
	return text
}

// bare returns a name from the evidence, without the quotes and punctuation around it.
func bare(secrets redact.Secrets, text string) string {
	text = strings.TrimRight(strings.Trim(secrets.Quote(text), " \"'`‘’“”"), ".,;: \"'`")
	if len(text) > maxNameLen {
		cut := maxNameLen
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return text
}

// reason returns a line of the evidence, fit to be shown. Of a long line it returns the part around
// the hit. The whole line is redacted first, so that cutting it cannot expose half a secret.
func (x *exam) reason(m *match) string {
	const width = 220
	line := redact.Text(x.hidden(plaintext.Clean(m.said), m))
	if len(line) <= width {
		return line
	}
	at := strings.Index(line, firstLine(m.hit))
	from := max(0, at-60)
	if at < 0 || from == 0 {
		from = 0
	} else if space := strings.IndexByte(line[from:], ' '); space >= 0 && space < 60 {
		from += space + 1
	}
	for from < len(line) && !utf8.RuneStart(line[from]) {
		from++
	}
	text := redact.Quote(line[from:])
	if from > 0 {
		text = "…" + text
	}
	return text
}

// hidden returns text without the known secrets, but with the names of variables. The caller has
// removed control characters.
func (x *exam) hidden(text string, m *match) string {
	const held = "\x00"
	var kept []string
	for _, at := range slices.Backward(variableWord.FindAllStringIndex(text, 64)) {
		name := text[at[0]:at[1]]
		without := text[:at[0]] + held + text[at[1]:]
		// A secret that is longer than the name must not be split by it.
		if x.showsName(name, m) && strings.Replace(x.Secrets.Redact(without), held, x.Secrets.Redact(name), 1) == x.Secrets.Redact(text) {
			text, kept = without, append(kept, name)
		}
	}
	text = x.Secrets.Redact(text)
	for _, name := range slices.Backward(kept) {
		text = strings.Replace(text, held, name, 1)
	}
	return text
}

// showsName reports whether the name of a variable is shown although it contains a secret, as
// POSTGRES_URL does if the password is postgres: the entry sets it, or the advice names it. A name
// that as a whole is the value of a different variable is not.
func (x *exam) showsName(name string, m *match) bool {
	return slices.Contains(x.Set, name) || slices.Contains(x.listed(m), name) && x.Secrets.Redact(name) != redact.Redacted
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line[:min(len(line), 60)]
}
