//go:build linux

package realtest

import (
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/lab/realparts"
)

// traced are set-ups of every kind: found elsewhere, two faults, other interpreters, variables, ports, addresses.
var traced = []string{
	"node-in-nvm", "login-shell-path", "one-string-and-not-on-path", "python-is-python3", "old-node-first", "project-venv-not-used", "variable-in-dotenv",
	"compose-publishes-other-port", "no-such-runner", "package-misspelt", "port-is-taken", "path-left-out", "localhost-is-ipv4-only", "status-404", "no-such-host",
}

// What gauze runs and contacts while it heals, as the kernel sees it: the server's own command, interpreters for their
// version, the login shell for its PATH; loopback, the name service, and no other host. What the server itself runs and
// contacts is its own business.
func TestBrokenSetupsTrace(t *testing.T) {
	strace := realparts.NeedTracer(t)
	web := &neighbours{http: everythingHTTP.start(t), sse: everythingSSE.start(t)}
	setups := slices.DeleteFunc(brokenSetups(), func(s brokenSetup) bool { return !slices.Contains(traced, s.name) })
	for _, s := range some(t, setups, 7) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, web)
			s.build(b)
			log := filepath.Join(t.TempDir(), "trace")
			r := b.run(slices.Concat([]string{strace, "-f", "-qq", "-s", "4096", "-e", "trace=execve,connect,clone,clone3,fork,vfork", "-e", "signal=none", "-o", log, "--"}, b.argv("--heal")))
			if r.Works != (len(s.heals) > 0) {
				t.Fatalf("works is %v under strace\n%s", r.Works, r.raw)
			}
			text, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			seen := readTrace(string(text))
			if len(s.heals) > 0 && len(seen.runs) == 0 && len(seen.contacts) == 0 {
				t.Fatalf("nothing was traced:\n%s", text)
			}
			for _, argv := range seen.runs {
				if !b.mayRun(argv) {
					t.Errorf("ran %q", argv)
				}
			}
			for _, address := range seen.contacts {
				if !mayContact(address) {
					t.Errorf("contacted %s", address)
				}
			}
		})
	}
}

// mayRun: the program of the set-up with its arguments, wherever it was found and however it was written; an
// interpreter asked for its version; the login shell asked for its PATH.
func (b *bench) mayRun(argv []string) bool {
	rest := argv[1:]
	if slices.Equal(rest, []string{"--version"}) {
		return slices.ContainsFunc([]string{"node", "python"}, func(kind string) bool { return strings.HasPrefix(filepath.Base(argv[0]), kind) })
	}
	if len(rest) > 2 && rest[2] == "process-guard" { // waits beside a server for the end of gauze
		return argv[0] == "/bin/sh"
	}
	if slices.Equal(rest, []string{"-lc", `printf %s "$PATH"`}) {
		return argv[0] == "/bin/sh"
	}
	own := b.args[slices.Index(b.args, "--")+1:]
	if len(own) == 1 {
		own = strings.Fields(own[0])
	}
	name := filepath.Base(own[0])
	return slices.Equal(rest, own[1:]) && (filepath.Base(argv[0]) == name || name == "python" && filepath.Base(argv[0]) == "python3" || name == "python3" && filepath.Base(argv[0]) == "python")
}

// mayContact: this machine, and whoever it asks for names.
func mayContact(address string) bool {
	host, port, _ := strings.Cut(address, " ")
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.IsLoopback() || port == "53")
}

// trace is what gauze itself did, and not what the programs did that it started.
type trace struct {
	runs     [][]string
	contacts []string
}

var (
	traceLine    = regexp.MustCompile(`^(\d+)\s+(?:<\.\.\. )?(\w+)(.*)$`)
	traceResult  = regexp.MustCompile(`= (\d+)$`)
	traceExec    = regexp.MustCompile(`^\("((?:[^"\\]|\\.)*)", \[(.*?)\], 0x`)
	traceWord    = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	traceAddress = regexp.MustCompile(`sin6?_port=htons\((\d+)\).*?(?:inet_addr\("|inet_pton\(AF_INET6, ")([^"]+)"`)
)

// readTrace reads what strace -f wrote. A newborn may be heard of before its birth has returned, so who is whose is
// known only at the end.
func readTrace(text string) (seen trace) {
	threads, children := map[string][]string{}, map[string][]string{} // by who made them
	flags := map[string]string{}                                      // of a birth that has not returned
	first := map[string][]string{}                                    // what a process ran first
	contacts := map[string][]string{}
	root := ""
	for line := range strings.Lines(text) {
		m := traceLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		pid, call, rest := m[1], m[2], m[3]
		if root == "" {
			root = pid // gauze itself is run
			continue
		}
		switch call {
		case "clone", "clone3", "fork", "vfork":
			flags[pid] += rest
			born := traceResult.FindStringSubmatch(rest)
			if born == nil {
				continue
			}
			if strings.Contains(flags[pid], "CLONE_THREAD") {
				threads[pid] = append(threads[pid], born[1])
			} else {
				children[pid] = append(children[pid], born[1])
			}
			delete(flags, pid)
		case "execve":
			if e := traceExec.FindStringSubmatch(rest); e != nil && first[pid] == nil {
				first[pid] = append([]string{unquoted(`"` + e[1] + `"`)}, unquotedAll(e[2])[1:]...)
			}
		case "connect":
			if a := traceAddress.FindStringSubmatch(rest); a != nil {
				contacts[pid] = append(contacts[pid], a[2]+" "+a[1])
			}
		}
	}
	for own := []string{root}; len(own) > 0; own = own[1:] {
		own = append(own, threads[own[0]]...)
		seen.contacts = append(seen.contacts, contacts[own[0]]...)
		for _, child := range children[own[0]] {
			if argv := first[child]; argv != nil { // a child without one is a fork to see whether the kernel can
				seen.runs = append(seen.runs, argv)
			}
		}
	}
	return seen
}

func unquoted(word string) string {
	text, _ := strconv.Unquote(word) // strace quotes as C does, which is near enough for what tests run
	return text
}

func unquotedAll(list string) (words []string) {
	for _, word := range traceWord.FindAllString(list, -1) {
		words = append(words, unquoted(word))
	}
	return words
}
