package repair

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// judgement is what a failed response says about the arguments of its call.
type judgement int

const (
	unrelated    judgement = iota // the call failed for a different reason, or for one that is not known
	arguable                      // it is about arguments, and those of the call do not match the schema
	rejectedCall                  // the server rejected the call, which proves what the server enforces
)

// judge decides what a response says about a call that was sent with these arguments. If they are
// known not to match the schema, the server's words only have to show that arguments were rejected,
// not which.
func (d *Decision) judge(sent []byte, r Response) judgement {
	if r.Text == "" {
		return unrelated
	}
	own := isAbout(r.Text[:min(len(r.Text), maxComplaintLen)], d.Tool)
	switch {
	case d.names != nil:
		if r.Code == codeMethodNotFound || RejectsTool(r.Text) || rejectsName(r.Text, d.called) {
			return rejectedCall
		}
	case d.outcome == nil:
		coded := r.Code == codeInvalidParams
		if own && (coded || r.Code == 0 || r.Code == codeInternalError) && (IsComplaint(r.Text, coded) || d.schema.plainComplaint(sent, r.Text)) {
			return rejectedCall
		}
	case own && (r.Code == codeInvalidParams || IsComplaint(r.Text, false)):
		return rejectedCall
	case own && IsComplaint(r.Text, true) && d.schema.Complaint(d.Tool, sent, r.Text, 1).Text != "":
		return rejectedCall
	case r.Code == codeInvalidParams, d.schema.blames(*d.outcome, r.Text):
		return arguable
	}
	return unrelated
}

// rejectsName reports whether a server's text says that a tool does not exist without calling it a
// tool.
func rejectsName(text, tool string) bool {
	return tool != "" && len(text) <= maxToolRejection && RejectsTool(strings.ReplaceAll(text, tool, "tool"))
}

// The names of tools in rejections: as a server names its own tools, and in the titles that Python
// libraries derive from the function of a tool.
var (
	namedTool = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("(?i)\\btool [\"'`]([^\"'`\\s]+)[\"'`]" +
			"|\\b(?:arguments for|executing|calling) tool ([^\\s\"'`:,]+)|\\binvalid arguments for ([^\\s\"'`:,]+):")
	})
	namedFunction = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\bvalidation errors? for (?:call\[([^\]\s]+)\]|(\w+)Arguments\b)`)
	})
)

// namesIn returns what the groups of a pattern match in a text.
func namesIn(text string, pattern *regexp.Regexp) (names []string) {
	for _, found := range pattern.FindAllStringSubmatch(text, 40) {
		names = append(names, strings.TrimRight(strings.Join(found[1:], ""), "."))
	}
	return names
}

// isAbout reports whether a rejection names no other tool than the called one. A tool that calls a
// different server may pass on the rejection of its call.
func isAbout(text, tool string) bool {
	return !slices.ContainsFunc(namesIn(text, namedTool()), func(name string) bool {
		return !sameFolded(name, tool) && !sameInNamespace(name, tool)
	})
}

// beforeRunPrefixes matches how libraries of servers begin that validate the arguments of a tool
// themselves, and that no tool writes. It is narrower than rejectionPrefixes: a tool may also report
// a failed validation in general words, or pass on the rejection of a call that it made, which then
// has two such beginnings or names a different tool.
var beforeRunPrefixes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:` + strings.Join([]string{
		`(?:MCP error -32602: )?(?:Error: )?(?:invalid params: )?(?:` + strings.Join([]string{
			`invalid (?:tool )?arguments for tool\b`,
			`input validation error:`,
			`validating "arguments":`,
			`failed to deserialize parameters\b`,
			`the arguments dictionary is missing\b`,
		}, "|") + `)`,
		`(?:Error executing tool \S+: |Error calling tool '[^']{1,100}': )?\d+ validation errors? for (?:call\[|\w+Arguments\b)`,
	}, "|") + `)`)
})

// RejectedBeforeRun reports whether a server's text proves that a library rejected the arguments of
// the call before the tool ran, so that the call had no effect: the text names no other tool, at
// least one argument that does not match the schema, and none that does.
func (d *Decision) RejectedBeforeRun(text string) bool {
	if d.outcome == nil || len(text) > maxComplaintLen || !beforeRunPrefixes().MatchString(strings.TrimSpace(text)) {
		return false
	}
	tools := append(namesIn(text, namedTool()), namesIn(text, namedFunction())...)
	if slices.ContainsFunc(tools, func(name string) bool { return !sameFolded(name, d.Tool) }) {
		return false
	}
	named, wrong := d.schema.named(d.outcome.sent, text), d.outcome.wrong()
	return len(named) > 0 && !slices.ContainsFunc(named, func(path []string) bool { return !slices.Contains(wrong, path[0]) })
}

// The words of a server that rejects arguments, what they are about, and words that say that the
// failure has a different cause.
var (
	rejecting = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:invalid|illegal|malformed|bad|wrong|incorrect|missing|required?|requires|must|should|ha(?:s|ve) to|expected|expects|unexpected|` +
			`unsupported|unknown|unrecogni[sz]ed|cannot be|can't be|not (?:an? )?(?:valid|function|allowed|supported|accepted|permitted|one of|of (?:an? )?type)|` +
			`specify|provide|at least|at most|out of range|too (?:long|short|large|small|big|many|few|high|low)|valid(?:at(?:e|ing|ion))?)\b`)
	})
	aboutInput = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:arguments?|args|parameters?|params?|inputs?|propert(?:y|ies)|fields?|schema|payload)\b|\bexpected\b[^\n]+\b(?:received|got)\b`)
	})
	otherCauses = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:api[ _-]?keys?|(?:access|auth|bearer)[ _-]?tokens?|credentials?|password|unauthori[sz]ed|unauthenticated|log ?in|forbidden|permissions?|denied|` +
			`quota|rate[ _-]?limit|too many requests|timed[ -]?out|timeout|deadline exceeded|E(?:CONN\w+|NOTFOUND|NOENT|ACCES|PERM|TIMEDOUT|PIPE|AI_AGAIN)|fetch failed|` +
			`connect(?:ion|ed|ing)?|unreachable|unavailable|network|environment variables?|not found|no such|(?:does not|doesn't|already) exists?|internal (?:server )?error)\b` +
			`|\((?:401|403|404|408|409|429|5\d\d)\)|\bHTTP[ /]|\bstatus(?: code)?:? \d`)
	})
)

// blames reports whether a server's text says that arguments were rejected, or names what does not
// match the schema, and shows no different cause. It must not name only arguments that match.
func (s *Schema) blames(out Outcome, text string) bool {
	if len(text) > maxComplaintLen {
		return false
	}
	wrong := out.wrong()
	wrong = wrong[:min(len(wrong), maxNamesCompared)]
	if beginsWithAny(text, wrong) {
		return true
	}
	values := out.wrongValues()
	about := func(line string) bool {
		rejects := rejecting().MatchString(line)
		return rejects && aboutInput().MatchString(line) ||
			slices.ContainsFunc(wrong, func(name string) bool { return (rejects || len(name) >= minTelling) && hasName(line, name) }) ||
			slices.ContainsFunc(values, func(value string) bool { return quotes(line, value, rejects) })
	}
	others := text
	for _, name := range wrong {
		others = strings.ReplaceAll(others, name, "it")
	}
	if otherCauses().MatchString(others) || !slices.ContainsFunc(strings.Split(text, "\n"), about) {
		return false
	}
	named := s.named(out.sent, text)
	isWrong := func(path []string) bool { return slices.Contains(wrong, path[0]) }
	return len(named) == 0 || slices.ContainsFunc(named, isWrong)
}

// minTelling is the length, in bytes, of a name or value that a server hardly uses by chance.
const minTelling = 5

// errorPrefix matches what libraries and languages put before the words of a tool.
const errorPrefix = "^(?:MCP error -\\d+: |Error: |Error executing tool \\S+: |Error calling tool '[^']{1,100}': )*"

var anyError = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(errorPrefix + "(?:[\\w.]*(?:Error|Exception): )?[\"'`]?")
})

// beginsWithAny reports whether a server's text begins with the name of one of these arguments, as in
// `username is invalid`, and rejects it. What follows may then mention anything.
func beginsWithAny(text string, names []string) bool {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	rest := line[len(anyError().FindString(line)):]
	return rejecting().MatchString(line) && slices.ContainsFunc(names, func(name string) bool {
		return name != "" && len(rest) >= len(name) && strings.EqualFold(rest[:len(name)], name) && !isWordByte(rest, len(name))
	})
}

// hasName reports whether a line has the name of an argument, in any case, or its words.
func hasName(line, name string) bool {
	line = strings.ToLower(line)
	return slices.ContainsFunc([]string{strings.ToLower(name), strings.Join(segments(name), " ")}, func(word string) bool {
		return word != "" && hasWord(line, word)
	})
}

// quotes reports whether a line has a value: in quotes or brackets, or as a word that is not there by
// chance.
func quotes(line, value string, rejects bool) bool {
	if len(value) >= minTelling || rejects && len(value) >= 3 {
		return hasWord(line, value)
	}
	return slices.ContainsFunc([]string{"''", `""`, "``", "()", "[]"}, func(pair string) bool {
		return strings.Contains(line, pair[:1]+value+pair[1:])
	})
}

// hasWord reports whether a line has a word that is not a part of a longer one.
func hasWord(line, word string) bool {
	for at := 0; ; at++ {
		i := strings.Index(line[at:], word)
		if i < 0 {
			return false
		}
		at += i
		if !isWordByte(line, at-1) && !isWordByte(line, at+len(word)) {
			return true
		}
	}
}

func isWordByte(text string, at int) bool {
	return at >= 0 && at < len(text) && (text[at] == '_' || text[at] == '-' || text[at]|0x20 >= 'a' && text[at]|0x20 <= 'z' || text[at] >= '0' && text[at] <= '9')
}

// wrong returns the arguments that do not match the schema: those that are missing, those that are
// not declared, and those with such a value.
func (out *Outcome) wrong() (names []string) {
	var collect func(list []violation)
	collect = func(list []violation) {
		for _, v := range list {
			switch k := v.kind.(type) {
			case *kind.Required:
				if len(v.path) == 0 {
					names = append(names, k.Missing...)
				}
			case *kind.AdditionalProperties:
				if len(v.path) == 0 {
					names = append(names, k.Properties...)
				}
			}
			if len(v.path) > 0 {
				names = append(names, v.path[0])
			}
			for _, branch := range v.branches {
				collect(branch)
			}
		}
	}
	collect(out.violations)
	slices.Sort(names)
	return slices.Compact(names)
}

// wrongValues returns the strings in the arguments that do not match the schema, unless they are long.
func (out *Outcome) wrongValues() (values []string) {
	for _, v := range out.violations[:min(len(out.violations), maxNamesCompared)] {
		if text, ok := lookup(out.sent, v.path).(string); ok && text != "" && len(text) <= maxLiteral {
			values = append(values, text)
		}
	}
	return values
}

// plainWords matches a server's text that begins with what is wrong with one argument.
var plainWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(errorPrefix + "(?:[\\w.]*(?:Value|Validation|Argument|Input|Type)(?:Error|Exception): )?" +
		"(?:Invalid |Missing )?[\"'`]?([A-Za-z_$][\\w$-]*)[\"'`]?(?:: (?:is )?(?i:required|invalid|expected|missing|must be|should be)\\b" +
		"| (?:is (?:required|missing|invalid|not valid|not a valid|too)|(?:must|should) (?:not )?be|cannot be empty)\\b)")
})

// plainComplaint reports whether a server's text says of an argument, without a library's phrase,
// that it is not accepted.
func (s *Schema) plainComplaint(sent []byte, text string) bool {
	found := plainWords().FindStringSubmatch(text)
	if found == nil || len(text) > maxComplaintLen {
		return false
	}
	doc, _ := decode(string(sent))
	return slices.Contains(s.Ready().candidateNames(doc.value), found[1])
}
