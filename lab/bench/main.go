// Command bench measures the guarantees of Gauze with the real binary.
//
//	go -C lab run ./bench overhead   what gauze costs compared with a direct connection and a byte pump;
//	                          with -peers, also with other proxies; with -http, compared with a plain reverse proxy; with -silent-model,
//	                          what a model that never answers costs healthy calls; with -journal,
//	                          what recording events costs; with -observed, what everything costs
//	                          that shows a wrap to its user
//	go -C lab run ./bench storm      a hundred thousand calls while the server is killed a thousand times;
//	                          with -http, a server over HTTP with more kinds of faults
//	go -C lab run ./bench soak       a million calls and ten thousand restarts of wraps that keep running: what
//	                          they keep of them
//	go -C lab run ./bench kills      steady calls while the server is killed, idle and during calls
//	go -C lab run ./bench sessions   a thousand clients, one of them stuck, and the cost of an idle one
//	go -C lab run ./bench hub        many servers behind one entry (gauze up, gauze connect): bad servers beside good
//	                          ones, ten clients of thirty servers, and the cost of a call
//	go -C lab run ./bench upstorm    a hundred thousand calls through gauze up while servers are killed and its file
//	                          changes, and calls of gauze connect while gauze up is killed
//	go -C lab run ./bench crosstalk  two principals with equal ids and progress tokens: whether a message reaches anyone
//	                          but its owner
//	go -C lab run ./bench peers      ten clients of thirty real servers: directly, through gauze connect, and through
//	                          other gateways, which it installs
//	go -C lab run ./bench repair     the cost of validating, repairing and explaining arguments
//	go -C lab run ./bench nexttry    what a model does next with our answer to a wrong call, and with a
//	                          validator's
//	go -C lab run ./bench model FILE what a model does with the calls that rules refuse; with -oracle and
//	                          -liar, what the checks let through; with -answers, what becomes of
//	                          recorded answers
//	go -C lab run ./bench tasks      a thousand tasks with one journal: steps per second, memory, and what
//	                          the journal adds to a step
//	go -C lab run ./bench verdicts   two tables of failing servers, decided by rules alone; with -model or
//	                          -answers FILE, also with the configured model or recorded answers
//
// The executable also plays the other processes, re-executed with a role: the minimal server, the
// reverse proxy and the faulty servers.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/lab/bench/minimal"
)

// command describes a benchmark or a role: its name, its description and its function.
type command struct {
	name  string
	about string
	run   func(args []string) error
}

var commands = []command{
	{"overhead", "what gauze costs compared with a direct connection, a byte pump and other proxies", runOverhead},
	{"storm", "calls while the server is killed, compared with what the server did", runStorm},
	{"soak", "calls and restarts without end: heap, goroutines, files, children and journal of the wraps", runSoak},
	{"kills", "steady calls while the server is killed, idle and during calls", runKills},
	{"sessions", "many clients of one gauze serve, some idle and one stuck", runSessions},
	{"hub", "many servers behind one entry: bad ones beside good ones, many clients, the cost of a call", runHub},
	{"upstorm", "calls through gauze up while servers and gauze up are killed and its file changes", runUpStorm},
	{"crosstalk", "sessions of two principals with equal ids: messages that reach someone else", runCrosstalk},
	{"peers", "many clients of many real servers: directly, through gauze and through other gateways", runPeers},
	{"repair", "the cost of validating, repairing and explaining arguments", runRepair},
	{"nexttry", "the next call of a model after a validator's error and after our message", runNextTry},
	{"model", "calls that rules refuse, corrected by a model, by one that is right and by one that lies", runModel},
	{"tasks", "many tasks at the same time with one journal on disk", runTasks},
	{"verdicts", "what to do about failing servers, decided by rules and by a model", runVerdicts},
}

// roles lists the processes that the benchmarks start. They are not for users.
var roles = []command{
	{roleMinimal, "the minimal echo server", func([]string) error { return minimal.Serve(os.Stdin, os.Stdout) }},
	{roleStormServer, "the server that the storm kills", runStormServer},
	{roleFaulty, "the faulty server", func(args []string) error { return exitWith(faultyserver.Main(args, os.Stdin, os.Stdout, os.Stderr)) }},
	{roleFaultyHTTP, "the faulty server over HTTP", func(args []string) error { return exitWith(faultyhttp.Main(args)) }},
	{roleProxy, "the plain reverse proxy in front of a URL", runProxy},
}

const (
	roleMinimal    = "_minimal"
	roleFaulty     = "_faulty"
	roleFaultyHTTP = "_faulty-http"
)

// exitWith ends the process with a role's own exit status. It does not return.
func exitWith(code int) error {
	os.Exit(code)
	return nil
}

func main() {
	if len(os.Args) < 2 {
		usage()
		os.Exit(2)
	}
	runIfNamed(roles)
	runIfNamed(commands)
	fmt.Fprintf(os.Stderr, "bench: unknown command %q\n", os.Args[1])
	usage()
	os.Exit(2)
}

// runIfNamed runs the entry that the first argument names and exits. It returns if there is none.
func runIfNamed(table []command) {
	for _, c := range table {
		if len(os.Args) < 2 || c.name != os.Args[1] {
			continue
		}
		err := c.run(os.Args[2:])
		switch {
		case errors.Is(err, flag.ErrHelp):
			os.Exit(2)
		case err != nil:
			fmt.Fprintf(os.Stderr, "bench %s: %v\n", c.name, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: go -C lab run ./bench COMMAND [flags]")
	for _, c := range commands {
		fmt.Fprintf(os.Stderr, "  %-10s %s\n", c.name, c.about)
	}
}
