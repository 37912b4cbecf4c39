package clientconfig

import (
	"reflect"

	"github.com/gauze-mcp/gauze/internal/splice"
)

// sameBeside reports whether two readings of a file are equal everywhere except at these paths.
// Aliases and merge keys are expanded, so that a change to one entry shows in all that share it.
func (c *Config) sameBeside(now *Config, paths ...[]any) bool {
	skipped := places{}
	for _, path := range paths {
		skipped.add(path)
	}
	return now.Doc != nil && sameBut(c.Doc.Root().Value(), now.Doc.Root().Value(), skipped)
}

// places is a tree of paths: what follows each first step. A path ends where nothing follows.
type places map[any]places

func (p places) add(path []any) {
	for _, step := range path {
		if p[step] == nil {
			p[step] = places{}
		}
		p = p[step]
	}
}

// sameAll reports whether two readings are equal everywhere.
func (c *Config) sameAll(now *Config) bool {
	return now.Doc != nil && reflect.DeepEqual(c.Doc.Root().Value(), now.Doc.Root().Value())
}

func sameBut(a, b any, skipped places) bool {
	if len(skipped) == 0 {
		return true
	}
	switch a := a.(type) {
	case splice.Map:
		b, ok := b.(splice.Map)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if a[i].Name != b[i].Name || !sameStep(a[i].Value, b[i].Value, a[i].Name, skipped) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !sameStep(a[i], b[i], i, skipped) {
				return false
			}
		}
		return true
	}
	return false
}

// sameStep descends along the paths, or compares what is beside them.
func sameStep(a, b, step any, skipped places) bool {
	if deeper, is := skipped[step]; is {
		return sameBut(a, b, deeper)
	}
	return reflect.DeepEqual(a, b)
}

// aliased reports whether the entry, its command or its arguments are defined elsewhere.
func (c *Config) aliased(e *Entry) bool {
	command, hasCommand := member(e.node, e.fields.Command)
	args, hasArgs := member(e.node, e.fields.Args)
	return e.outer.Alias() || hasCommand && command.Alias() || hasArgs && args.Alias()
}
