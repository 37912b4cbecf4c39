package main

import (
	"regexp"
	"strings"
)

var (
	word    = regexp.MustCompile(`[\p{L}'’-]{2,}`)
	program = regexp.MustCompile(`\(\?[a-zP:]|\[\^|\\[bsdw]\b|[{;] ?\w+ ?[:(]|^<|=>|\|\|`)
	query   = regexp.MustCompile(`^(?i:select|insert|update|delete|create|pragma) |\b(?:SELECT|WHERE|ORDER BY) |\bCAST\(`)

	jsonText = regexp.MustCompile(`^(?:\[\]?)?\{"|^"\w+":`)
	jsonSaid = regexp.MustCompile(`"(?:title|description|message|reason)":"([^"]+)"`)

	command  = regexp.MustCompile(`^(?:sudo )?(?:gauze|apt-get|apk|brew|chmod|claude|curl|docker|dpkg|go|node|npm|npx|pacman|pip3?|pipx|python3?|rpm|systemctl|uv|uvx|winget) `)
	sentence = regexp.MustCompile(`[:.,;] |[:.]$|\b(?:an?|and|are|be|cannot|does|for|has|is|its?|must|not|of|or|shows|that|the|this|to|was|were|with|your?)\b`)
)

// readable returns the messages in a text whose words are separated by single spaces: the text itself, what
// JSON says in it, or none if it is a pattern, a query, code or just a command.
func readable(text string) (messages []string) {
	if jsonText.MatchString(text) {
		for _, said := range jsonSaid.FindAllStringSubmatch(text, -1) {
			messages = append(messages, readable(said[1])...)
		}
		return messages
	}
	isCommand := command.MatchString(text) && !sentence.MatchString(text)
	if len(word.FindAllString(text, 3)) < 3 || !strings.Contains(text, " ") || isCommand || program.MatchString(text) || query.MatchString(text) {
		return nil
	}
	return []string{text}
}
