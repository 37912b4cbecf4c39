// Command lines counts the lines of Go in the product and in the laboratory, each with its tests apart.
//
//	go -C lab run ./lines
package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// part is a part of the tree whose lines are counted together.
type part struct {
	name        string
	code, tests int
}

func main() {
	parts, err := count("..")
	if err != nil {
		fmt.Fprintf(os.Stderr, "lines: %v\nnext: go -C lab run ./lines\n", err)
		os.Exit(1)
	}
	fmt.Printf("%-24s %8s %8s\n", "", "code", "tests")
	for _, p := range parts {
		fmt.Printf("%-24s %8d %8d\n", p.name, p.code, p.tests)
	}
}

// count returns the lines of the tree at root, part by part.
func count(root string) ([]part, error) {
	parts := []part{{name: "product"}, {name: "for its unit tests"}, {name: "temporal"}, {name: "laboratory"}}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != root {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		p := &parts[partOf(filepath.ToSlash(name))]
		if n := bytes.Count(text, []byte("\n")); strings.HasSuffix(path, "_test.go") {
			p.tests += n
		} else {
			p.code += n
		}
		return nil
	})
	return parts, err
}

func partOf(name string) int {
	for i, prefix := range []string{"", "internal/testonly/", "temporal/", "lab/"} {
		if prefix != "" && strings.HasPrefix(name, prefix) {
			return i
		}
	}
	return 0
}
