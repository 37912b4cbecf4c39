package doctor

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// pastedEntry returns the words of a command that is given as members of an entry, such as
// `"command": "npx", "args": ["-y", "notes"]`. The program may then contain spaces.
func pastedEntry(text string) []string {
	found := commandMember.FindStringSubmatch(text)
	if found == nil {
		return nil
	}
	words := []string{unquoted(found[1])}
	if list := argsMember.FindStringSubmatch(text); list != nil {
		for _, word := range quotedString.FindAllString(list[1], 64) {
			words = append(words, unquoted(word))
		}
	}
	return words
}

func unquoted(text string) string {
	var word string
	if json.Unmarshal([]byte(text), &word) != nil {
		return strings.Trim(text, `"`)
	}
	return word
}

var (
	commandMember = &wording{source: `"command"\s*:\s*("(?:[^"\\]|\\.)*")`}
	argsMember    = &wording{source: `"args"\s*:\s*\[((?:[^\]"\\]|"(?:[^"\\]|\\.)*")*)\]`}
	quotedString  = &wording{source: `"(?:[^"\\]|\\.)*"`}
)

// wholeLine reports whether the program of the entry is a whole command line.
func (x *exam) wholeLine() bool {
	return len(x.Command) > 0 && strings.Contains(x.Command[0], " ") &&
		(flagInside.MatchString(x.Command[0]) || assigned.MatchString(x.Command[0]) || envPrefix.MatchString(x.Command[0]))
}

var envPrefix = &wording{source: `^(?:/usr/bin/)?env (?:-\S+ )*[A-Za-z_]\w*=`}

// pastedClues returns clues that rest on an entry in the evidence itself, and on the shape of the
// configured command.
func pastedClues() map[string][]clue {
	return map[string][]clue{
		"command_and_args_in_one_string": {
			{likely, "", func(x *exam, m *match) bool {
				if !x.wholeLine() || !x.onlySymptom(m, nil) {
					return false
				}
				m.names["command"] = x.Command[0]
				return true
			}},
			{guess, `"command"\s*:\s*"(?P<command>(?:env [A-Z]\w*=\S* )?(?:npx|uvx|uv|node|python3?|bunx|docker) [^"\n]+)"`, func(x *exam, _ *match) bool {
				return strings.Contains(x.text, "ervers\"")
			}},
		},
		"json_syntax": {
			{guess, "", func(x *exam, m *match) bool {
				line, ok := brokenJSON(x.text)
				m.said = line
				return ok
			}},
		},
		"wsl_boundary": {
			{guess, "", func(x *exam, m *match) bool { return x.runs("wsl") && x.onlySymptom(m, nil) }},
		},
		"windows_cmd_shim": {
			{guess, "", func(x *exam, m *match) bool {
				return len(x.Command) > 1 && shims.MatchString(x.Command[0]) && x.windowsHost() && !x.remote() && !wroteStderr.MatchString(x.text) && x.onlySymptom(m, closedAtOnce) && closedAtOnce.MatchString(m.said)
			}},
		},
		"proxy_env_breaks": {
			{likely, "", func(x *exam, m *match) bool {
				return (proxyVariable.MatchString(x.line) || slices.ContainsFunc(x.Env, proxyVariable.MatchString)) && x.onlySymptom(m, unreachable)
			}},
		},
		"private_ca_not_trusted": {
			{guess, `(?i)\bfetch failed\b`, func(x *exam, m *match) bool { // public authorities do not sign such names
				return privateHTTPS.MatchString(x.line) || privateHTTPS.MatchString(m.said)
			}},
		},
		"stdin_not_connected": {
			{guess, "", func(x *exam, m *match) bool { // it serves stdio, and the container has no stdin
				where := onStdio.FindStringIndex(x.text)
				if where == nil || !x.container() || x.interactive() || x.startsHTTP() {
					return false
				}
				m.said = x.page.line(where[0])
				return true
			}},
		},
		"space_in_path_argument": {
			{guess, "", func(x *exam, m *match) bool { return x.splitArgument() && x.onlySymptom(m, nil) }},
		},
		"orphan_processes": {
			{strong, `CONTAINER ID\s+IMAGE`, sameImages},
		},
	}
}

var (
	shims        = &wording{source: `^(?:npx|npm|pnpm|pnpx|yarn|bunx)$`}
	closedAtOnce = &wording{source: `(?i)connection closed|client closed`}
	wroteStderr  = &wording{source: `(?i)stderr|npm (?:warn|err)|\bInstalled \d+ packages|\binitialized?\b|successfully`}
)

var (
	proxyVariable = &wording{source: `(?i)\b(?:HTTPS?|ALL)_PROXY\b`}
	privateHTTPS  = &wording{source: `(?i)https:/{0,2}(?:<internal|[\w.-]+\.(?:local|internal|corp|lan|intra|intranet|home)\b|(?:10|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.)|\binternal https\b`}
	onStdio       = &wording{source: `(?i)\b(?:start(?:ed|ing)|running|listening|ready)\b[^\n]*\bstdio\b|\btransport[ :=]{1,2}['"]?stdio\b`}
)

// splitArgument reports whether a path among the arguments was split at its spaces: the words after
// it continue it.
func (x *exam) splitArgument() bool {
	for i, word := range x.Command {
		if i == 0 || !strings.HasPrefix(word, "/") && !drivePath.MatchString(word) || strings.Contains(path.Base(word), ".") {
			continue
		}
		rest := x.Command[i+1:]
		if len(rest) > 1 && !slices.ContainsFunc(rest, func(word string) bool { return !barePathWord.MatchString(word) }) {
			return true
		}
	}
	return false
}

var barePathWord = &wording{source: `^[A-Za-z]\w*$`}

// sameImages reports whether docker ps shows three containers of one image.
func sameImages(x *exam, m *match) bool {
	count := map[string]int{}
	for line := range strings.SplitSeq(x.text, "\n") {
		if words := strings.Fields(line); len(words) > 3 && containerID.MatchString(words[0]) {
			if count[words[1]]++; count[words[1]] >= 3 {
				return true
			}
		}
	}
	return false
}

var containerID = &wording{source: `^[0-9a-f]{12}$`}

// brokenJSON reports whether the text contains a client's configuration with a syntax error, and
// returns the line of the error. Comments and abbreviations are not errors, and a configuration may be
// cut off at its end.
func brokenJSON(text string) (line string, broken bool) {
	start := configStart.FindStringIndex(text)
	if start == nil {
		return "", false
	}
	var open []byte
	last := byte(0) // the last significant byte; '"' for a whole string, 'v' for another value
	for i := start[0]; i < len(text); i++ {
		switch c := text[i]; {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			continue
		case c == '"':
			if len(open) > 0 && (last == '"' || last == '}' || last == ']' || last == 'v') {
				return lineAt(text, i), strings.Contains(text[max(0, i-80):i], "\n") // a comma is missing
			}
			end := i + 1
			for end < len(text) && text[end] != '"' && text[end] != '\n' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(text) || text[end] != '"' {
				return "", false
			}
			i, last = end, '"'
		case c == '{' || c == '[':
			open, last = append(open, c), c
		case c == '}' || c == ']':
			if len(open) == 0 || open[len(open)-1] != c-2 || last == ',' { // in ASCII, brackets are two apart
				return lineAt(text, i), true
			}
			open, last = open[:len(open)-1], c
			if len(open) == 0 {
				rest := strings.TrimLeft(text[i+1:], " \n\t\r")
				return lineAt(text, i), strings.HasPrefix(rest, "}") || strings.HasPrefix(rest, "]")
			}
		case c == ',' || c == ':':
			last = c
		case strings.HasPrefix(text[i:], "“") || strings.HasPrefix(text[i:], "”"):
			return lineAt(text, i), true
		case c == '.' || c == '/' || c == '#' || c == '<' || c >= 0x80:
			return "", false
		default:
			last = 'v'
		}
	}
	return "", false
}

var configStart = &wording{source: `\{\s*["“](?:mcpServers|servers|mcp|context_servers|command)["”]\s*:|\{\s*["“][\w -]+["”]\s*:\s*\{\s*["“](?:command|type|url)["”]\s*:`}

func lineAt(text string, at int) string { return (&page{text: text}).line(at) }
