package main

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// others lists the directories whose messages no user of gauze reads.
var others = []string{"lab", "examples", "temporal/servertest", "internal/testonly", "internal/thirdparty"}

// extract returns the messages of the module at root in files whose path starts with prefix.
func extract(root, prefix string) (found []message, err error) {
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		file, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		file = filepath.ToSlash(file)
		if entry.IsDir() {
			if entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && file != "." || slices.Contains(others, file) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasPrefix(file, prefix) {
			return nil
		}
		more, err := messagesOf(name, file)
		found = append(found, more...)
		return err
	})
	return found, err
}

// messagesOf returns the messages of one file.
func messagesOf(name, file string) (found []message, err error) {
	source, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	add := func(line int, text string) {
		for _, text := range readable(strings.Join(strings.Fields(text), " ")) {
			found = append(found, message{file, line, text})
		}
	}
	switch {
	case strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go"):
		return found, goStrings(name, source, add)
	case strings.HasSuffix(file, ".html"):
		htmlTexts(string(source), add)
	default:
		if said := saying(file); said != nil {
			eachLine(string(source), said, add)
		}
	}
	return found, nil
}

var (
	action = regexp.MustCompile(`\{\{[^}]*\}\}`)
	tag    = regexp.MustCompile(`(?s)^<[^>]*>|^[^<]+`)
)

// htmlTexts calls add for each text between two tags of a template.
func htmlTexts(source string, add func(line int, text string)) {
	source = action.ReplaceAllString(source, "…")
	for at := 0; at < len(source); {
		piece := cmp.Or(tag.FindString(source[at:]), source[at:])
		if piece[0] != '<' {
			add(1+strings.Count(source[:at], "\n"), piece)
		}
		at += len(piece)
	}
}

// saying returns a pattern for the lines of a data file that are shown, with the text as its first group, or
// nil if none is.
func saying(file string) *regexp.Regexp {
	switch {
	case strings.HasSuffix(file, ".cause"):
		return regexp.MustCompile(`^\s*(?:explain|fix|title) (.+)`)
	case strings.HasPrefix(file, "internal/workshop/clientconfig/"):
		return regexp.MustCompile(`^\s*(?:reload|old|why|remedy|message|must|loading): (.+)`)
	case strings.HasSuffix(file, "/sentences.txt"):
		return regexp.MustCompile(`^[^#|]*\|[^|]*\|(.+)`)
	case strings.HasSuffix(file, "/failures.txt"):
		return regexp.MustCompile(`^\[[^\]]*\] *\|(.+)`)
	case strings.HasSuffix(file, "/prompt.txt"):
		return regexp.MustCompile(`^(.+)`)
	}
	return nil
}

// eachLine calls add for what the pattern finds in each line.
func eachLine(source string, pattern *regexp.Regexp, add func(line int, text string)) {
	line := 0
	for text := range strings.Lines(source) {
		line++
		if found := pattern.FindStringSubmatch(strings.TrimRight(text, "\r\n")); found != nil {
			add(line, found[1])
		}
	}
}

// goStrings calls add for each string of a Go file; strings joined by + are one, with … for what is not constant.
func goStrings(name string, source []byte, add func(line int, text string)) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, 0)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field: // Its tag is not a message.
			n.Tag = nil
		case *ast.CallExpr:
			return !isPattern(n) && !isSearch(n)
		case *ast.BinaryExpr, *ast.BasicLit:
			if text, constant := joined(n.(ast.Expr)); constant {
				add(files.Position(n.Pos()).Line, text)
				return false
			}
		}
		return true
	})
	return nil
}

// isPattern reports whether a call compiles a pattern.
func isPattern(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && (strings.Contains(f.Sel.Name, "Compile") || f.Sel.Name == "Lazy")
}

// isSearch reports whether a call looks for one string in another.
func isSearch(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, _ := f.X.(*ast.Ident)
	return from != nil && (from.Name == "strings" || from.Name == "bytes") && searches.MatchString(f.Sel.Name)
}

var searches = regexp.MustCompile(`^(?:Contains|Cut|HasPrefix|HasSuffix|TrimPrefix|TrimSuffix)`)

// joined returns the text of a string literal, or of a sum that contains one, and whether there is one.
func joined(e ast.Expr) (text string, constant bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, leftOK := joined(e.X)
		right, rightOK := joined(e.Y)
		return left + right, e.Op == token.ADD && (leftOK || rightOK)
	}
	return "…", false
}
