package clientconfig

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gauze-mcp/gauze/internal/workshop/splice"
)

// Edit is a list of changes to a file, applied in order. All other bytes stay.
type Edit []Change

// Change is one change of an Edit.
type Change struct {
	Do    Op
	Path  []any  // for Set, Remove and Rename
	Value any    // for Set
	Name  string // for Rename: the new name
	From  int    // for Put: these bytes of the file
	To    int
	Old   string // for Put: the expected content
	Text  string // for Put: the new content
}

// Op is what a Change does.
type Op int

const (
	Set Op = iota
	Remove
	Rename
	Put
)

var errMoved = errors.New("another program edited the file, so the change no longer applies")

// Apply returns the file with the changes made.
func (e Edit) Apply(f splice.Format, file []byte) ([]byte, error) {
	if f == splice.JSON {
		f = splice.JSONC // the fix may be for what the client rejects
	}
	for i := 0; i < len(e); i++ {
		if e[i].Do == Put {
			var err error
			n := e[i:].backwardPuts()
			if file, err = e[i : i+n].put(file); err != nil {
				return nil, err
			}
			i += n - 1
			continue
		}
		d, err := splice.Parse(f, file)
		if err != nil {
			return nil, err
		}
		for ; i < len(e) && e[i].Do != Put; i++ { // parse once for all changes of the same kind
			if d, err = e[i].on(d); err != nil {
				return nil, fmt.Errorf("%v: %w", e[i].Path, err)
			}
		}
		i--
		file = d.Bytes()
	}
	return file, nil
}

// backwardPuts returns how many changes at the start are Puts that go from the end of the file to
// its start, so that none shifts the next.
func (e Edit) backwardPuts() (n int) {
	for n < len(e) && e[n].Do == Put && (n == 0 || e[n].To <= e[n-1].From) {
		n++
	}
	return n
}

// put applies backward Puts in one pass over the file.
func (e Edit) put(file []byte) ([]byte, error) {
	var out []byte
	done := 0
	for _, c := range slices.Backward(e) {
		if c.From < done || c.To > len(file) || c.From > c.To || string(file[c.From:c.To]) != c.Old {
			return nil, errMoved
		}
		out = append(append(out, file[done:c.From]...), c.Text...)
		done = c.To
	}
	return append(out, file[done:]...), nil
}

func (c Change) on(d *splice.Document) (*splice.Document, error) {
	switch c.Do {
	case Set:
		return d.Set(c.Path, c.Value)
	case Remove:
		return d.Remove(c.Path)
	}
	return d.Rename(c.Path, c.Name)
}

// below returns a path extended by more steps.
func below(path []any, more ...any) []any {
	return append(append(make([]any, 0, len(path)+len(more)), path...), more...)
}

// when returns an edit if a condition holds.
func when(holds bool, changes ...Change) Edit {
	if !holds {
		return nil
	}
	return changes
}

func set(value any, path []any, more ...any) Change {
	return Change{Do: Set, Path: below(path, more...), Value: value}
}

func remove(path []any, more ...any) Change { return Change{Do: Remove, Path: below(path, more...)} }

func rename(to string, path []any, more ...any) Change {
	return Change{Do: Rename, Path: below(path, more...), Name: to}
}
