package main

import "os/exec"

// The suite is run on Unix; here it is enough to compile.
func leadGroup(*exec.Cmd) {}

func ask(cmd *exec.Cmd) { cmd.Process.Kill() }

func killAll(cmd *exec.Cmd) { cmd.Process.Kill() }
