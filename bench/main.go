// Command bench measures what Gauze promises, through the real binary.
//
//	go run ./bench overhead   what the wrap costs beside a direct connection and a bare byte pump;
//	                          with -http beside a plain reverse proxy
//	go run ./bench storm      a hundred thousand calls while the server is killed a thousand times;
//	                          with -http behind a URL, where more can go wrong; gauze runs with the
//	                          flags a user has
//	go run ./bench kills      calls at a steady rate while the server is killed, idle and in the middle of calls
//	go run ./bench sessions   a thousand clients at once, one of them stuck, and what an idle one costs
//	go run ./bench repair     what it costs to judge, repair and explain the arguments of a call
//
// The same executable re-executed with a role plays the other processes: the
// minimal server, the byte pump, the reverse proxy and the faulty servers.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/gauze-mcp/gauze/internal/faultyserver"
	"github.com/gauze-mcp/gauze/internal/faultyserver/faultyhttp"
)

// command is one row of the table: what to type, what it is for, what runs.
type command struct {
	name  string
	about string
	run   func(args []string) error
}

var commands = []command{
	{"overhead", "what the wrap costs beside a direct connection and a bare byte pump", runOverhead},
	{"storm", "calls while the server is killed, checked against what it really did", runStorm},
	{"kills", "calls at a steady rate while the server is killed, idle and in the middle of calls", runKills},
	{"sessions", "many clients of one gauze serve: what a stuck one does to the others, what an idle one costs", runSessions},
	{"repair", "what it costs to judge, repair and explain the arguments of a call", runRepair},
}

// roles are the processes the benchmarks start; nobody types them.
var roles = []command{
	{roleMinimal, "the minimal echo server", func([]string) error { return serveMinimal(os.Stdin, os.Stdout) }},
	{roleStormServer, "the server under fire", runStormServer},
	{roleFaulty, "the faulty server", func(args []string) error { return exitWith(faultyserver.Main(args, os.Stdin, os.Stdout, os.Stderr)) }},
	{roleFaultyHTTP, "the faulty server behind a URL", func(args []string) error { return exitWith(faultyhttp.Main(args)) }},
	{roleProxy, "the plain reverse proxy in front of a URL", runProxy},
	{rolePump, "the bare byte pump in front of a command", runPump},
}

const (
	roleFaulty     = "_faulty"
	roleFaultyHTTP = "_faulty-http"
)

// exitWith ends the process: a role that has a code of its own does not return.
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
	fmt.Fprintf(os.Stderr, "bench: there is no %q\n", os.Args[1])
	usage()
	os.Exit(2)
}

// runIfNamed runs the row the arguments name, if there is one, and then never returns.
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
	fmt.Fprintln(os.Stderr, "usage: go run ./bench COMMAND [flags]")
	for _, c := range commands {
		fmt.Fprintf(os.Stderr, "  %-10s %s\n", c.name, c.about)
	}
}
