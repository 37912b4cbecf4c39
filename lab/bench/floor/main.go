// Command floor is what nothing can be cheaper than: a byte pump in front of a command, and the minimal
// server. It is not a role of the benchmark itself, whose packages cost memory and time to start.
//
//	floor pump COMMAND [ARGUMENTS]
//	floor minimal
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/gauze-mcp/gauze/lab/bench/minimal"
)

func main() {
	var err error
	switch {
	case len(os.Args) > 2 && os.Args[1] == "pump":
		err = pump(os.Args[2:])
	case len(os.Args) == 2 && os.Args[1] == "minimal":
		err = minimal.Serve(os.Stdin, os.Stdout)
	default:
		err = fmt.Errorf("usage: floor pump COMMAND [ARGUMENTS] | floor minimal")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

// pump does the least that a process in between can do: it starts the command and copies bytes
// both ways without looking at them. Its cost is the cost of a second process; anything beyond it
// is added by gauze.
func pump(argv []string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		copyBytes(in, os.Stdin)
		in.Close() // the client is done, so stop the server
	}()
	copyBytes(os.Stdout, out)
	return cmd.Wait()
}

// copyBytes copies from src to dst without the shortcuts of io.Copy. It returns when either side
// ends.
func copyBytes(dst io.Writer, src io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			if _, err := dst.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
