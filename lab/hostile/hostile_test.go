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
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
	"github.com/gauze-mcp/gauze/lab/programs"
)

// What all worlds share.
var (
	binDir      string
	gauze       = programs.Gauze.Linked(&binDir)
	witness     = programs.Witness.Linked(&binDir) // plays the user's programs
	people      string                             // an address of the user's choice with a listener
	refusedPort int                                // a port without a listener that no other process can use
)

func TestMain(m *testing.M) { os.Exit(prepared(m)) }

func prepared(m *testing.M) int {
	var err error
	binDir, err = os.MkdirTemp("", "gz")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(binDir)
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

// atOnce is how many worlds there are at a time: most of them wait.
const atOnce = 6

// TestEveryViolationIsSeen does by hand what gauze must not do, and expects the
// verdict to say so: a check that sees nothing would pass.
func TestEveryViolationIsSeen(t *testing.T) {
	doctor := commands[slices.IndexFunc(commands, func(c command) bool { return c.name == "doctor" })]
	start := func(dir string, env []string, name string, args ...string) {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, env
		_ = cmd.Run() // some are meant to fail
	}
	for want, deed := range map[string]func(*world){
		"": func(w *world) { start(w.user.home, nil, w.user.program("notes")) },
		"a program of the project runs": func(w *world) {
			w.project.tripwire("bin/tripwire")
			start(w.user.home, nil, filepath.Join(w.project.root, "bin/tripwire"))
		},
		"a server of the project starts without having been shown": func(w *world) {
			w.project.write("bin/tripwire", w.project.trips("entry cursor/it's"))
			start(w.user.home, nil, filepath.Join(w.project.root, "bin/tripwire"))
		},
		"a program of the user is started in the project": func(w *world) {
			start(filepath.Join(w.project.root, "packages/app"), []string{"A=b"}, w.user.program("notes"))
		},
		"a value of the project reaches a variable": func(w *world) {
			start(w.user.home, []string{"A=" + projectValue}, w.user.program("notes"))
		},
		"a value of the project reaches an argument": func(w *world) {
			start(w.user.home, []string{"A=b"}, w.user.program("notes"), "--with="+projectValue)
		},
		"a link of the project leads a secret into a variable": func(w *world) {
			start(w.user.home, []string{"A=" + vaultValue}, w.user.program("notes"))
		},
		"a secret of the terminal reaches a server that was not given it": func(w *world) {
			start(w.user.home, []string{"GH_TOKEN=" + terminalValue}, w.user.program("notes"))
		},
		"a variable names the project's folder": func(w *world) {
			start(w.user.home, []string{"PWD=" + w.project.root}, w.user.program("notes"))
		},
		"something is sent to a host of the project's choice": func(w *world) {
			start(w.user.home, []string{"A=b"}, w.user.program("base"), "--address="+w.host.address)
		},
		"a file outside the project is written": func(w *world) {
			writeFile(t, filepath.Join(w.user.home, ".profile"), "")
		},
	} {
		w := newWorld(t, 1, doctor)
		before := w.homeNow()
		deed(w)
		var kinds []string
		for _, v := range w.violations(doctor, transcript{}, before) {
			kinds = append(kinds, v.kind)
		}
		if got := strings.Join(kinds, ", "); got != want {
			t.Errorf("seen: %q, want %q", got, want)
		}
	}
}

// failedSeeds are seeds of TestHostileProjects that failed once.
var failedSeeds []uint64

// TestHostileProjects runs gauze in cloned repositories written by an attacker.
// Nothing of them may run, reach a server that is not theirs or choose where
// something is sent, unless the person was shown exactly that.
func TestHostileProjects(t *testing.T) {
	var mu sync.Mutex
	ran, had, found := map[string]int{}, map[string]int{}, map[string]int{}
	projects := make(chan uint64)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for seed := range projects {
				t.Run(fmt.Sprintf("project-%#x", seed), func(t *testing.T) {
					c := commands[seed%uint64(len(commands))]
					w := newWorld(t, seed, c)
					var kinds []string
					sample.Try(t, seed, func(uint64) { kinds = w.try(c) })
					mu.Lock()
					defer mu.Unlock()
					ran[c.name]++
					for _, name := range w.project.ingredients {
						had[name]++
					}
					for _, kind := range kinds {
						found[kind+" ("+c.name+")"]++
					}
				})
			}
		})
	}
	for _, seed := range sample.Seeds(sample.Seed(t, gauze(), witness()), 500, failedSeeds...) {
		projects <- seed
	}
	close(projects)
	workers.Wait()
	for _, name := range slices.Sorted(maps.Keys(ran)) {
		t.Logf("%4d projects with %s", ran[name], name)
	}
	for _, kind := range slices.Sorted(maps.Keys(found)) {
		t.Logf("%4d times %s", found[kind], kind)
	}
	for _, i := range ingredients {
		if ran["run"] >= 40 && had[i.name] == 0 { // all of them were made
			t.Errorf("no project has the ingredient %s", i.name)
		}
	}
}

// try runs one command and reports what must not have happened.
func (w *world) try(c command) (kinds []string) {
	before := w.homeNow()
	said := c.run(w)
	for _, v := range w.violations(c, said, before) {
		if !slices.Contains(kinds, v.kind) {
			kinds = append(kinds, v.kind)
		}
		w.t.Errorf("%s: %s\n  command: %s\n  project %q, terminal: %s\n  project has: %s\n  user has: %s\n  output: %.600s",
			v.kind, v.detail, said.line, w.project.root, w.terminal, strings.Join(w.project.ingredients, ", "), strings.Join(w.user.kinds, ", "), said.output)
	}
	return kinds
}
