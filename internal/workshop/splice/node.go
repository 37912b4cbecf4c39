package splice

import "encoding/json"

// node is a value with its position.
type node struct {
	start    int
	end      int
	text     string // a string decoded; a number or time as written
	children []child

	index  map[string]int // TOML: children by name
	target *node          // YAML: what this alias refers to
	anchor string         // YAML

	props     int32 // YAML: where the anchor or tag begins; start if there is none
	homeBlock int32 // TOML: the block whose dotted keys created it
	expanded  int32 // YAML: number of nodes with all aliases expanded
	depth     int32 // YAML: depth with all aliases expanded

	kind      Kind
	truth     bool
	bracketed bool        // written in [ ] or { }, which start and end include
	absent    bool        // nothing is written: an empty file or a YAML null
	scattered bool        // TOML: a table made of headers or dotted keys
	origin    tableOrigin // TOML: what created the table
	tagged    bool        // YAML
	aliased   bool        // YAML: an alias refers to it
	style     byte        // YAML, TOML: the quote of a string, '|' or '>' of a block scalar; 0 if plain
}

// child is a member of a map or an item of a list.
type child struct {
	name   string
	start  int // of the key, of YAML's dash, otherwise of the value
	keyEnd int
	after  int // after the colon, the equals sign or the dash
	hidden bool
	node   *node
}

// end returns where an entry ends.
func (c *child) end() int { return max(c.after, c.node.end) }

func (n *node) resolve() *node {
	if n.target != nil {
		return n.target
	}
	return n
}

func (n *node) step(step any) *node {
	n = n.resolve()
	switch step := step.(type) {
	case string:
		if n.kind != MapKind {
			return nil
		}
		if c := n.find(step); c != nil {
			return c.node
		}
		for _, c := range n.merged() {
			if c.name == step {
				return c.node
			}
		}
	case int:
		if n.kind == ListKind && step >= 0 && step < len(n.children) {
			return n.children[step].node
		}
	}
	return nil
}

// find returns the member with that key, the last one if there are several.
func (n *node) find(name string) *child {
	if n.index != nil {
		if i, ok := n.index[name]; ok {
			return &n.children[i]
		}
		return nil
	}
	for i := len(n.children) - 1; i >= 0; i-- {
		if n.children[i].name == name && n.kind == MapKind {
			return &n.children[i]
		}
	}
	return nil
}

// members returns the members that are not hidden, including those from YAML
// merge keys.
func (n *node) members() (all []child) {
	n = n.resolve()
	for _, c := range n.children {
		if !c.hidden && !c.isMerge() {
			all = append(all, c)
		}
	}
	return append(all, n.merged()...)
}

// isMerge reports whether c is "<<" with aliases of maps. Anything else after
// "<<" makes it an ordinary key.
func (c child) isMerge() bool { return len(c.sources()) > 0 }

// sources returns the maps that a merge key refers to.
func (c child) sources() (all []*node) {
	if c.name != "<<" || c.node == nil {
		return nil
	}
	candidates := []child{c}
	if c.node.target == nil && c.node.kind == ListKind {
		candidates = c.node.children
	}
	for _, candidate := range candidates {
		source := candidate.node.target
		if source == nil || source.kind != MapKind {
			return nil
		}
		all = append(all, source)
	}
	return all
}

// merged returns the members that n gets from merge keys and does not override.
func (n *node) merged() (all []child) {
	var known map[string]bool
	for _, c := range n.children {
		for _, source := range c.sources() {
			if known == nil {
				known = map[string]bool{}
				for _, own := range n.children {
					known[own.name] = true
				}
			}
			for _, m := range source.members() {
				if !known[m.name] {
					known[m.name] = true
					all = append(all, m)
				}
			}
		}
	}
	return all
}

func (n *node) value() any {
	n = n.resolve()
	switch n.kind {
	case BoolKind:
		return n.truth
	case NumberKind:
		return json.Number(n.text)
	case StringKind:
		return n.text
	case TimeKind:
		return Clock(n.text)
	case ListKind:
		items := make([]any, 0, len(n.children))
		for _, c := range n.children {
			items = append(items, c.node.value())
		}
		return items
	case MapKind:
		m := make(Map, 0, len(n.children))
		for _, c := range n.members() {
			m = append(m, Member{c.name, c.node.value()})
		}
		return m
	}
	return nil
}

// hide marks members of a complete map that a later one with the same key hides.
func (n *node) hide() {
	seen := map[string]bool{}
	for i := len(n.children) - 1; i >= 0; i-- {
		c := &n.children[i]
		if len(n.children) < 12 { // the usual case, without the map
			c.hidden = n.find(c.name) != c
			continue
		}
		c.hidden, seen[c.name] = seen[c.name], true
	}
}
