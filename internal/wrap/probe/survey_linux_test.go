package probe

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	limits "github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// called is a spec that runs this test binary under another name.
func called(t *testing.T, name, behave, address string, env ...string) launch.Spec {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(own, path); err != nil {
		t.Fatal(err)
	}
	return launch.Spec{Command: path, Env: append(os.Environ(), append(env, "GAUZE_TEST_BEHAVE="+behave, "GAUZE_TEST_ADDRESS="+address)...)}
}

func TestSeesThatAServerListensInstead(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		spec := called(t, "server", "listen", address)
		// Behind a shell, as launchers have it.
		spec.Args = []string{"-c", `exec 3<&0; "$0" <&3 & wait`, spec.Command}
		spec.Command = "/bin/sh"
		a := runUntil(t, spec, hastyOptions, func(a Result) bool {
			return !a.Limit.Passed || len(a.Limit.Ports) > 0 && strings.Contains(string(a.StderrTail), "listening at")
		})
		_, port, _ := strings.Cut(string(a.StderrTail), "listening at "+strings.TrimSuffix(address, "0"))
		want, _ := strconv.Atoi(strings.TrimSpace(port))
		if want == 0 {
			if address[0] == '[' {
				t.Skip("no IPv6")
			}
			t.Fatalf("it did not listen: %s", a.StderrTail)
		}
		if l := a.Limit; !l.Passed || !l.Surveyed || !slices.Equal(l.Ports, []int{want}) || !slices.Equal(l.Processes, []string{"sh", "server"}) || l.Downloading != "" {
			t.Errorf("port %d: %+v", want, l)
		}
	}
}

func TestWaitsForADownload(t *testing.T) {
	registry := slowly(t, 10*time.Millisecond)
	o := Options{Timeout: 200 * time.Millisecond, MaxWait: 1500 * time.Millisecond}
	proxy := "HTTPS_PROXY=http://" + registry
	waited := func(a Result) bool { return a.Limit.After >= o.MaxWait/2 }
	a := until(o, waited, func(more Options) Result {
		o = more
		return run(t, t.Context(), called(t, "npm", "fetch", registry, proxy), o)
	})
	if l := a.Limit; !l.Passed || !waited(a) || l.Downloading != "npm is connected to a package registry" {
		t.Errorf("%+v", l)
	}
	// The same connection of somebody else is no download.
	o.MaxWait = limits.Limit()
	a = run(t, t.Context(), called(t, "server", "fetch", registry, proxy), o)
	if l := a.Limit; !l.Passed || l.Downloading != "" || l.After > o.MaxWait/2 {
		t.Errorf("%+v", l)
	}
}

func TestDoesNotWaitForADownloadThatStandsStill(t *testing.T) {
	registry := slowly(t, time.Hour)
	o := Options{Timeout: 400 * time.Millisecond, MaxWait: limits.Limit()}
	a := runUntil(t, called(t, "npm", "connect", registry, "HTTPS_PROXY=http://"+registry), o, func(a Result) bool { return a.Limit.Downloading != "" })
	if l := a.Limit; !l.Passed || l.After > o.MaxWait/4 || l.Downloading != "npm is connected to a package registry" {
		t.Errorf("%+v", l)
	}
}

// slowly is the address of somebody who sends a little now and then.
func slowly(t *testing.T, pause time.Duration) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				io.Copy(io.Discard, conn)
			}()
			go func() {
				defer conn.Close()
				for tick := time.Tick(pause); ; {
					select {
					case <-tick:
						conn.Write(make([]byte, 4<<10)) // who asked may be gone
					case <-gone:
						return
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}

// No process of the server survives if gauze is killed during a probe.
func TestNothingIsLeftOfARunThatIsKilled(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("GAUZE_TEST_ATTEMPT") != "" {
		Run(t.Context(), faulty("-ignore-initialize", "-ignore-eof", "-ignore-sigterm"), Options{Timeout: limits.Limit(), Progress: func(line string) { fmt.Println(line) }})
		return
	}
	outer := exec.Command(own, "-test.run=^"+t.Name()+"$", "-test.v")
	outer.Env = append(os.Environ(), "GAUZE_TEST_ATTEMPT=1")
	outer.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := outer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := outer.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	pid := 0
	for buf := make([]byte, 1024); pid == 0; {
		n, err := stdout.Read(buf)
		if said.Write(buf[:n]); err != nil {
			t.Fatalf("%v: %s", err, said.String())
		}
		if _, number, ok := strings.Cut(said.String(), "started, process "); ok {
			number, _, _ = strings.Cut(number, "\n")
			pid, _ = strconv.Atoi(number)
		}
	}
	if err := outer.Process.Kill(); err != nil { // only it: the group would be too easy
		t.Fatal(err)
	}
	outer.Wait()
	for deadline := time.Now().Add(limits.Limit()); syscall.Kill(-pid, 0) == nil; {
		if time.Now().After(deadline) {
			syscall.Kill(-pid, syscall.SIGKILL)
			t.Fatalf("process %d is left", pid)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// A command that serves HTTP is asked there while it runs, and the wait for stdout ends soon.
func TestACommandThatServesHTTPIsFound(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		a := runUntil(t, called(t, "server", "serve", address), Options{Timeout: time.Second, MaxWait: 5 * time.Second}, func(a Result) bool { return a.Served != nil })
		if a.Served == nil && address[0] == '[' && a.Exit != "" {
			t.Skip("no IPv6")
		}
		if a.OK() || a.Served == nil || !a.Served.OK() || a.Served.Found.Name != "empty" || a.Served.Found.Transport != "http" || a.Limit.Serves != a.Served.URL {
			t.Fatalf("%+v", a)
		}
		if want := fmt.Sprintf("http://%s%d/mcp", strings.TrimSuffix(address, "0"), a.Limit.Ports[0]); a.Served.URL != want || !strings.Contains(a.Stopped, want) || !a.Limit.Alive {
			t.Errorf("%s, %s, want %s", a.Served.URL, a.Stopped, want)
		}
	}
}

// A server that does both is a server on stdout: its answer counts, also if it was found elsewhere first.
func TestACommandThatServesBothAnswersOnStdout(t *testing.T) {
	a := runUntil(t, called(t, "server", "serve both", "127.0.0.1:0"), Options{Timeout: 2 * time.Second, MaxWait: 10 * time.Second}, Result.OK)
	if !a.OK() || a.Served != nil || a.Found.Transport != "stdio" {
		t.Errorf("%+v", a)
	}
}

// A server that has answered on stdout is one on stdout, however slow it is and whatever else it serves.
func TestAServerThatAnsweredOnStdoutIsNotLookedForElsewhere(t *testing.T) {
	a := runUntil(t, called(t, "server", "serve beside", "127.0.0.1:0"), Options{Timeout: time.Second, MaxWait: 5 * time.Second}, func(a Result) bool { return a.Stage >= upstream.Initialized })
	if a.Stage < upstream.Initialized || a.Served != nil || a.Limit.Serves != "" {
		t.Errorf("%+v", a)
	}
}
