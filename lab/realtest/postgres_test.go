//go:build linux

package realtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// TestAPortThatComposePublishesElsewhere is the headline of gauze: a server that starts, calls that
// fail because its database listens on a different port, a compose file that names it, a question
// to the user, a corrected entry, and a call that succeeds.
func TestAPortThatComposePublishesElsewhere(t *testing.T) {
	server := realparts.NeedPostgresServer(t)
	outer, inner := startPostgres(t), freePort(t)
	home := t.TempDir()
	project := filepath.Join(home, "project")
	config := filepath.Join(home, ".cursor", "mcp.json")
	address := fmt.Sprintf("postgresql://postgres:hunter2hunter2@localhost:%d/postgres", inner)
	writeFile(t, filepath.Join(project, "compose.yaml"), fmt.Sprintf("services:\n  db:\n    image: postgres:18\n    ports:\n      - \"%d:%d\"\n", outer, inner))
	entry, _ := json.Marshal(map[string]any{"command": gauzeBinary(), "args": append([]string{"run", "--"}, append(server, address)...)})
	before := fmt.Sprintf("{\n  \"mcpServers\": {\n    \"db\": %s\n  }\n}\n", entry)
	writeFile(t, config, before)
	w := &postgresWorld{t, home, project, config}

	// The call fails, and its error says why and what to do, after the server's own words.
	said, stderr := w.query()
	for _, want := range []string{
		fmt.Sprintf("connect ECONNREFUSED 127.0.0.1:%d", inner), "[gauze] Likely cause: ", "Tell the user: ",
		fmt.Sprintf("publishes that port of service db as port %d", outer), fmt.Sprintf("change port %d to %d", inner, outer),
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the model reads %s\nwant %q in it", said, want)
		}
	}
	if strings.Index(said, "ECONNREFUSED") > strings.Index(said, "[gauze]") {
		t.Errorf("the server's own words are not first: %s", said)
	}
	if !strings.Contains(stderr, "tools/call query failed: The connection to 127.0.0.1") {
		t.Errorf("the person reads %s", stderr)
	}

	// gauze doctor remembers it, and asks before it changes the entry.
	told, _ := w.gauze("doctor", "db")
	if !strings.Contains(told, "the last call to query failed") || !strings.Contains(told, "next: gauze doctor --fix cursor/db") {
		t.Errorf("gauze doctor says\n%s", told)
	}
	told, err := w.gauze("doctor", "--fix", "--yes", "db")
	if text := readFile(t, config); text != before {
		t.Fatalf("%v: the file was changed without consent to the diff:\n%s", err, text)
	}
	var planned struct {
		Plan struct{ Diff, Consent string }
	}
	out, _ := w.gauze("doctor", "--fix", "--json", "db")
	if err := json.Unmarshal([]byte(out), &planned); err != nil || !strings.Contains(planned.Plan.Diff, fmt.Sprintf("localhost:%d/postgres", outer)) {
		t.Fatalf("%v: the plan is\n%s\nbefore: %s", err, out, told)
	}
	w.gauze("doctor", "--fix", "--consent", planned.Plan.Consent, "db")
	after := strings.Replace(before, fmt.Sprintf("localhost:%d/", inner), fmt.Sprintf("localhost:%d/", outer), 1)
	if text := readFile(t, config); text != after {
		t.Fatalf("the file is now\n%s\nwant\n%s", text, after)
	}

	// The entry works, and nothing is left to remember.
	if said, _ = w.query(); !strings.Contains(said, `\"answer\": 42`) || strings.Contains(said, "gauze") {
		t.Errorf("the model reads %s", said)
	}
	if told, err = w.gauze("doctor", "db"); err != nil || strings.Contains(told, "failed") {
		t.Errorf("%v: gauze doctor says\n%s", err, told)
	}
	wantNoSecret(t, home, "hunter2hunter2", config)
}

// postgresWorld is a home with one client, its file, and a project that the client works in.
type postgresWorld struct {
	t                     *testing.T
	home, project, config string
}

func (w *postgresWorld) environment() []string {
	return []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "GAUZE_STATE_DIR=" + filepath.Join(w.home, "state")}
}

// gauze runs a command of gauze in the home directory.
func (w *postgresWorld) gauze(args ...string) (string, error) {
	cmd := exec.Command(gauzeBinary(), args...)
	cmd.Dir, cmd.Env = w.home, w.environment()
	out, err := cmd.Output()
	return string(out), err
}

// query starts the server as the client's file says, in the project, and returns the response to a
// call and what was written to stderr.
func (w *postgresWorld) query() (said, stderr string) {
	w.t.Helper()
	var file struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
		}
	}
	text := readFile(w.t, w.config)
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(file.MCPServers["db"].Command, file.MCPServers["db"].Args...)
	cmd.Dir, cmd.Env = w.project, w.environment()
	var log strings.Builder
	cmd.Stderr = &log
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`+"\n"+
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	lines := bufio.NewScanner(out)
	// A failed call waits for its cause for a moment only. On a busy machine the cause of the first one may
	// be too late, and the next one has it.
	for range 20 {
		io.WriteString(in, `{"jsonrpc":"2.0","id":"q","method":"tools/call","params":{"name":"query","arguments":{"sql":"select 42 as answer"}}}`+"\n")
		for lines.Scan() && !strings.Contains(lines.Text(), `"id":"q"`) {
		}
		if said = lines.Text(); !strings.Contains(said, "ECONNREFUSED") || strings.Contains(said, "[gauze]") {
			break
		}
	}
	in.Close()
	cmd.Wait()
	return said, log.String()
}

// startPostgres starts PostgreSQL and returns its port. It refuses to run as root, so root runs it
// as the user nobody, who cannot enter root's cache: a copy is started.
func startPostgres(t *testing.T) int {
	t.Helper()
	from := realparts.NeedPostgres(t)
	dir, err := os.MkdirTemp("", "gauze-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	as := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Getuid() == 0 {
		const nobody = 65534
		as.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		if out, err := exec.Command("cp", "-a", from, dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		from = filepath.Join(dir, filepath.Base(from))
		if err := cmpErr(os.Chmod(dir, 0o755), os.Chown(data, nobody, nobody)); err != nil {
			t.Fatal(err)
		}
	}
	run := func(program string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(from, "bin", program), args...)
		cmd.Dir, cmd.SysProcAttr, cmd.Env = dir, as, []string{"PATH=" + os.Getenv("PATH"), "TZ=UTC"}
		return cmd
	}
	if out, err := run("initdb", "-D", data, "-A", "trust", "-U", "postgres", "--no-sync", "--no-locale", "-E", "UTF8").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	port := freePort(t)
	cmd := run("postgres", "-D", data, "-p", fmt.Sprint(port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off")
	log, _ := cmd.StderrPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGQUIT) // immediate shutdown
		cmd.Wait()
	})
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "ready to accept connections") {
			go io.Copy(io.Discard, log)
			return port
		}
	}
	t.Fatal("PostgreSQL did not start")
	return 0
}

func cmpErr(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// wantNoSecret reports files below dir that contain a secret, except its own.
func wantNoSecret(t *testing.T, dir, secret, own string) {
	t.Helper()
	filepath.WalkDir(filepath.Join(dir, "state", "calls"), func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && path != own && strings.Contains(readFile(t, path), secret) {
			t.Errorf("%s contains the password", path)
		}
		return nil
	})
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := cmpErr(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
