package main

import (
	"io"
	"os"
	"os/exec"
)

const rolePump = "_pump"

// runPump is the least a process in between can do: start the command, copy
// bytes both ways, look at nothing. What it costs is the price of being a
// second process; what the wrap costs beyond it is ours.
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
		in.Close() // the client is done: so is the server
	}()
	copyBytes(os.Stdout, out)
	return cmd.Wait()
}

// copyBytes is io.Copy without its shortcuts: read what there is, write it on.
// It ends when either side does.
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
