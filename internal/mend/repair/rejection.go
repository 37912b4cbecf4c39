package repair

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema/kind"
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
		mayComplain := own && (coded || r.Code == 0 || r.Code == codeInternalError)
		if mayComplain && (IsComplaint(r.Text, coded) || d.schema.plainComplaint(sent, r.Text)) {
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

// namesIn returns what the groups of one of the phrases match in a text.
func namesIn(text, pattern string) (names []string) {
	for _, found := range phrases.Of(pattern).FindAllStringSubmatch(text, 40) {
		names = append(names, strings.TrimRight(strings.Join(found[1:], ""), "."))
	}
	return names
}

// isAbout reports whether a rejection names no other tool than the called one. A tool that calls a
// different server may pass on the rejection of its call.
func isAbout(text, tool string) bool {
	return !slices.ContainsFunc(namesIn(text, "tool name"), func(name string) bool {
		return !SameName(name, tool) && !sameInNamespace(name, tool)
	})
}

// RejectedBeforeRun reports whether a server's text proves that a library rejected the arguments of
// the call before the tool ran, so that the call had no effect: the text names no other tool, at
// least one argument that does not match the schema, and none that does.
func (d *Decision) RejectedBeforeRun(text string) bool {
	if d.outcome == nil || len(text) > maxComplaintLen || !phrases.Of("before-run").MatchString(strings.TrimSpace(text)) {
		return false
	}
	tools := append(namesIn(text, "tool name"), namesIn(text, "function name")...)
	if slices.ContainsFunc(tools, func(name string) bool { return !SameName(name, d.Tool) }) {
		return false
	}
	named, wrong := serverText{d.schema, d.outcome.sent, text}.named(), d.outcome.wrong()
	return len(named) > 0 && !slices.ContainsFunc(named, func(path []string) bool { return !slices.Contains(wrong, path[0]) })
}

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
		rejects := phrases.Of("rejecting").MatchString(line)
		return rejects && phrases.Of("input").MatchString(line) ||
			slices.ContainsFunc(wrong, func(name string) bool { return (rejects || len(name) >= minTelling) && hasName(line, name) }) ||
			slices.ContainsFunc(values, func(value string) bool { return quotes(line, value, rejects) })
	}
	others := text
	for _, name := range wrong {
		others = strings.ReplaceAll(others, name, "it")
	}
	if phrases.Of("other cause").MatchString(others) || !slices.ContainsFunc(strings.Split(text, "\n"), about) {
		return false
	}
	named := serverText{s, out.sent, text}.named()
	isWrong := func(path []string) bool { return slices.Contains(wrong, path[0]) }
	return len(named) == 0 || slices.ContainsFunc(named, isWrong)
}

// minTelling is the length, in bytes, of a name or value that a server hardly uses by chance.
const minTelling = 5

// beginsWithAny reports whether a server's text begins with the name of one of these arguments, as in
// `username is invalid`, and rejects it. What follows may then mention anything.
func beginsWithAny(text string, names []string) bool {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	rest := line[len(phrases.Of("error prefix").FindString(line)):]
	return phrases.Of("rejecting").MatchString(line) && slices.ContainsFunc(names, func(name string) bool {
		return name != "" && len(rest) >= len(name) && strings.EqualFold(rest[:len(name)], name) && !isWordByte(rest, len(name))
	})
}

// hasName reports whether a line has the words of a name.
func hasName(line, name string) bool {
	words := strings.Join(segments(name), " ")
	return words != "" && strings.Contains(" "+strings.Join(segments(line), " ")+" ", " "+words+" ")
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
	return at >= 0 && at < len(text) && (strings.IndexByte("_-0123456789", text[at]) >= 0 || text[at]|0x20 >= 'a' && text[at]|0x20 <= 'z')
}

// wrong returns the arguments that do not match the schema.
func (out *Outcome) wrong() []string { return wrongArguments(out.violations) }

// wrongArguments returns the arguments that are missing, that are not declared, or that have a value
// which does not match.
func wrongArguments(list []violation) (names []string) {
	for _, v := range list {
		keys, _ := missingKeys(v)
		if k, ok := v.kind.(*kind.AdditionalProperties); ok {
			keys = k.Properties
		}
		if len(v.path) > 0 {
			keys = v.path[:1]
		}
		names = append(names, keys...)
		for _, branch := range v.branches {
			names = append(names, wrongArguments(branch)...)
		}
	}
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

// plainComplaint reports whether a server's text says of an argument, without a library's phrase,
// that it is not accepted.
func (s *Schema) plainComplaint(sent []byte, text string) bool {
	found := phrases.Of("plain complaint").FindStringSubmatch(text)
	if found == nil || len(text) > maxComplaintLen {
		return false
	}
	doc, _ := decode(string(sent))
	return serverText{s.Ready(), doc.value, text}.isName(found[1])
}
