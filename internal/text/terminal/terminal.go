package terminal

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"
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
