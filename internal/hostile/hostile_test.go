//go:build linux

package hostile

import (
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// What all worlds share.
var (
	gauze       string // the program itself
	witness     string // what plays the user's programs
	people      string // an address of the user's choice, where somebody listens
	refusedPort int    // nobody listens there, and nobody else can
)

func TestMain(m *testing.M) { os.Exit(prepared(m)) }

func prepared(m *testing.M) int {
	dir, err := os.MkdirTemp("", "gz")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	gauze, witness = filepath.Join(dir, "gauze"), filepath.Join(dir, "witness")
	for program, source := range map[string]string{gauze: "../../cmd/gauze", witness: "./witness"} {
		if said, err := exec.Command("go", "build", "-o", program, source).CombinedOutput(); err != nil {
			panic(string(said))
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer listener.Close()
	people = listener.Addr().String()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	// A socket that is bound and does not listen refuses connections.
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err == nil {
		err = syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err != nil {
		panic(err)
	}
	name, err := syscall.Getsockname(socket)
	if err != nil {
		panic(err)
	}
	refusedPort = name.(*syscall.SockaddrInet4).Port
	return m.Run()
}

// number reads a setting of this test from the environment.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("invalid %s: %v", name, err)
	}
	return n
}

const (
	atOnce     = 6 // worlds at a time: most of them wait
	perProject = 2 // commands in each
)

// TestHostileProjects runs gauze in cloned repositories written by an attacker.
// Nothing of them may run, reach a server that is not theirs or choose where
// something is sent, unless the person was shown exactly that.
//
// GAUZE_HOSTILE_PROJECTS sets how many there are, GAUZE_HOSTILE_SEED which.
func TestHostileProjects(t *testing.T) {
	seed, count := number(t, "GAUZE_HOSTILE_SEED", 11), number(t, "GAUZE_HOSTILE_PROJECTS", 504)
	var mu sync.Mutex
	ran, found := map[string]int{}, map[string]int{}
	projects := make(chan uint64)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for n := range projects {
				t.Run(fmt.Sprintf("project-%d", n), func(t *testing.T) {
					w := newWorld(t, seed, n)
					for _, i := range w.rand.Perm(len(commands))[:perProject] {
						c := commands[i]
						kinds := w.try(c, seed)
						mu.Lock()
						ran[c.name]++
						for _, kind := range kinds {
							found[kind+" ("+c.name+")"]++
						}
						mu.Unlock()
					}
				})
			}
		})
	}
	for n := range count {
		projects <- n
	}
	close(projects)
	workers.Wait()
	for _, name := range slices.Sorted(maps.Keys(ran)) {
		t.Logf("%4d projects with %s", ran[name], name)
	}
	for _, kind := range slices.Sorted(maps.Keys(found)) {
		t.Logf("%4d times %s", found[kind], kind)
	}
}

// try runs one command and reports what must not have happened.
func (w *world) try(c command, seed uint64) (kinds []string) {
	w.forget()
	before := w.homeNow()
	said := c.run(w)
	for _, v := range w.violations(c, said, before) {
		if !slices.Contains(kinds, v.kind) {
			kinds = append(kinds, v.kind)
		}
		w.t.Errorf("%s: %s\n  command: %s\n  seed %d, project %q, terminal: %s\n  project has: %s\n  user has: %s\n  output: %.600s",
			v.kind, v.detail, said.line, seed, w.project.root, w.terminal, strings.Join(w.project.ingredients, ", "), strings.Join(w.user.kinds, ", "), said.output)
	}
	return kinds
}
