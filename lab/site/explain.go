package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// explain returns the Markdown of the page that has the whole catalogue of gauze explain, with a heading
// for each code.
func (s *site) explain() []byte {
	all := fleet.Catalogue()
	for _, e := range all {
		s.codes[string(e.Code)] = true
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# What a code means\n\nEvery fault, cause and configuration problem that Gauze reports has a code. `gauze explain CODE` prints what is on this page, for %d codes.\n", len(all))
	kind := fault.Kind(-1)
	for _, e := range all {
		if e.Kind != kind {
			kind = e.Kind
			fmt.Fprintf(&b, "\n## %ss\n", plaintext.UpperFirst(kind.String()))
		}
		s.explainOne(&b, e)
	}
	return []byte(b.String())
}

func (s *site) explainOne(b *strings.Builder, e fault.Entry) {
	fmt.Fprintf(b, "\n### %s\n\n**%s.**\n\n", escapeMarkdown(string(e.Code)), escapeMarkdown(plaintext.UpperFirst(strings.TrimSuffix(e.Title, "."))))
	for _, part := range []struct{ title, text string }{{"", e.Means}, {"Why it happens", e.Why}, {"What gauze did", e.Did}} {
		switch {
		case part.text == "":
		case part.title == "":
			fmt.Fprintf(b, "%s\n\n", paragraph(part.text))
		default:
			fmt.Fprintf(b, "*%s:* %s\n\n", part.title, paragraph(part.text))
		}
	}
	if len(e.Do) > 0 {
		b.WriteString("What you can do:\n\n")
	}
	for _, step := range e.Do {
		fmt.Fprintf(b, "- %s\n", paragraph(step.Text))
		if step.Command != "" {
			fmt.Fprintf(b, "\n  ```\n  %s\n  ```\n", strings.ReplaceAll(step.Command, "\n", "\n  "))
		}
	}
	if len(e.Follows) > 0 {
		var codes []string
		for _, code := range e.Follows {
			codes = append(codes, "`"+string(code)+"`")
		}
		fmt.Fprintf(b, "\nPossible causes: %s\n", strings.Join(codes, ", "))
	}
	if e.Kind == fault.KindFault {
		fmt.Fprintf(b, "\nJSON-RPC error %d, retry advice `%s`.\n", e.RPC, e.Retry)
	}
}

// paragraph returns a text of the catalogue as one paragraph of Markdown.
func paragraph(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if !strings.Contains(text, "`") {
		text = flagName.ReplaceAllString(text, "$1`$2`")
	}
	return escapeMarkdown(text)
}

// flagName is a flag in a text.
var flagName = regexp.MustCompile(`(^|[ (])(--[a-z][a-z-]*[a-z])`)

// escapeMarkdown returns a text that Markdown shows as it is, except for code in backquotes.
func escapeMarkdown(text string) string {
	parts := strings.Split(text, "`")
	if len(parts)%2 == 0 {
		parts = []string{strings.ReplaceAll(text, "`", "\\`")}
	}
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `_`, `\_`, `[`, `\[`, `]`, `\]`, `<`, `\<`, `>`, `\>`, `#`, `\#`, `|`, `\|`, `~`, `\~`, `&`, `\&`).Replace(parts[i])
	}
	return strings.Join(parts, "`")
}
