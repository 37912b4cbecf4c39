package doctor

import "strings"

// argumentClues returns how servers ask for words on the command line.
func argumentClues() map[string][]clue {
	const word = `(?:argument|option|flag|parameter|switch|positional)s?`
	return map[string][]clue{
		"required_argument_missing": {
			{strong, `(?i)\b(?:command[- ]line|cli|positional) ` + word + `\b`, asksForWords},
			{strong, `(?i)\bas (?:an?|the)(?: first| second| last| only)?(?: required| positional)? ` + word + `\b`, asksForWords},
			{strong, `(?i)(?:^|[\s'"` + "`" + `(])(?P<option>--[a-z][\w-]+)['"` + "`" + `]?(?: <[^>\n]+>)? (?:` + word + ` )?(?:is|are|was|must be|has to be) (?:required|missing|mandatory|needed|not (?:set|provided|given|specified)|set|provided|given|specified)\b`, asksForWords},
			{strong, `(?i)\b(?:must|please|need to|have to) (?:pass|provide|specify|give|supply|set|use|add)(?: (?:a|an|the|at least|either|one of|valid|your))* ['"` + "`" + `]?(?P<option>--[a-z][\w-]+)`, asksForWords},
			{strong, `(?i)\b(?:missing|requires?|required|without|no) (?:the |a |an |required )*['"` + "`" + `]?(?P<option>--[a-z][\w-]+)`, asksForWords},
			{certain, `^(?:\S+ )?(?:Error: )?(?i:missing required arguments?): (?P<option>[\w-]+(?:, [\w-]+)*)\s*$`, func(x *exam, m *match) bool { return !ofACall.MatchString(x.text) && asksForWords(x, m) }},
			{strong, `(?i)\bUsage: \S[^\n]{0,60}<(?P<option>[\w -]+)>`, asksForWords},
			{strong, `(?i)\b(?:no|missing|at least one|specify|provide|requires?)\b[^\n]{0,40}\b(?P<option>director(?:y|ies)|path|folder|file|url|connection string|vault|repository)\b[^\n]{0,40}\b` + word + `\b`, asksForWords},
		},
	}
}

// asksForWords reports whether a line asks for words on the command line and for no variable. Only a
// server that a command starts has a command line, and only its own complaints count.
func asksForWords(x *exam, m *match) bool {
	return x.URL == "" && wantsWords.MatchString(m.said) && !capitals.MatchString(m.said) && !strings.Contains(m.said, "()") && !aboutCallLine(m) && !reporting.MatchString(m.said)
}

var (
	wantsWords = &wording{source: `(?i)\b(?:command[- ]line|cli|positional)\b|\bas (?:an?|the)\b[^\n]{0,20}\bargument\b|(?:^|[\s'"(])--[a-z][\w-]+|\bUsage: |missing required arguments?: `}
	capitals   = &wording{source: `\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b|(?i:environment variable|\benv var)`}
)
