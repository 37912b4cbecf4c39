package live_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/testonly/windowstest"
	"github.com/gauze-mcp/gauze/internal/views/live"
)

// TestMain is also a process that announces itself and answers until its stdin ends.
func TestMain(m *testing.M) {
	live.SetAskTimeout(patience.Limit())
	dir := os.Getenv("GAUZE_TEST_ANNOUNCE")
	if dir == "" {
		os.Exit(m.Run())
	}
	a, err := live.Announce(dir, "child", source("child", new(int)))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(a.ID)
	bufio.NewReader(os.Stdin).ReadString('\n')
	a.Close()
}

// child starts a process that is announced in dir.
func child(t *testing.T, dir string) (cmd *exec.Cmd, id string) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GAUZE_TEST_ANNOUNCE="+dir)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(line)
}

func TestAKilledWrapIsGoneAndItsFilesAreRemoved(t *testing.T) {
	dir := stateDir(t)
	cmd, id := child(t, dir)
	if all, err := live.All(t.Context(), dir); err != nil || len(all) != 1 || all[0].State != "healthy" || all[0].ID != id {
		t.Fatalf("%+v, %v", all, err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if left, _ := os.ReadDir(filepath.Join(dir, "live")); len(left) == 0 {
		t.Fatal("the process was not killed: its files are gone")
	}
	if all, err := live.All(t.Context(), dir); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "live")); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
	if _, err := live.One(t.Context(), dir, id); !errors.Is(err, live.ErrGone) {
		t.Error(err)
	}
}

// foreign is a program that was given the port of a wrap that ended. It answers everything with a
// line that looks like an answer.
func foreign(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			bufio.NewReader(conn).ReadString('\n')
			fmt.Fprintln(conn, `{"value":{"name":"mine","state":"healthy","calls":9}}`)
			conn.Close()
		}
	}()
	return l.Addr().String()
}

func TestADifferentProgramAtAStaleAddressIsNotAWrap(t *testing.T) {
	gone, _ := child(t, stateDir(t))
	gone.Process.Kill()
	gone.Wait()
	for _, c := range []struct {
		name  string
		pid   int
		host  any
		space any
		want  int  // wraps
		left  bool // the file
	}{
		{"the process has ended", gone.Process.Pid, nil, nil, 0, false},
		{"a process has this number", os.Getpid(), nil, nil, 1, true},
		{"it was on a different machine", gone.Process.Pid, "elsewhere.invalid", nil, 0, true},
		{"it was in a different container", gone.Process.Pid, nil, "pid:[1]net:[2]", 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := stateDir(t)
			file := filepath.Join(dir, "live", "4131-1.json")
			write(t, file, map[string]any{"pid": c.pid, "host": c.host, "space": c.space, "network": "tcp", "address": foreign(t), "name": "stale", "token": "t"})
			all, err := live.All(t.Context(), dir)
			if err != nil || len(all) != c.want {
				t.Fatalf("%+v, %v", all, err)
			}
			for _, s := range all {
				if s.State != live.StateSilent || s.Name != "stale" || s.Counts.Calls != 0 {
					t.Errorf("%+v", s)
				}
			}
			if _, err := os.Stat(file); (err == nil) != c.left {
				t.Errorf("the file: %v", err)
			}
		})
	}
}

func TestManyWrapsAreAsked(t *testing.T) {
	dir := stateDir(t)
	restarts := 0
	for i := range 200 {
		defer announce(t, dir, fmt.Sprintf("%03d", i), source(fmt.Sprintf("%03d", i), &restarts)).Close()
	}
	all, err := live.All(t.Context(), dir)
	if err != nil || len(all) != 200 || all[0].Name != "000" || all[199].Name != "199" || all[199].State != "healthy" {
		t.Errorf("%d wraps, %v", len(all), err)
	}
}

func TestTheDirectoryBelongsToTheUserAlone(t *testing.T) {
	dir, elsewhere := stateDir(t), stateDir(t)
	restarts := 0
	link := filepath.Join(dir, "live")
	os.Symlink(elsewhere, link)
	if info, err := os.Lstat(link); err == nil && info.Mode()&os.ModeSymlink != 0 { // Windows may not allow it, and wine makes a directory
		if a, err := live.Announce(dir, "a", source("a", &restarts)); err == nil {
			a.Close()
			t.Error("announced in the target of a link")
		}
		if _, err := live.All(t.Context(), dir); err == nil {
			t.Error("read the target of a link")
		}
		if left, _ := os.ReadDir(elsewhere); len(left) != 0 {
			t.Errorf("%v in the target of the link", left)
		}
		os.Remove(link)
	}
	if err := os.WriteFile(link, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := live.Announce(dir, "a", source("a", &restarts)); err == nil {
		t.Error("announced in a file")
	}
}

func TestOnlyTheUserMayReadTheDirectory(t *testing.T) {
	windowstest.Skip(t)
	dir := stateDir(t)
	restarts := 0
	link := filepath.Join(dir, "live")
	if err := os.Mkdir(link, 0o777); err != nil {
		t.Fatal(err)
	}
	os.Chmod(link, 0o777)
	defer announce(t, dir, "a", source("a", &restarts)).Close()
	if info, err := os.Stat(link); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	files, _ := os.ReadDir(link)
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f.Name(), info.Mode(), err)
		}
	}
	if len(files) != 2 {
		t.Errorf("%v", files)
	}
}

func TestARestartReportsWhyItFailed(t *testing.T) {
	dir := stateDir(t)
	a := announce(t, dir, "a", live.Source{Restart: func() error { return errors.New("calls are in flight") }})
	defer a.Close()
	if err := live.Restart(t.Context(), dir, a.ID); err == nil || err.Error() != "calls are in flight" {
		t.Error(err)
	}
}

// Containers that share a state directory have processes of the same number.
func TestAWrapTakesNoFileOfAnother(t *testing.T) {
	dir := stateDir(t)
	restarts := 0
	first := announce(t, dir, "a", source("a", &restarts))
	defer first.Close()
	var pid, n uint64
	if _, err := fmt.Sscanf(first.ID, "%d-%d", &pid, &n); err != nil {
		t.Fatal(err)
	}
	var files []string
	for i := range uint64(20) {
		files = append(files, filepath.Join(dir, "live", fmt.Sprintf("%d-%d.json", pid, n+1+i)), filepath.Join(dir, "live", fmt.Sprintf("%d-%d.sock", pid, n+1+i)))
	}
	for _, file := range files {
		if err := os.WriteFile(file, []byte("of a different container"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	defer announce(t, dir, "b", source("b", &restarts)).Close()
	for _, file := range files {
		if text, err := os.ReadFile(file); err != nil || string(text) != "of a different container" {
			t.Errorf("%s: %q, %v", filepath.Base(file), text, err)
		}
	}
}
