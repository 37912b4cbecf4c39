package main

import (
	"io"
	"os"
	"os/exec"
)

const rolePump = "_pump"

// runPump does the least that a process in between can do: it starts the command and copies bytes
// both ways without looking at them. Its cost is the cost of a second process; anything beyond it
// is added by gauze.
func runPump(argv []string) error {
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
