package gauze_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strings"
	"testing"
)

// A type has at most this many methods, with those of the types of gauze that it embeds and the
// functions of its package that take it as their first parameter, and this many fields.
const (
	maxMethods = 60
	maxFields  = 30
)

// tooLarge are types that are larger, with the reason.
var tooLarge = map[string]string{
	"internal/thirdparty/jsonschema.Schema": "it has a field for each keyword of JSON Schema, and is not ours",
}

func TestNoTypeIsTooLarge(t *testing.T) {
	product := sizes{}
	for room, files := range rooms(t) {
		if room == "." {
			room = root
		}
		for file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			product.add(room, parsed)
		}
	}
	for name, s := range product {
		if !s.declared {
			continue // a type of the language
		}
		methods, fields := product.methods(name), product.fields(name)
		_, excepted := tooLarge[name]
		switch large := methods > maxMethods || fields > maxFields; {
		case large && !excepted:
			t.Errorf("%s has %d methods and %d fields, more than %d or %d: split it by what its parts do", name, methods, fields, maxMethods, maxFields)
		case excepted && !large:
			t.Errorf("%s has %d methods and %d fields: remove it from tooLarge", name, methods, fields)
		}
	}
	for name := range tooLarge {
		if product[name] == nil {
			t.Errorf("%s is not a type: remove it from tooLarge", name)
		}
	}
}

// sizes has the types of packages by their name, as internal/wrap/wire.Message.
type sizes map[string]*size

// root is the folder of the package in the root in such names.
const root = "gauze"

// size is what a type declares itself.
type size struct {
	declared, isInterface bool
	methods               map[string]bool // a file for another system may have the same
	takenBy               map[string]bool // functions with the type as their first parameter
	fields                int
	embedded              []string // names of types, perhaps of other modules
	is                    string   // the type that it is defined as
}

func (all sizes) get(name string) *size {
	if all[name] == nil {
		all[name] = &size{methods: map[string]bool{}, takenBy: map[string]bool{}}
	}
	return all[name]
}

func (all sizes) add(room string, file *ast.File) {
	in := scope{room, map[string]string{}}
	for _, spec := range file.Imports {
		imported := strings.Trim(spec.Path.Value, `"`)
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		in.imports[name] = strings.TrimPrefix(imported, module+"/")
		if imported == module {
			in.imports[name] = root
		}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			first := d.Type.Params
			if d.Recv != nil {
				first = d.Recv
			}
			name := ""
			if len(first.List) > 0 {
				name = in.name(first.List[0].Type)
			}
			switch {
			case !strings.HasPrefix(name, room+"."):
			case d.Recv != nil:
				all.get(name).methods[d.Name.Name] = true
			default:
				all.get(name).takenBy[d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if declared, ok := spec.(*ast.TypeSpec); ok && !declared.Assign.IsValid() {
					all.get(room+"."+declared.Name.Name).declare(in, declared.Type)
				}
			}
		}
	}
}

func (s *size) declare(in scope, as ast.Expr) {
	s.declared = true
	members := &ast.FieldList{}
	switch as := as.(type) {
	case *ast.StructType:
		members = as.Fields
	case *ast.InterfaceType:
		members, s.isInterface = as.Methods, true
	default:
		s.is = in.name(as)
	}
	for _, member := range members.List {
		switch {
		case len(member.Names) == 0:
			s.embedded = append(s.embedded, in.name(member.Type))
		case s.isInterface:
			s.methods[member.Names[0].Name] = true
		default:
			s.fields += len(member.Names)
		}
	}
}

// methods counts the methods of a type and the functions that take it.
func (all sizes) methods(name string) int {
	set := map[string]bool{}
	all.collect(name, set, map[string]bool{})
	return len(set) + len(all[name].takenBy)
}

func (all sizes) collect(name string, into, seen map[string]bool) {
	s := all[name]
	if s == nil || seen[name] {
		return
	}
	seen[name] = true
	for method := range s.methods {
		into[method] = true
	}
	for _, embedded := range s.embedded {
		all.collect(embedded, into, seen)
	}
}

// fields counts the fields of a struct. An embedded struct of gauze counts as its fields.
func (all sizes) fields(name string) int {
	s := all[name]
	switch {
	case s == nil || s.isInterface:
		return 0
	case s.is != "":
		return all.fields(s.is)
	}
	sum := s.fields
	for _, embedded := range s.embedded {
		sum += max(1, all.fields(embedded))
	}
	return sum
}

// scope resolves the names in a file.
type scope struct {
	room    string
	imports map[string]string // folders by name; the import path for those of other modules
}

// name returns the name of a type, or of what it points to; or "".
func (in scope) name(of ast.Expr) string {
	switch e := of.(type) {
	case *ast.Ident:
		return in.room + "." + e.Name
	case *ast.StarExpr:
		return in.name(e.X)
	case *ast.IndexExpr:
		return in.name(e.X)
	case *ast.IndexListExpr:
		return in.name(e.X)
	case *ast.SelectorExpr:
		if pkg, ok := e.X.(*ast.Ident); ok && in.imports[pkg.Name] != "" {
			return in.imports[pkg.Name] + "." + e.Sel.Name
		}
	}
	return ""
}

func TestSizesCountsWhatATypeEmbeds(t *testing.T) {
	all := sizes{}
	for room, source := range map[string]string{
		"a": `package a
			import ("time"; other "github.com/gauze-mcp/gauze/b"; "github.com/gauze-mcp/gauze")
			type outer struct { x, y int; *inner; other.Public[int]; time.Time; gauze.Root }
			type inner struct { z int; m map[string]struct{ one, two int } }
			type copied inner
			type face interface { One(); Two(); other.Face }
			func (outer) A() {}
			func (o *outer) B() {}
			func (i *inner) B() {}
			func (i *inner) C() {}
			func take(o *outer, i inner) {}
			func many(o []outer) {}
			func give() outer { return outer{} }
			func (copied) D() {}`,
		"b": `package b
			type Public[T any] struct { A, B T }
			func (p *Public[T]) E(x outer) {}
			func use(p Public[int]) {}
			type Face interface { Three() }`,
		root: `package gauze
			type Root struct { A, B, C int }`,
	} {
		parsed, err := parser.ParseFile(token.NewFileSet(), room, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		all.add(room, parsed)
	}
	for name, want := range map[string]string{
		"a.outer":  "5 methods, 10 fields", // A B C E take; x y z m Time, two of Public, three of Root
		"a.inner":  "2 methods, 2 fields",
		"a.copied": "1 methods, 2 fields",
		"a.face":   "3 methods, 0 fields",
		"b.Public": "2 methods, 2 fields",
	} {
		if got := fmt.Sprintf("%d methods, %d fields", all.methods(name), all.fields(name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
