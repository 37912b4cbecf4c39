package gauze_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// publicPackages are the directories whose packages other modules may import.
var publicPackages = []string{".", "doctor", "event", "fault", "health", "llm", "repair", "task"}

// A program cannot name, document or look up what is in an internal package, so nothing exported
// may mention one: no alias, no field, no parameter.
func TestNothingExportedMentionsAnInternalPackage(t *testing.T) {
	for _, dir := range publicPackages {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			internal := internalImports(file)
			for node := range exported(file) {
				ast.Inspect(node, func(n ast.Node) bool {
					if field, ok := n.(*ast.Field); ok && len(field.Names) > 0 && !field.Names[0].IsExported() && isStructField(node, field) {
						return false
					}
					if s, ok := n.(*ast.SelectorExpr); ok {
						if pkg, ok := s.X.(*ast.Ident); ok && internal[pkg.Name] != "" {
							t.Errorf("%s: %s.%s is of %s", set.Position(s.Pos()), pkg.Name, s.Sel.Name, internal[pkg.Name])
						}
					}
					return true
				})
			}
		}
	}
}

// internalImports returns the internal packages of a file by the names it uses for them.
func internalImports(file *ast.File) map[string]string {
	found := map[string]string{}
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		if !strings.Contains(path, "/internal/") {
			continue
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		found[name] = path
	}
	return found
}

// exported returns the parts of a file that other packages see: types, signatures, and the types
// and values of constants and variables.
func exported(file *ast.File) map[ast.Node]bool {
	seen := map[ast.Node]bool{}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || receiverExported(d.Recv)) {
				seen[d.Type] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() {
						seen[s.Type] = true
					}
				case *ast.ValueSpec:
					if s.Names[0].IsExported() {
						seen[s] = true
					}
				}
			}
		}
	}
	return seen
}

func receiverExported(recv *ast.FieldList) bool {
	kind := recv.List[0].Type
	if star, ok := kind.(*ast.StarExpr); ok {
		kind = star.X
	}
	name, ok := kind.(*ast.Ident)
	return ok && name.IsExported()
}

// isStructField reports whether a field belongs to a struct, where it may be unexported, and not
// to a parameter list.
func isStructField(root ast.Node, field *ast.Field) (is bool) {
	ast.Inspect(root, func(n ast.Node) bool {
		if s, ok := n.(*ast.StructType); ok {
			for _, f := range s.Fields.List {
				is = is || f == field
			}
		}
		return !is
	})
	return is
}

// Documentation is what an API is used by: every exported name has some, and that of a declaration
// starts with the name.
func TestEverythingExportedIsDocumented(t *testing.T) {
	for _, dir := range publicPackages {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			want := func(ident *ast.Ident, mustBegin bool, docs ...*ast.CommentGroup) {
				if !ident.IsExported() {
					return
				}
				text := ""
				for _, doc := range docs {
					text += doc.Text()
				}
				if text == "" || mustBegin && !strings.HasPrefix(text, ident.Name+" ") {
					t.Errorf("%s: the comment of %s is %q", set.Position(ident.Pos()), ident.Name, text)
				}
			}
			for _, decl := range file.Decls {
				switch d := decl.(type) {
				case *ast.FuncDecl:
					if d.Recv == nil || receiverExported(d.Recv) {
						want(d.Name, true, d.Doc)
					}
				case *ast.GenDecl:
					for _, spec := range d.Specs {
						switch s := spec.(type) {
						case *ast.ValueSpec:
							want(s.Names[0], false, d.Doc, s.Doc, s.Comment)
						case *ast.TypeSpec:
							want(s.Name, true, d.Doc)
							if fields, ok := s.Type.(*ast.StructType); ok && s.Name.IsExported() {
								for _, field := range fields.Fields.List {
									for _, ident := range field.Names {
										want(ident, false, field.Doc, field.Comment)
									}
								}
							}
						}
					}
				}
			}
		}
	}
}
