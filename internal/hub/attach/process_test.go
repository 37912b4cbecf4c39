package attach_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/hub/attach"
	"github.com/gauze-mcp/gauze/internal/testonly/census"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
)

// actIfAsked makes the test binary a gauze up that was started on demand.
func actIfAsked() {
	if len(os.Args) != 5 || os.Args[1] != "standin" {
		return
	}
	p := attach.Place{State: os.Args[3], File: os.Args[4]}
	switch os.Args[2] {
	case "exits":
		fmt.Fprintln(os.Stderr, "why it exits")
		os.Exit(1)
	case "fails":
		attach.Ready(errors.New("up.yaml:3: unknown key"))
		os.Exit(1)
	}
	finish := attach.LimitLog(p)
	l, err := attach.Listen(context.Background(), p, "v1")
	attach.Ready(err)
	if err != nil {
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, "listening")
	l.Serve(context.Background(), func(ctx context.Context, h attach.Hello, in io.Reader, out io.Writer) error {
		fmt.Fprintf(out, "%d %d\n", os.Getpid(), os.Getppid())
		_, err := io.Copy(out, in)
		l.Close()
		return err
	})
	finish()
	os.Exit(0)
}

// start starts the test binary as a gauze up.
func start(t *testing.T, p attach.Place, how string) func(context.Context) error {
	t.Helper()
	name, value, _ := strings.Cut(census.Mark(t), "=")
	t.Setenv(name, value)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context) error { return attach.Start(ctx, p, program, "standin", how, p.State, p.File) }
}

// standin attaches to the stand-in, which it starts, and returns it and its parent.
func standin(t *testing.T, p attach.Place) (conn *attach.Conn, from *bufio.Reader, up *os.Process, parent int) {
	t.Helper()
	conn, err := attach.Connect(patience.Context(t), p, attach.Hello{}, start(t, p, "listens"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	from = bufio.NewReader(conn)
	line, err := from.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, ppid, _ := strings.Cut(strings.TrimSpace(line), " ")
	number, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	if up, err = os.FindProcess(number); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { up.Kill() })
	parent, err = strconv.Atoi(ppid)
	if err != nil {
		t.Fatal(err)
	}
	return conn, from, up, parent
}

func TestStartedOnDemand(t *testing.T) {
	p := place(t)
	conn, from, up, parent := standin(t, p)
	if parent == os.Getpid() || up.Pid == os.Getpid() {
		t.Errorf("process %d is a child of %d: a client that ends the descendants of gauze connect would end it", up.Pid, parent)
	}
	io.WriteString(conn, "hello")
	conn.CloseWrite()
	if back, err := io.ReadAll(from); string(back) != "hello" || err != nil {
		t.Errorf("%q, %v", back, err)
	}
	conn.Close()
	wait(t, "its log", func() bool {
		log, err := os.ReadFile(p.Log())
		return err == nil && string(log) == "listening\n"
	})
}

// wait waits for something that another process does.
func wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for limit := patience.Context(t).Done(); !done(); {
		select {
		case <-look.C:
		case <-limit:
			t.Fatalf("%s did not follow", what)
		}
	}
}

// A gauze up that is killed is noticed by its clients, and the next client starts another one.
func TestAKilledGauzeUp(t *testing.T) {
	p := place(t)
	_, from, up, _ := standin(t, p)
	if err := up.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := from.ReadByte(); !errors.Is(err, attach.ErrLost) {
		t.Errorf("%v, want %v", err, attach.ErrLost)
	}
	_, _, next, _ := standin(t, p)
	if next.Pid == up.Pid {
		t.Error("the killed process answered")
	}
}

func TestWhyItDoesNotStart(t *testing.T) {
	for _, c := range []struct{ how, want string }{
		{"fails", "up.yaml:3: unknown key"},
		{"exits", "it exited"},
	} {
		t.Run(c.how, func(t *testing.T) {
			p := place(t)
			_, err := attach.Connect(patience.Context(t), p, attach.Hello{}, start(t, p, c.how))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), p.Log()) {
				t.Errorf("%v, want %q and the log", err, c.want)
			}
			if log, _ := os.ReadFile(p.Log()); c.how == "exits" && string(log) != "why it exits\n" {
				t.Errorf("its log is %q", log)
			}
		})
	}
	p := place(t)
	if err := attach.Start(patience.Context(t), p, "/nowhere/gauze", "up"); err == nil || !strings.Contains(err.Error(), "cannot start gauze up") {
		t.Errorf("%v", err)
	}
}
