// Command recording records the moving picture of the README from a real run: a client calls a real
// server that gauze wraps, the server is killed in the middle of a call, a wrong argument is repaired,
// and gauze doctor finds a broken entry.
//
//	go -C lab run ./site/recording [DIR]
//
// It writes demo-light.svg and demo-dark.svg into DIR, docs/pictures unless it is given.
//
//	story.go       the scenes: what is typed, and on which machine
//	client.go      call, the small MCP client that the story types
//	screen.go      what a terminal shows: lines of styled text
//	pty_*.go       the terminal
//	svg.go         the scenes as an animated SVG
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gauze-mcp/gauze/lab/programs"
)

// maxBytes is how large each picture may be.
const maxBytes = 200 << 10

func main() {
	clientIfAsked()
	if err := write(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "recording:", err)
		os.Exit(1)
	}
}

// write plays the story and writes both pictures.
func write(ctx context.Context, args []string) error {
	root, err := programs.Root(ctx)
	if err != nil {
		return err
	}
	dir := filepath.Join(root, "docs", "pictures")
	if len(args) > 0 {
		dir = args[0]
	}
	scenes, err := play(ctx)
	if err != nil {
		return err
	}
	for _, look := range looks {
		picture := draw(scenes, look)
		if len(picture) > maxBytes {
			return fmt.Errorf("the picture has %d bytes: must be at most %d", len(picture), maxBytes)
		}
		if err := os.WriteFile(filepath.Join(dir, look.file), picture, 0o644); err != nil {
			return err
		}
		fmt.Printf("%s: %d KB\n", look.file, len(picture)>>10)
	}
	return nil
}
