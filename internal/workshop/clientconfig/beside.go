package clientconfig

import (
	"reflect"
	"slices"

	"github.com/gauze-mcp/gauze/internal/workshop/splice"
)

// sameBeside reports whether two readings of a file are equal everywhere except at these paths.
// Aliases and merge keys are expanded, so that a change to one entry shows in all that share it.
func (c *Config) sameBeside(now *Config, paths ...[]any) bool {
	changed := places{}
	for _, path := range paths {
		changed.add(path)
	}
	return now.Doc != nil && reflect.DeepEqual(changed.without(c.Doc.Root().Value()), changed.without(now.Doc.Root().Value()))
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

// without returns a copy of a value with nothing at these paths.
func (p places) without(v any) any {
	if len(p) == 0 {
		return nil
	}
	switch v := v.(type) {
	case splice.Map:
		rest := slices.Clone(v)
		for i, m := range rest {
			if deeper, is := p[m.Name]; is {
				rest[i].Value = deeper.without(m.Value)
			}
		}
		return rest
	case []any:
		rest := slices.Clone(v)
		for i, item := range rest {
			if deeper, is := p[i]; is {
				rest[i] = deeper.without(item)
			}
		}
		return rest
	}
	return v
}

// aliased reports whether the entry, its command or its arguments are defined elsewhere.
func (s *source) aliased() bool {
	command, hasCommand := member(s.node, s.fields.Command)
	args, hasArgs := member(s.node, s.fields.Args)
	return s.outer.Alias() || hasCommand && command.Alias() || hasArgs && args.Alias()
}
