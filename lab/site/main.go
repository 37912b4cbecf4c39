// Command site makes the website of Gauze from the files of the tree: the README, the pages in docs, every
// code of gauze explain, and the real servers and clients that the laboratory uses. The pages need no
// network and no server.
//
//	go -C lab run ./site -o DIR
//
//	site.go      the pages, their names and links
//	markdown.go  Markdown as HTML
//	links.go     where a link leads; a dead one is an error
//	explain.go   the page with every code
//	servers.go   the page with real servers and clients
//	layout.go    what is around the text: navigation, contents, search
//	files/       the template, its style and its scripts
//	recording/   records the moving picture of the README
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gauze-mcp/gauze/lab/programs"
)

func main() {
	out := flag.String("o", "", "`directory` to write the site to, created if it is missing")
	tree := flag.String("tree", "", "`directory` with the tree to read (default: this one)")
	flag.Parse()
	if *out == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(context.Background(), *tree, *out); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// run makes the site and writes its files.
func run(ctx context.Context, tree, out string) error {
	if tree == "" {
		root, err := programs.Root(ctx)
		if err != nil {
			return err
		}
		tree = root
	}
	files, err := generate(os.DirFS(tree))
	if err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	fmt.Printf("%d files in %s\n", len(files), out)
	return nil
}
