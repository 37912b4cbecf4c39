package reference

import "strings"

// Part is a part of an entry in which a client may expand references.
type Part uint8

const (
	Command Part = 1 << iota
	Args
	Environment
	URL
	Headers
	Cwd

	Everywhere = Command | Args | Environment | URL | Headers | Cwd
)

// Words returns the names of the parts.
func (Part) Words() []string {
	return []string{"command", "args", "env", "url", "headers", "cwd"}
}

// Dialect describes which references a client expands, and where. The zero value is a client whose
// behavior is unknown.
type Dialect struct {
	Forms Form // zero if unknown
	In    Part
	Unset string `one:"kept, empty"` // how it expands a variable that is not set; empty if unknown

	Windows Form // additional forms on Windows
}

// On returns the dialect on an operating system.
func (d Dialect) On(system string) Dialect {
	if system == "windows" {
		d.Forms |= d.Windows
	}
	return d
}

// Lookup returns the value of a variable.
type Lookup func(name string) (string, bool)

// Expansion is a string as the server would receive it.
type Expansion struct {
	Text    string
	Unset   []string    // variables without a value
	Waiting []Reference // references that the user, a file or a program must supply
}

// Expand expands a string as the client would. Directories come from lookup under the names of
// their form, such as "workspaceFolder". No file is read and nothing is run for a reference: it is
// added to Waiting.
func (d Dialect) Expand(text string, in Part, lookup Lookup) Expansion {
	e := Expansion{Text: text}
	if d.In&in == 0 {
		return e
	}
	var b strings.Builder
	last := 0
	for _, r := range Find(text) {
		if r.Form&d.Forms == 0 {
			continue
		}
		value, known := "", false
		if r.Form&(Variables|Folder) != 0 {
			value, known = lookup(r.Name)
		}
		switch {
		case known && (value != "" || r.Form != Default): // ${NAME:-x} also uses x for an empty value
		case r.Form == Default:
			value = r.Otherwise
		case r.Form&Variables == 0:
			e.Waiting = append(e.Waiting, r)
			continue
		default:
			e.Unset = append(e.Unset, r.Name)
			if d.Unset != "empty" {
				continue
			}
		}
		b.WriteString(text[last:r.From])
		b.WriteString(value)
		last = r.To
	}
	b.WriteString(text[last:])
	e.Text = b.String()
	return e
}

// MayExpand reports whether a client may replace a part of a text. A dollar sign may also start a
// reference that Find does not know.
func (d Dialect) MayExpand(text string, in Part) bool {
	if d.Forms != 0 && d.In&in == 0 {
		return false
	}
	return strings.Contains(text, "$") || len(Find(text)) > 0
}

// Foreign returns the intended references that this client passes on unexpanded. It is empty if the
// client's behavior is unknown.
func (d Dialect) Foreign(text string, in Part) (all []Reference) {
	if d.Forms == 0 {
		return nil
	}
	for _, r := range Find(text) {
		if (r.Form&d.Forms == 0 || d.In&in == 0) && r.Meant(text) {
			all = append(all, r)
		}
	}
	return all
}

// Spell writes a reference to a variable in the client's least ambiguous form.
func (d Dialect) Spell(name string, in Part) (string, bool) {
	if d.In&in == 0 {
		return "", false
	}
	for _, form := range []Form{Env, Braces, Curly, Secret, Bare} {
		if d.Forms&form != 0 {
			return Reference{Form: form, Name: name}.String(), true
		}
	}
	return "", false
}
