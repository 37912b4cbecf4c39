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

// Unset says what becomes of a reference to a variable that is not set.
type Unset uint8

const (
	Unsaid Unset = iota // nobody wrote it down; we leave it as it is
	Left                // it stays as it is written
	Empty               // it becomes nothing
)

// Dialect is what one client expands, and where. The zero value is a client of
// which nobody knows whether it expands anything.
type Dialect struct {
	Known bool
	Forms Form // none, and Known: it expands nothing
	In    Part
	Unset Unset

	Windows Form // more forms on Windows
}

// On is the dialect on a system.
func (d Dialect) On(system string) Dialect {
	if system == "windows" {
		d.Forms |= d.Windows
	}
	return d
}

// Lookup finds the value of a variable.
type Lookup func(name string) (string, bool)

// Expansion is a text as the server would get it.
type Expansion struct {
	Text    string
	Unset   []string    // variables without a value
	Waiting []Reference // what a person, a file or a program would have to say
}

// Expand does to a text what the client would. Folders come from lookup under
// the names of their form, "workspaceFolder" and so on. Files are not read and
// nothing is run: such references wait.
func (d Dialect) Expand(text string, in Part, lookup Lookup) Expansion {
	e := Expansion{Text: text}
	if d.Forms == 0 || d.In&in == 0 {
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
		case known && (value != "" || r.Form != Default): // ${NAME:-x} takes x for an empty one, too
		case r.Form == Default:
			value = r.Otherwise
		case r.Form&Variables == 0:
			e.Waiting = append(e.Waiting, r)
			continue
		default:
			e.Unset = append(e.Unset, r.Name)
			if d.Unset != Empty {
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

// Foreign lists references that were meant and that this client hands on as they
// are written. It is empty if nobody knows what the client expands.
func (d Dialect) Foreign(text string, in Part) (all []Reference) {
	if !d.Known {
		return nil
	}
	for _, r := range Find(text) {
		if (r.Form&d.Forms == 0 || d.In&in == 0) && r.Meant(text) {
			all = append(all, r)
		}
	}
	return all
}

// Spell writes a reference to a variable as the client reads it, in the form
// that leaves least room for doubt.
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
