// Package reference parses and writes references to variables in the forms of MCP clients, such as
// ${NAME}, ${env:NAME}, {env:NAME} and $NAME.
package reference

import (
	"regexp"
	"strings"
	"sync"
)

// Form is one way to write a reference, or a set of them.
type Form uint16

const (
	Braces    Form = 1 << iota // ${NAME}
	Default                    // ${NAME:-otherwise}
	Env                        // ${env:NAME}
	Curly                      // {env:NAME}
	Bare                       // $NAME
	Percent                    // %NAME%
	Double                     // {{NAME}}, used in templates: no client expands it
	Secret                     // ${{ secrets.NAME }}
	Input                      // ${input:NAME}: the client asks the user
	File                       // ${file:PATH}: the content of a file
	CurlyFile                  // {file:PATH}
	Folder                     // ${workspaceFolder}, ${userHome} and others
	Shell                      // $(COMMAND): its output
	Nothing                    // the client is known to expand no reference
)

// Words returns the forms as they are written.
func (Form) Words() []string {
	return []string{"${NAME}", "${NAME:-default}", "${env:NAME}", "{env:NAME}", "$NAME", "%NAME%", "{{NAME}}", "${{ secrets.NAME }}",
		"${input:NAME}", "${file:PATH}", "{file:PATH}", "${workspaceFolder}", "$(COMMAND)", "nothing"}
}

// Variables are the forms that name an environment variable.
const Variables = Braces | Default | Env | Curly | Bare | Percent

// Reference is a reference in a string.
type Reference struct {
	From, To  int
	Form      Form
	Name      string
	Otherwise string // for Default
}

// shape has one group for the name in each alternative, in the order of alternatives. More specific
// forms come first.
var shape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{\{\s*(?:secrets|inputs)\.([\w.-]+)\s*\}\}` +
		`|\$\{env:([A-Za-z_]\w*)\}` +
		`|\$\{input:([^}]+)\}` +
		`|\$\{file:([^}]+)\}` +
		`|\$\{(workspaceFolder(?:Basename)?|workspaceRoot|userHome|pathSeparator|cwd|/)\}` +
		`|\$\{([A-Za-z_]\w*):-([^}]*)\}` +
		`|\$\{([A-Za-z_]\w*)\}` +
		`|\{env:([A-Za-z_]\w*)\}` +
		`|\{file:([^}]+)\}` +
		`|\{\{\s*([A-Za-z_]\w*)\s*\}\}` +
		`|%([A-Za-z_]\w*)%` +
		`|\$\(([^()]+)\)` +
		`|\$([A-Za-z_]\w*)`)
})

var alternatives = []struct {
	group int
	form  Form
}{{1, Secret}, {2, Env}, {3, Input}, {4, File}, {5, Folder}, {6, Default}, {8, Braces}, {9, Curly}, {10, CurlyFile}, {11, Double}, {12, Percent}, {13, Shell}, {14, Bare}}

const otherwiseGroup = 7

// Find returns the references in a string, in any dialect.
func Find(text string) (all []Reference) {
	if !strings.ContainsAny(text, "${%") {
		return nil
	}
	for _, at := range shape().FindAllStringSubmatchIndex(text, 64) {
		for _, a := range alternatives {
			if at[2*a.group] < 0 {
				continue
			}
			r := Reference{From: at[0], To: at[1], Form: a.form, Name: text[at[2*a.group]:at[2*a.group+1]]}
			if a.form == Default {
				r.Otherwise = text[at[2*otherwiseGroup]:at[2*otherwiseGroup+1]]
			}
			all = append(all, r)
			break
		}
	}
	return all
}

// Meant reports whether a reference is intended. $NAME and %NAME% may be part of a password: they
// count only if they are the whole string or are delimited like a value.
func (r Reference) Meant(text string) bool {
	if r.Form&(Bare|Percent) == 0 {
		return true
	}
	before, after := text[:r.From], text[r.To:]
	return (before == "" || strings.ContainsRune("=: /", rune(before[len(before)-1]))) && (after == "" || strings.ContainsRune(`/\: `, rune(after[0])))
}

// around is what is written before and after the name in each form.
var around = map[Form][2]string{
	Braces: {"${", "}"}, Env: {"${env:", "}"}, Curly: {"{env:", "}"}, Bare: {"$", ""}, Percent: {"%", "%"}, Double: {"{{", "}}"}, Secret: {"${{ secrets.", " }}"},
	Input: {"${input:", "}"}, File: {"${file:", "}"}, CurlyFile: {"{file:", "}"}, Folder: {"${", "}"}, Shell: {"$(", ")"},
}

// String returns the reference as written.
func (r Reference) String() string {
	if r.Form == Default {
		return "${" + r.Name + ":-" + r.Otherwise + "}"
	}
	return around[r.Form][0] + r.Name + around[r.Form][1]
}
