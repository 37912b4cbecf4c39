package repair

import (
	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema"
	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema/kind"
)

// closest returns the branch of anyOf or oneOf that a value is closest to: the one with the fewest
// violations, where a violation of a fixed field, such as the type of a shape, counts more. There
// is none if no branch accepts values of this type, nor for a scalar, where it is better to
// describe all branches.
func closest(v violation, at any) (int, bool) {
	if !isContainer(at) {
		return 0, false
	}
	best, least := -1, 0
	nodes := branchesOf(v)
	for i, branch := range v.branches {
		far, ok := branchDistance(branch, len(v.path))
		if object, is := at.(map[string]any); is && i < len(nodes) {
			far += 7 * undeclaredKeys(object, nodes[i])
		}
		if ok && (best < 0 || far < least) {
			best, least = i, far
		}
	}
	return best, best >= 0
}

// branchesOf returns the schemas of the branches of a violation.
func branchesOf(v violation) []*jsonschema.Schema {
	if _, one := v.kind.(*kind.OneOf); one {
		return v.node.OneOf
	}
	return v.node.AnyOf
}

// undeclaredKeys counts the keys of an object that a schema does not declare.
func undeclaredKeys(object map[string]any, node *jsonschema.Schema) int {
	d := gather(node)
	n := 0
	for key := range object {
		if len(d.inside(key)) == 0 {
			n++
		}
	}
	return n
}

// branchDistance weighs violations. It reports false if the value as a whole has the wrong type.
func branchDistance(violations []violation, depth int) (far int, ok bool) {
	for _, v := range violations {
		weight := 10 - min(len(v.path)-depth, 5) // deeper is closer
		switch k := v.kind.(type) {
		case *kind.Type, *kind.FalseSchema:
			if len(v.path) <= depth {
				return 0, false
			}
		case *kind.Const:
			weight = 500 + min(unlike(k.Got, k.Want), 100)
		case *kind.Enum:
			if len(k.Want) == 1 {
				weight = 500 + min(unlike(k.Got, k.Want[0]), 100)
			}
		case *kind.Required:
			weight *= len(k.Missing)
		case *kind.AdditionalProperties:
			weight *= len(k.Properties)
		case *kind.AnyOf, *kind.OneOf:
			inner := 0
			for i, branch := range v.branches {
				if far, ok := branchDistance(branch, len(v.path)); ok && (i == 0 || far < inner) {
					inner = far
				}
			}
			weight += inner
		}
		far += weight
	}
	return far, true
}
