package terminal

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
)

// Is reports whether a stream is a terminal.
func Is(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(file.Fd())
}

// Size returns the columns and lines of a terminal, 0 if the stream is not one.
func Size(w io.Writer) (width, height int) {
	if !Is(w) {
		return 0, 0
	}
	width, height, err := term.GetSize(w.(*os.File).Fd())
	if err != nil || width <= 0 || height <= 0 {
		return columns, 24
	}
	return width, height
}

// Ask shows a text that ends with a question and reports whether the answer is yes.
func Ask(in io.Reader, out io.Writer, text string) bool {
	fmt.Fprint(out, text+" [y/N] ")
	line, _ := bufio.NewReader(in).ReadString('\n')
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

// Progress returns a function that replaces the current line of a terminal. It does nothing if w is
// not one, or quiet is set.
func Progress(w io.Writer, quiet bool) func(line string) {
	if quiet || !Is(w) {
		return func(string) {}
	}
	return func(line string) {
		width, _ := Size(w)
		fmt.Fprint(w, progressLine(line, width))
	}
}

// progressLine replaces the current line of a terminal that has this width. It leaves the last
// column free, because some terminals wrap there.
func progressLine(line string, width int) string {
	return "\r\x1b[K" + plaintext.Cap(redact.Quote(line), max(width-1, 10))
}
