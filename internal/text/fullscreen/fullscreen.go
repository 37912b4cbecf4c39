// Package fullscreen shows a program on the whole terminal until the user quits: it reads keys, follows
// the size of the terminal, and repaints the lines that changed. The terminal is as before when Run
// returns, also after a panic or a signal.
//
//	fullscreen.go  Run, and what a program is
//	loop.go        messages and commands
//	keys.go        keys from the bytes that a terminal sends
//	display.go     the terminal: its modes, and what is painted
//	system_*.go    what differs between systems
package fullscreen

import (
	"context"
	"os"
	"os/signal"
)

// Program is what is shown. Only one of its methods runs at a time.
type Program interface {
	// Init returns what runs first.
	Init() Cmd
	// Update handles a message: a Key, a Size, Resumed, or what a command returned.
	Update(Msg) Cmd
	// Lines returns what to show, as many lines as the terminal has and none of them too long.
	Lines() []string
}

// Msg is something that happened.
type Msg any

// Cmd runs outside of the program, so it may block. What it returns is the next message, unless it is
// nil.
type Cmd func() Msg

// Size is the message that tells the size of the terminal: at the start and when it changes.
type Size struct{ Width, Height int }

// Resumed is the message after the process was suspended.
type Resumed struct{}

// These messages of a command are for Run.
type (
	quit    struct{}
	suspend struct{}
	batch   []Cmd
)

// Quit ends the program.
func Quit() Msg { return quit{} }

// Suspend releases the terminal and stops the process until the shell continues it. On Windows it
// does nothing.
func Suspend() Msg { return suspend{} }

// Batch runs commands at the same time. It ignores those that are nil.
func Batch(cmds ...Cmd) Cmd { return func() Msg { return batch(cmds) } }

// Run shows a program under a title until it quits, a signal asks for the end, or ctx ends. It leaves
// behind a read of the terminal and the commands that have not returned.
func Run(ctx context.Context, in, out *os.File, title string, p Program) error {
	ctx, stop := signal.NotifyContext(ctx, ending...)
	defer stop()
	d := &display{in: in, out: out, title: title, size: Size{80, 24}}
	if err := d.open(); err != nil {
		return err
	}
	defer d.close()
	l := &loop{program: p, display: d, done: ctx.Done(), messages: make(chan Msg)}
	return l.run()
}
