package fullscreen

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"
)

// escapeTimeout is how long the bytes of one key may be apart. A terminal sends the same byte for the
// escape key and as the first of others.
const escapeTimeout = 50 * time.Millisecond

// loop runs a program on a display.
type loop struct {
	program  Program
	display  *display
	done     <-chan struct{}
	messages chan Msg // from commands
	ended    bool
}

// crash is a panic in a command, on its way to the goroutine that restores the terminal.
type crash struct {
	value any
	stack []byte
}

func (l *loop) run() error {
	resized, stop := sizeChanges()
	defer stop()
	input := l.read(l.display.in)
	var keys decoder
	var late <-chan time.Time // when a key that has begun will not be continued
	size, _ := l.display.measure()
	l.start(l.program.Update(size))
	l.start(l.program.Init())
	for !l.ended {
		if err := l.display.paint(l.program.Lines()); err != nil {
			return err
		}
		select {
		case <-l.done:
			return nil
		case m := <-l.messages:
			l.handle(m)
		case <-resized:
			l.resize()
		case b, ok := <-input:
			if !ok { // the terminal is gone
				return nil
			}
			l.press(keys.decode(b))
			late = keys.deadline()
		case <-late:
			l.press(keys.flush())
			late = nil
		}
	}
	return nil
}

// read returns what is read from the terminal.
func (l *loop) read(in *os.File) <-chan []byte {
	input := make(chan []byte)
	go func() {
		defer close(input)
		for {
			b, err := readInput(in)
			if err != nil {
				return
			}
			select {
			case input <- b:
			case <-l.done:
				return
			}
		}
	}()
	return input
}

func (l *loop) press(keys []Key) {
	for _, k := range keys {
		if !l.ended {
			l.handle(k)
		}
	}
}

// resize tells the program the size of the terminal if it is new.
func (l *loop) resize() {
	if size, ok := l.display.measure(); ok {
		l.start(l.program.Update(size))
	}
}

func (l *loop) handle(m Msg) {
	switch m := m.(type) {
	case quit:
		l.ended = true
	case suspend:
		l.suspend()
	case batch:
		for _, cmd := range m {
			l.start(cmd)
		}
	case crash:
		panic(fmt.Sprintf("%v\n\n%s", m.value, m.stack))
	default:
		l.start(l.program.Update(m))
	}
}

// start runs a command. Its message arrives in messages.
func (l *loop) start(cmd Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		defer func() {
			if value := recover(); value != nil {
				l.send(crash{value, debug.Stack()})
			}
		}()
		if m := cmd(); m != nil {
			l.send(m)
		}
	}()
}

func (l *loop) send(m Msg) {
	select {
	case l.messages <- m:
	case <-l.done:
	}
}

// suspend releases the terminal while the process is stopped.
func (l *loop) suspend() {
	if !canStop {
		return
	}
	l.display.close()
	stopProcess()
	if err := l.display.open(); err != nil { // the terminal is gone
		l.ended = true
		return
	}
	l.resize()
	l.handle(Resumed{})
}
