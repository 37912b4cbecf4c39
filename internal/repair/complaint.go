package repair

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gauze-mcp/gauze/internal/plaintext"
	"github.com/gauze-mcp/gauze/internal/redact"
)

// rejectionPrefixes matches how the libraries of servers begin when they reject a call before its
// tool has run. The output of a tool, such as that of a compiler, may contain the same phrases, but
// not at its beginning.
var rejectionPrefixes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:` + strings.Join([]string{
		`(?:MCP error -32602: |Error: |Error executing tool (?P<tool>\S+): |Error calling tool '[^']{1,100}': |invalid params: )*(?:` + strings.Join([]string{
			`invalid (?:tool )?arguments for (?:tool\b|[^\s:]+:)`,
			`input validation error:`,
			`validation (?:errors?|failed|failure):\s`,
			`validating "arguments":`,
			`\d+ validation errors? for (?:call\[|\w+Arguments\b)`,
			`failed to deserialize parameters\b`,
			`the arguments dictionary is missing\b`,
			`missing required arguments:`,
			`unknown (?:parameter|argument)s?\b`,
			`\[\s*\{\s*"(?:code|expected|received|validation)":\s*"`, // only zod's issues
		}, "|") + `)`,
		`MCP error -32602\b`,
	}, "|") + `)`)
})

// complaintPhrases matches how servers say that the arguments of a call do not fit, once the error
// code says so. Each is a whole phrase of a library.
var complaintPhrases = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)` + strings.Join([]string{
		// MCP SDKs
		`\binvalid (?:tool )?arguments for (?:tool|prompt|function)\b`,
		`\binput validation error\b`,
		`\bInvalid (?:params|parameters|input|arguments?)\b[^.\n]{0,40}\b(?:schema|validation|expected|required|missing|must)\b`,
		`\bThe arguments dictionary is missing\b`,
		`\bfailed to deserialize parameters\b`,
		"\\b(?:missing|unknown|duplicate) field [`'\"][^`'\"\\n]{1,80}[`'\"]",
		`\binvalid type: [a-z ]{1,40}.{0,80}, expected\b`,
		`\bvalidating "arguments"`, `\bvalidating (?:root|/properties/|/\$defs/|\$ref)`,
		`\bjson: cannot unmarshal \w+ into Go (?:struct field|value)\b`,
		`\b(?:unmarshal(?:l?ing)?|decod(?:e|ing)|pars(?:e|ing)) (?:the )?(?:tool )?(?:arguments|parameters|params)\b`,
		// zod, ajv
		`"code":\s*"(?:invalid_type|invalid_enum_value|invalid_value|invalid_format|invalid_string|invalid_union|invalid_literal|invalid_arguments|unrecognized_keys|too_small|too_big|not_multiple_of)"`,
		`\bUnrecognized keys?(?: in object|\(s\) in object|:)`,
		`\bInvalid input: expected\b`, `\bExpected [a-z]+, received [a-z]+\b`, `\bInvalid enum value\. Expected\b`,
		`\bmust have required property '`, `\bmust NOT have (?:additional|unevaluated) properties\b`,
		`\b(?:data|instance|args|arguments|params|input|root)?(?:[./][\w$-]+)+ must (?:be (?:string|number|integer|boolean|object|array|null|equal|>=|<=|>|<)|match (?:pattern|format)|NOT have)`,
		// pydantic
		`\b\d+ validation errors? for \S`,
		`\bInput should be (?:a |an |greater|less|one of|'|")`, `^\s*Field required\b`, `\[type=[a-z_]+, input_value=`, `\bExtra inputs are not permitted\b`,
		// Python's jsonschema
		`\bis not of types? '`, `'\S{1,80}' is a required property\b`, `\bAdditional properties are not allowed\b`, `\bis not one of \['`,
		`\bis (?:less than the minimum|greater than the maximum) of\b`, `\bFailed validating '`,
		// function calls
		`\b(?:got|received) an? unexpected keyword argument\b`, `\bunexpected keyword argument '`,
		`\bmissing \d+ required (?:positional|keyword-only)? ?arguments?\b`,
		`\bMissing required (?:arguments?|parameters?|params?|propert(?:y|ies)|fields?)\b`,
		`\brequired (?:argument|parameter|property) ['"\x60]?[\w.$-]+['"\x60]? (?:is|was) (?:missing|not (?:provided|found|set|given|supplied))\b`,
		`\b(?:argument|parameter) ['"\x60]?[\w.$-]+['"\x60]? is required\b`,
		`^\W*Unknown (?:parameters?|arguments?)\b`, `\bunknown (?:parameter|argument)s? ['"\x60:]`, `\bUnexpected (?:parameter|argument)s? ['"\x60:]`,
		`\b(?:parameter|argument) ['"\x60]?[\w.$-]+['"\x60]? (?:must be|should be) (?:of type |an? )?(?:string|number|integer|int|boolean|bool|object|array|list)\b`,
		`\barguments? (?:do(?:es)? not|did not|don't) (?:match|conform to|satisfy) the (?:input )?schema\b`,
	}, "|"))
})

// maxServerText limits how much of a server's text is read, in bytes.
const maxServerText = 2 << 10

// maxComplaintLen is the length of the longest rejection, in bytes. Longer text is the output of a
// tool.
const maxComplaintLen = 4 << 10

// IsComplaint reports whether a server's text rejects the arguments of a call, rather than
// describing what the tool did. coded is whether the error code says so.
func IsComplaint(text string, coded bool) bool {
	if len(text) > maxComplaintLen {
		return false
	}
	return rejectionPrefixes().MatchString(strings.TrimSpace(text)) || coded && complaintPhrases().MatchString(text)
}

// Complaint explains a server's rejection of the arguments raw. The message is empty if the
// server's text names no argument.
func (s *Schema) Complaint(tool string, raw []byte, said string, times int) Message {
	return s.complaint(message{schema: s, tool: tool, times: times}, raw, said)
}

func (s *Schema) complaint(m message, raw []byte, said string) (told Message) {
	defer func() {
		if recover() != nil {
			told = Message{}
		}
	}()
	s.Ready()
	said = said[:min(len(said), maxServerText)]
	doc, err := decode(string(raw))
	if err != nil {
		doc = document{value: map[string]any{}}
	}
	m.found, m.sent, m.rank, m.known = rejectedCall, doc.value, doc.rank, s.masker(doc.value)
	d := s.blamed(doc.value, said, m.known)
	if len(d.found) == 0 {
		return Message{}
	}
	m.shown = s.corrected(doc, d.found, m.known)
	m.issues, m.affected = d.issues(m.shown), d.affected
	m.summary = m.status() + ": its arguments must be changed."
	words := redact.Text(m.known.in(plaintext.Clean(said)))
	m.quoted = []string{"The server's message, quoted as data: " + string(encode(bounded(words, 600), nil))}
	return m.write()
}

// blamed returns findings for the fields that a server's text names.
func (s *Schema) blamed(sent any, said string, known *masker) *issueFinder {
	d := s.findIssues(sent, nil, known)
	for _, path := range s.named(sent, said) {
		_, there := present(sent, path)
		switch known := len(s.nodesAt(path)) > 0; {
		case !there && known:
			d.lacks(violation{path: path[:len(path)-1]}, path[len(path)-1:], "")
			f := d.at(path)
			f.need = s.need(path[:len(path)-1], path[len(path)-1])
		case there && known:
			d.note(violation{path: path}, complaintGroup(said, last(path)), "the server's message mentions it", "send the value that the server's message asks for")
		case there && s.root != nil:
			d.extra(violation{path: path[:len(path)-1]}, path[len(path)-1:])
		}
	}
	return d
}

// complaintGroups matches what is wrong with a field in the words of a server, the most specific
// first.
var complaintGroups = []struct {
	group string
	words *regexp.Regexp
}{
	{groupEnum, regexp.MustCompile(`(?i)\b(?:one of|enum|choices?|options?)\b`)},
	{groupPattern, regexp.MustCompile(`(?i)\b(?:pattern|regex|regular expression)\b`)},
	{groupRange, regexp.MustCompile(`(?i)\b(?:at least|at most|(?:greater|less|more|fewer|larger|smaller|longer|shorter) than|minimum|maximum|between|exceeds?|out of range|too (?:long|short|large|small|big|many|few|high|low))\b`)},
	{groupFormat, regexp.MustCompile(`(?i)\bformat\b|\bvalid (?:e-?mail|url|uri|uuid|date|time|datetime|ip|address|hostname)`)},
}

// clauseEnd matches the end of what a server says about one field.
var clauseEnd = regexp.MustCompile(`[;\n]|, [\w.\[\]]+(?::| must| should| is )`)

// complaintGroup returns the group of the fix that a server asks for, by what it says after a name.
func complaintGroup(said, name string) string {
	at := max(mention(said, name), 0)
	clause := strings.TrimLeft(said[min(at+len(name), len(said)):], " \t\r\n:\"'`]")
	if end := clauseEnd.FindStringIndex(clause); end != nil {
		clause = clause[:end[0]]
	}
	for _, g := range complaintGroups {
		if g.words.MatchString(clause) {
			return g.group
		}
	}
	return groupType
}

// corrected returns a call with different values for the given fields, or nil if there is none.
func (s *Schema) corrected(doc document, found []*finding, known *masker) *example {
	shown := s.example(doc.value, doc.rank, known, func(b *builder) {
		for _, f := range found {
			b.reconsider(f)
		}
	})
	if shown == nil || same(shown.value, doc.value) {
		return nil
	}
	return shown
}

// reconsider finds a different value for a field that the server rejected although it fits the
// schema.
func (b *builder) reconsider(f *finding) {
	parent, key := f.path[:len(f.path)-1], f.path[len(f.path)-1]
	at, there := present(b.value, f.path)
	if slices.Contains(f.groups, groupExtra) {
		b.drop(parent, []string{key})
		return
	}
	if !there {
		b.add(violation{path: parent}, []string{key})
		return
	}
	nodes := b.schema.certain(f.path)
	if len(nodes) == 0 {
		nodes = b.schema.nodesAt(f.path)[:1]
	}
	if d := gather(nodes...); d.saysAll(key) && !d.chosen {
		return // any other value would be as good as the rejected one
	}
	if c, ok := pick(nodes, last(f.path), b.known.without(at), 0, func(value any) bool { return !same(value, at) }); ok && fitsAll(nodes, c.value) {
		c.sure = false
		b.put(f.path, c)
	}
}

// The forms in which servers write a path: a list, dots or brackets, slashes.
var (
	pathList   = regexp.MustCompile(`(?:"path"|'loc'|"loc"):\s*[\[(]([^\])]+)[\])]`)
	pathDotted = regexp.MustCompile(`[A-Za-z_$][\w$-]*(?:\.[\w$-]+|\[['"]?[\w$-]+['"]?\])+`)
	pathSlash  = regexp.MustCompile(`(?:/[\w$-]+)+`)
	pathPart   = regexp.MustCompile(`[\w$-]+`)
)

// named returns the paths that a text names and that the schema or the call has, without duplicates
// and in the order of the text.
func (s *Schema) named(sent any, said string) (paths [][]string) {
	type place struct {
		at   int
		path []string
	}
	var places []place
	for _, form := range []*regexp.Regexp{pathList, pathDotted, pathSlash} {
		for _, at := range form.FindAllStringSubmatchIndex(said, 40) {
			text := said[at[0]:at[1]]
			if form == pathList {
				text = said[at[2]:at[3]]
			}
			if path := s.known(sent, pathPart.FindAllString(text, 12)); path != nil {
				places = append(places, place{at[0], path})
			}
		}
	}
	for _, name := range s.candidateNames(sent) {
		if at := mention(said, name); at >= 0 {
			places = append(places, place{at, []string{name}})
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return a.at - b.at })
	for _, p := range places {
		// A path inside an argument is more exact than the argument.
		covered := func(other place) bool {
			return len(other.path) > len(p.path) && slices.Equal(other.path[:len(p.path)], p.path)
		}
		same := func(other []string) bool { return slices.Equal(other, p.path) }
		if !slices.ContainsFunc(places, covered) && !slices.ContainsFunc(paths, same) {
			paths = append(paths, p.path)
		}
	}
	return paths[:min(len(paths), maxIssues)]
}

// known returns the end of a path that begins with a declared argument and that the schema or the call
// has. Servers add their own words before it, and keywords of the schema in between.
func (s *Schema) known(sent any, parts []string) []string {
	for len(parts) > 0 {
		for _, path := range [][]string{parts, withoutKeywords(parts)} {
			if len(path) == 0 || s.declared[path[0]] == nil {
				continue
			}
			if _, there := present(sent, path); there || len(s.nodesAt(path)) > 0 {
				return path
			}
		}
		parts = parts[1:]
	}
	return nil
}

func withoutKeywords(parts []string) []string {
	return slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return part == "properties" || part == "items" })
}

// candidateNames returns the arguments that the tool declares or that were sent, in order.
func (s *Schema) candidateNames(sent any) []string {
	names := map[string]any{}
	for name := range s.declared {
		names[name] = nil
	}
	if object, ok := sent.(map[string]any); ok && len(object) <= maxScalars {
		for name := range object {
			names[name] = nil
		}
	}
	return orderedKeys(names, nil)
}

// mention returns the index at which a text names an argument, or -1. A word in a sentence does not
// count: the name must be in quotes or alone at the start of a line, and must not be a key of JSON
// that the server prints.
func mention(said, name string) int {
	if name == "" || len(name) > 100 {
		return -1
	}
	for from, tries := 0, 0; ; tries++ {
		i := strings.Index(said[from:], name)
		if i < 0 || tries > 20 {
			return -1
		}
		at := from + i
		from = at + len(name)
		if isMention(said[:at], said[from:]) {
			return at
		}
	}
}

func isMention(before, after string) bool {
	if before != "" && strings.ContainsRune("\"'`", rune(before[len(before)-1])) {
		quote := before[len(before)-1:]
		rest, closed := strings.CutPrefix(after, quote)
		if !closed {
			return false
		}
		key := strings.HasPrefix(strings.TrimLeft(rest, " "), ":")
		outside := strings.TrimRight(before[:len(before)-1], " \t\r\n")
		return !key || outside != "" && !strings.ContainsRune("{,", rune(outside[len(outside)-1]))
	}
	line := before[strings.LastIndexByte(before, '\n')+1:]
	line = line[max(0, len(line)-200):]
	rest, _, _ := strings.Cut(after, "\n")
	alone := strings.Trim(line, " \t-*•") == ""
	return alone && (strings.TrimSpace(rest) == "" || strings.HasPrefix(rest, ":")) || namedAfter(line, rest) || beginsClause(line, rest) || endsClause(line, rest)
}

// endsClause recognizes `Invalid input at days` and `Invalid days: too many`.
func endsClause(line, rest string) bool {
	return clauseEndsWith.MatchString(line) && (strings.TrimSpace(rest) == "" || strings.ContainsRune(",;:", rune(rest[0])))
}

var clauseEndsWith = regexp.MustCompile(`(?i)(?:\bat|(?:^|: )(?:invalid|missing)) $`)

// beginsClause recognizes `Validation error: days: too many` and `...; days must be at most 14`.
func beginsClause(line, rest string) bool {
	return clauseStart.MatchString(line) && saidOfField.MatchString(rest)
}

var (
	clauseStart = regexp.MustCompile(`[:;,(]\s+$|^\s*(?:[-*•]\s+)?$`)
	saidOfField = regexp.MustCompile(`^(?:: ?\S| (?:must|should|is (?:not|required|missing|invalid|too)|has to|cannot|exceeds|does not match)\b)`)
)

// namedAfter recognizes `parameter days is` and `arguments: days, units`.
func namedAfter(line, rest string) bool {
	if !listHead.MatchString(line) {
		return false
	}
	return rest == "" || strings.ContainsRune(" ,.;:)]", rune(rest[0]))
}

var listHead = regexp.MustCompile(`(?i)(?:\b(?:parameters?|arguments?|propert(?:y|ies)|fields?|keys?)\b[:\s(]*(?:[\w$-]+,\s*)*)$`)
